// The C functions about the library, its rules and their options.
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "sing/c_api/guard.hpp"
#include "sing/c_api/handles.hpp"
#include "sing/c_api/option_text.hpp"

namespace sing::c_api {
namespace {

#define SING_QUOTE_VALUE(value) #value
#define SING_QUOTE(macro) SING_QUOTE_VALUE(macro)
constexpr const char* kVersion = SING_QUOTE(SING_VERSION_MAJOR) "." SING_QUOTE(
    SING_VERSION_MINOR) "." SING_QUOTE(SING_VERSION_PATCH);

const std::vector<std::string>& names_of_rules() {
  static const std::vector<std::string> names = rule_names();
  return names;
}

// The texts are made once and never change, so that callers may keep pointers to them.
const std::vector<OptionText>& options_of(const char* rule) {
  static const auto of_rules = describe_all(names_of_rules(), [](const std::string& name) {
    Options options;
    set_option(options, "rule", name);
    return list_options(options);
  });
  // The defaults of an optimizer differ from those of its rule by softplus.
  static const std::vector<OptionText> of_defaults = describe_options(list_options(Options{}));
  if (rule == nullptr) {
    return of_defaults;
  }
  make_rule(rule);  // throws for an unknown rule
  return of_rules.find(std::string_view(rule))->second;
}

// The rules that options may apply to: the last one they name, or all rules if they name none.
std::vector<std::string> possible_rules(const Overrides& overrides) {
  std::vector<std::string> named;
  for (const auto& [name, value] : overrides) {
    if (name == "rule") {
      named = {plain_text(value)};
    }
  }
  return named.empty() ? rule_names() : named;
}

// Refuses options that no optimizer could accept. LookAhead is on here, because an optimizer's
// defaults may turn it on.
void check_override(const Overrides& before, std::string_view name, const Value& value) {
  const std::vector<std::string> rules = possible_rules(before);
  std::vector<std::string> known;
  for (const std::string& rule : rules) {
    Options probe;
    probe.rule = make_rule(rule);
    for (const OptionInfo& option : list_options(probe)) {
      if (option.name == name) {
        set_option(probe, name, value);
        return;
      }
      known.push_back(option.name);
    }
  }
  const std::string owner = rules.size() == 1 ? fmt::format("rule '{}'", rules[0]) : "any rule";
  throw std::invalid_argument(fmt::format("[options] wanted an option of {}, got '{}'{}", owner,
                                          name, did_you_mean(name, known)));
}

}  // namespace
}  // namespace sing::c_api

using namespace sing::c_api;  // NOLINT: the functions below are the same interface in C

const char* sing_version(void) { return kVersion; }

int32_t sing_version_number(void) {
  return 10000 * SING_VERSION_MAJOR + 100 * SING_VERSION_MINOR + SING_VERSION_PATCH;
}

int32_t sing_cuda_available(void) {
  int32_t available = 0;
  guarded([&] { available = sing::is_cuda_available() ? 1 : 0; });
  return available;
}

size_t sing_rule_count(void) { return names_of_rules().size(); }

sing_status sing_rule_name(size_t index, const char** name) {
  return guarded([&] { write_name(names_of_rules(), index, name, "rule_name", "rule"); });
}

sing_status sing_option_count(const char* rule, size_t* count) {
  return guarded(
      [&] { required(count, "option_count", "a place for the count") = options_of(rule).size(); });
}

sing_status sing_option_describe(const char* rule, size_t index, sing_option_info* info) {
  return guarded([&] { write_option_info(options_of(rule), index, info, "option_describe"); });
}

sing_status sing_options_create(sing_options** options) {
  return guarded([&] {
    required(options, "options_create", "a place for the options");
    *options = new sing_options{};
  });
}

void sing_options_destroy(sing_options* options) { delete options; }

sing_status sing_options_set(sing_options* options, const char* name, const char* text) {
  return guarded([&] {
    required(options, "options_set", "options");
    required(name, "options_set", "an option's name");
    const sing::Value value(std::string(&required(text, "options_set", "a value")));
    check_override(options->overrides, name, value);
    options->overrides.emplace_back(name, value);
  });
}
