// Writes the tables of docs/options.md from the field lists of the option structs.
//
// options_table FILE replaces the text between the file's markers. options_table --check FILE
// writes nothing and exits with 1 if the file would change.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/sing.hpp"

namespace {

constexpr std::string_view kBegin = "<!-- options: generated, begin -->\n";
constexpr std::string_view kEnd = "<!-- options: generated, end -->";
constexpr std::string_view kHead = "| option | default | allowed | meaning |\n|---|---|---|---|\n";

std::string row(std::string_view name, std::string_view default_text, std::string_view allowed,
                std::string_view help) {
  return fmt::format("| `{}` | {} | {} | {} |\n", name, default_text, allowed, help);
}

// A default as a user would type it.
std::string default_text(const sing::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const std::string shown = text != nullptr ? *text : sing::to_text(value);
  return fmt::format("`{}`", shown);
}

// Returns whether the user must set the option, because its default is out of its bounds.
template <class Member>
bool must_be_set(const sing::Bounds& bounds, const Member& member) {
  if constexpr (std::is_same_v<Member, std::int64_t>) {
    return !bounds.contain(static_cast<double>(member));
  } else if constexpr (std::is_same_v<Member, std::vector<sing::Knot>>) {
    return member.empty();
  } else {
    return false;
  }
}

// Leaves out "and finite", because the page says once that all numbers are finite.
std::string bounds_text(const sing::Bounds& bounds) {
  constexpr std::string_view kFinite = " and finite";
  std::string text = bounds.text();
  if (text.ends_with(kFinite)) {
    text.resize(text.size() - kFinite.size());
  }
  return text;
}

template <class Member>
std::string allowed(const sing::Bounds& bounds, const Member& /*member*/) {
  if constexpr (std::is_same_v<Member, bool>) {
    return "`true`, `false`";
  } else if constexpr (sing::NamedEnum<Member>) {
    return sing::joined_enum_names<Member>();
  } else if constexpr (std::is_same_v<Member, std::int64_t>) {
    return "whole, " + bounds_text(bounds);
  } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
    return "none, or " + bounds_text(bounds);
  } else if constexpr (std::is_same_v<Member, double>) {
    return bounds_text(bounds);
  } else {
    return "text as in the meaning";
  }
}

template <class Struct>
std::string rows_of(const Struct& options) {
  std::string rows;
  sing::visit_fields(options, [&](const auto& each, const auto& member) {
    rows +=
        row(each.name,
            must_be_set(each.bounds, member) ? "to be set" : default_text(sing::to_value(member)),
            allowed(each.bounds, member), each.help);
  });
  return rows;
}

// The optimizer's default rule where its options differ from those that its name alone gives.
std::string remark_on_default_rule(const sing::Options& options) {
  sing::Options by_name = options;
  by_name.rule = sing::make_rule(sing::name_of(options.rule));
  std::string text;
  for (const sing::OptionInfo& info : sing::list_options(options)) {
    if (info.value != sing::get_option(by_name, info.name)) {
      text += fmt::format(
          "\nAn optimizer whose `rule` is not set has the default {1} for `{0}`, not {2} as "
          "below.\n",
          info.name, default_text(info.value), default_text(sing::get_option(by_name, info.name)));
    }
  }
  return text;
}

// The defaults of a rule's second names that differ from the rule's own.
template <class R>
std::string remarks_on_forms() {
  std::string text;
  if constexpr (sing::kHasForms<R>) {
    for (const sing::Form<R>& form : R::kForms) {
      sing::Options usual;
      sing::Options other;
      sing::set_option(usual, "rule", std::string(R::kName));
      sing::set_option(other, "rule", std::string(form.name));
      std::vector<std::string> changes;
      for (const sing::OptionInfo& info : sing::list_options(other)) {
        if (info.value != sing::get_option(usual, info.name)) {
          changes.push_back(fmt::format("`{}` {}", info.name, default_text(info.value)));
        }
      }
      text += fmt::format("\n`{}` is this rule with other defaults: {}.\n", form.name,
                          sing::joined_names(changes));
    }
  }
  return text;
}

std::string_view shape_text(sing::SlotShape shape) {
  switch (shape) {
    case sing::SlotShape::kElement:
      return "";
    case sing::SlotShape::kMatrixRow:
      return " (per matrix row)";
    case sing::SlotShape::kMatrixColumn:
      return " (per matrix column)";
    case sing::SlotShape::kScalar:
      return " (one number)";
  }
  return "";
}

template <class R>
std::string state_text() {
  std::vector<std::string> slots;
  for (const sing::Slot& slot : R::kSlots) {
    slots.push_back(fmt::format("`{}`{}{}", slot.name, shape_text(slot.shape),
                                slot.holds_weights ? " (never below float32)" : ""));
  }
  return slots.empty() ? "none" : sing::joined_names(slots);
}

std::string rule_tables() {
  std::string text;
  sing::for_each_rule_type([&]<class R>() {
    text += fmt::format("\n### Rule `{}`\n\n{}{}", R::kName, kHead, rows_of(R{}));
    text += fmt::format("\nState: {}.\n", state_text<R>());
    text += remarks_on_forms<R>();
  });
  return text;
}

std::string schedule_tables() {
  std::string text;
  for (const std::string& name : sing::schedule_names()) {
    text += fmt::format("\n### Schedule `{}`\n\n", name);
    std::visit(
        [&](const auto& kind) {
          const std::string rows = rows_of(kind);
          text += rows.empty() ? std::string("No options: the factor is 1.\n")
                               : std::string(kHead) + rows;
        },
        sing::make_schedule(name).kind);
  }
  return text;
}

std::string tables() {
  const sing::Options options;
  std::string text = "\n### All rules\n\n";
  text += kHead;
  for (const sing::OptionInfo& info : sing::list_options(options)) {
    if (info.name == "rule" || info.name == "lookahead") {
      text += row(info.name, default_text(info.value),
                  info.name == "rule" ? sing::joined_names(sing::rule_names()) : "`true`, `false`",
                  info.help);
    }
  }
  text += rows_of(options.standardize) + rows_of(sing::Lookahead{}) + rows_of(options);
  return text + remark_on_default_rule(options) + rule_tables() + schedule_tables() + "\n";
}

// The page with new tables; empty if the page does not have the markers.
std::string renewed(const std::string& page) {
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return "";
  }
  return page.substr(0, begin) + std::string(kBegin) + tables() + page.substr(end);
}

}  // namespace

int main(int count, char** arguments) {
  const bool checks = count == 3 && std::string_view(arguments[1]) == "--check";
  if (count != 2 && !checks) {
    std::fputs("options_table [--check] FILE\n", stderr);
    return 2;
  }
  const char* path = arguments[count - 1];
  std::ifstream input(path, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  const std::string wanted = renewed(page);
  if (wanted.empty()) {
    std::fprintf(stderr, "[options_table] wanted both marker lines in %s, got at most one\n", path);
    return 1;
  }
  if (wanted == page) {
    return 0;
  }
  if (checks) {
    std::fprintf(
        stderr, "[options_table] wanted the current tables in %s, got others; run ./dev generate\n",
        path);
    return 1;
  }
  std::ofstream output(path, std::ios::binary);
  output << wanted;
  return output.flush() ? 0 : 1;
}
