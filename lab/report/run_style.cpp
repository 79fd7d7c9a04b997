// Numbers the runs' settings, and the seeds within one setting.
#include "lab/report/run_style.hpp"

#include <map>
#include <utility>

#include "lab/page/page_parts.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

// Returns all options except the seed and those that name the run's own directory.
std::string setting_of(const run::RunRecord& run) {
  std::string setting;
  for (const auto& [key, value] : run.settings) {
    const std::string last = key.substr(key.rfind('.') + 1);
    if (last != "seed" && value.find(run.name) == std::string::npos) {
      setting += fmt::format("{}={}\n", key, value);
    }
  }
  return setting;
}

}  // namespace

std::vector<std::string> run_styles(const std::vector<run::RunRecord>& runs) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> settings;  // number, runs so far
  std::vector<std::string> styles;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const auto entry = settings.try_emplace(setting_of(runs[at]), settings.size(), 0).first;
    auto& [number, seen] = entry->second;
    const std::size_t dash = (seen++ + number / page::kColors) % page::kDashes;
    styles.push_back(fmt::format("color{} dash{} run{}", number % page::kColors, dash, at));
  }
  return styles;
}

}  // namespace sing::lab::report
