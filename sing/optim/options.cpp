// Access to the fields of the nested option structs as one flat list.
#include "sing/optim/options.hpp"

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing {
namespace {

constexpr std::string_view kRuleName = "rule";
constexpr std::string_view kLookaheadName = "lookahead";

bool assign_any_field(Options& options, std::string_view name, const Value& value) {
  return assign_field(options.standardize, name, value) ||
         std::visit([&](auto& rule) { return assign_field(rule, name, value); }, options.rule) ||
         (options.lookahead && assign_field(*options.lookahead, name, value)) ||
         assign_field(options, name, value);
}

[[noreturn]] void refuse_name(const Options& options, std::string_view name) {
  throw std::invalid_argument(fmt::format("[options] wanted an option of rule '{}', got '{}'{}",
                                          name_of(options.rule), name,
                                          did_you_mean(name, names_of(list_options(options)))));
}

}  // namespace

std::vector<OptionInfo> list_options(const Options& options) {
  std::vector<OptionInfo> list;
  list.push_back(
      {std::string(kRuleName), "the host optimizer", std::string(name_of(options.rule))});
  list.push_back({std::string(kLookaheadName),
                  "move the weights towards a slow copy every few steps",
                  options.lookahead.has_value()});
  append(list, list_fields(options.standardize));
  std::visit([&](const auto& rule) { append(list, list_fields(rule)); }, options.rule);
  if (options.lookahead) {
    append(list, list_fields(*options.lookahead));
  }
  append(list, list_fields(options));
  return list;
}

void set_option(Options& options, std::string_view name, const Value& value) {
  if (name == kRuleName) {
    const auto* rule = std::get_if<std::string>(&value);
    SING_CHECK(rule != nullptr, "[rule] wanted the name of a rule, got {}", to_text(value));
    options.rule = make_rule(*rule);
    if (const std::optional<double> clip_norm = clip_norm_of_form(*rule)) {
      options.clip_norm = clip_norm;
    }
    return;
  }
  if (name == kLookaheadName) {
    bool on = false;
    assign(on, value, kLookaheadName);
    options.lookahead =
        on ? std::optional<Lookahead>(options.lookahead.value_or(Lookahead{})) : std::nullopt;
    return;
  }
  if (assign_any_field(options, name, value)) {
    return;
  }
  Options with_lookahead = options;
  with_lookahead.lookahead.emplace();
  SING_CHECK(
      !assign_any_field(with_lookahead, name, value),
      "[options] wanted an option that applies without lookahead, got '{}'; lookahead is off",
      name);
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
  validate(options, "options");
  validate(options.standardize, "standardize");
  std::visit([](const auto& rule) { validate(rule, rule.kName); }, options.rule);
  if (options.lookahead) {
    validate(*options.lookahead, kLookaheadName);
  }
  std::visit(
      [](const auto& rule) {
        if constexpr (requires { rule.nesterov; }) {
          // Nesterov's step needs a momentum slot, which most rules keep only with a momentum above
          // 0.
          SING_CHECK(!rule.nesterov || rule.momentum > 0 || rule.uses_slot(0, true),
                     "[{}] wanted a momentum above 0 with nesterov, got {}", rule.kName,
                     rule.momentum);
        }
      },
      options.rule);
}

}  // namespace sing
