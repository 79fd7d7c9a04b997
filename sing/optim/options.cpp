// Walks the field lists of the nested option structs as one flat list.
#include "sing/optim/options.hpp"

namespace sing {
namespace {

constexpr std::string_view kRuleName = "rule";
constexpr std::string_view kLookaheadName = "lookahead";

template <class AnyOptions, class Visitor>
void visit_all(AnyOptions& options, Visitor&& visitor) {
  visit_fields(options.standardize, visitor);
  std::visit([&](auto& rule) { visit_fields(rule, visitor); }, options.rule);
  if (options.lookahead) {
    visit_fields(*options.lookahead, visitor);
  }
  visit_fields(options, visitor);
}

bool assign_field(Options& options, std::string_view name, const Value& value) {
  bool found = false;
  visit_all(options, [&](const auto& each, auto& member) {
    if (each.name == name) {
      assign(member, value, each.name);
      found = true;
    }
  });
  return found;
}

[[noreturn]] void refuse_name(const Options& options, std::string_view name) {
  std::vector<std::string> known;
  for (const OptionInfo& info : list_options(options)) {
    known.push_back(info.name);
  }
  throw std::invalid_argument(concat("[options] unknown option '", name, "' of rule '",
                                     name_of(options.rule), "'", nearest_name_hint(name, known)));
}

}  // namespace

std::vector<OptionInfo> list_options(const Options& options) {
  std::vector<OptionInfo> list;
  list.push_back(
      {std::string(kRuleName), "the host optimizer", std::string(name_of(options.rule))});
  list.push_back({std::string(kLookaheadName), "draw the weights to a slow copy",
                  options.lookahead.has_value()});
  visit_all(options, [&](const auto& each, const auto& member) {
    list.push_back({std::string(each.name), std::string(each.help), to_value(member)});
  });
  return list;
}

void set_option(Options& options, std::string_view name, const Value& value) {
  if (name == kRuleName) {
    const auto* rule = std::get_if<std::string>(&value);
    SING_CHECK(rule != nullptr, "[rule] wanted a rule's name, got ", to_text(value));
    options.rule = make_rule(*rule);
    return;
  }
  if (name == kLookaheadName) {
    bool on = false;
    assign(on, value, kLookaheadName);
    options.lookahead =
        on ? std::optional<Lookahead>(options.lookahead.value_or(Lookahead{})) : std::nullopt;
    return;
  }
  if (assign_field(options, name, value)) {
    return;
  }
  Options with_lookahead = options;
  with_lookahead.lookahead.emplace();
  SING_CHECK(!assign_field(with_lookahead, name, value), "[options] '", name,
             "' was given, but lookahead is off");
  refuse_name(options, name);
}

Value get_option(const Options& options, std::string_view name) {
  for (OptionInfo& info : list_options(options)) {
    if (info.name == name) {
      return std::move(info.value);
    }
  }
  refuse_name(options, name);
}

void validate(const Options& options) {
  validate(options.standardize, "standardize");
  std::visit([](const auto& rule) { validate(rule, rule.kName); }, options.rule);
  if (options.lookahead) {
    validate(*options.lookahead, kLookaheadName);
  }
  std::visit(
      [](const auto& rule) {
        if constexpr (requires { rule.nesterov; }) {
          // A rule that keeps its slot without momentum has a meaning for it.
          SING_CHECK(!rule.nesterov || rule.momentum > 0 || rule.uses_slot(0, true), "[",
                     rule.kName, "] nesterov needs a momentum above 0, got ", rule.momentum);
        }
      },
      options.rule);
}

}  // namespace sing
