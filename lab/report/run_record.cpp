// Names of what a run record holds.
#include "lab/report/run_record.hpp"

namespace sing::lab::report {

std::string option_of(const RunRecord& run, std::string_view name) {
  for (const auto& [key, value] : run.options) {
    const std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
    if (last == name) {
      return value;
    }
  }
  return {};
}

}  // namespace sing::lab::report
