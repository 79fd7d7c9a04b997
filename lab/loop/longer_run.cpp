// Compares the lengths that are recorded with those that are asked for.
#include "lab/loop/longer_run.hpp"

#include <algorithm>
#include <cmath>

#include "lab/command/field_flags.hpp"
#include "lab/run/named_values.hpp"

namespace sing::lab::loop {
namespace {

std::optional<double> number_of(const run::RecordedConfig& run, std::string_view name) {
  return parse_number<double>(run::value_of(run.options, name, std::string()));
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> changed_lengths(const CLI::App& command, const run::RecordedConfig& run) {
  std::vector<std::string> changed;
  for (const char* name : {"epochs", "steps"}) {
    const CLI::Option* const option = command.get_option(command::flag_of(name));
    if (option->count() > 0 &&
        parse_number<double>(option->results().front()) != number_of(run, name)) {
      changed.emplace_back(name);
    }
  }
  return changed;
}

command::OptionTexts options_for_length(const run::RecordedConfig& run,
                                        const std::vector<std::string>& changed) {
  command::OptionTexts options = run.options;
  if (changed.empty()) {
    return options;
  }
  const auto total = static_cast<double>(run.total_steps);
  const std::optional<double> fraction = number_of(run, "warmup_fraction");
  const bool follows_total = number_of(run, "total_steps") == total;
  const bool follows_fraction =
      fraction && number_of(run, "warmup_steps") ==
                      static_cast<double>(automatic_warmup(*fraction, run.total_steps));
  std::erase_if(options, [&](const auto& option) {
    const std::string& name = option.first;
    return contains(changed, name) || (name == "steps" && contains(changed, "epochs")) ||
           (name == "total_steps" && follows_total) || (name == "warmup_steps" && follows_fraction);
  });
  return options;
}

std::int64_t automatic_warmup(double fraction, std::int64_t total_steps) {
  return std::llround(fraction * static_cast<double>(total_steps));
}

}  // namespace sing::lab::loop
