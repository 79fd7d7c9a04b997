// Collects the names in the records of runs.
#include "lab/report/score_names.hpp"

#include <algorithm>
#include <set>

namespace sing::lab::report {
namespace {

std::string only_one(const std::set<std::string>& names, const char* none, const char* several) {
  if (names.empty()) {
    return none;
  }
  return names.size() == 1 ? *names.begin() : several;
}

}  // namespace

std::string score_name(const std::vector<run::RunRecord>& runs) {
  std::set<std::string> names;
  for (const run::RunRecord& run : runs) {
    if (!run.evaluations.empty()) {
      names.insert(run.evaluations.back().score_name);
    }
  }
  return only_one(names, run::kAccuracy, "score");
}

std::string unit_of(const std::vector<run::RunRecord>& runs) {
  std::set<std::string> names;
  for (const run::RunRecord& run : runs) {
    if (!run.steps.empty()) {
      names.insert(run.steps.back().unit);
    }
  }
  return only_one(names, "images", "examples");
}

std::vector<std::string> other_scores(const std::vector<run::RunRecord>& runs) {
  std::vector<std::string> names;
  for (const run::RunRecord& run : runs) {
    for (const run::EvaluationRecord& evaluation : run.evaluations) {
      for (const auto& [name, value] : evaluation.others) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          names.push_back(name);
        }
      }
    }
  }
  return names;
}

double score_of(const std::vector<std::pair<std::string, double>>& scores, std::string_view name) {
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [&](const auto& each) { return each.first == name; });
  return found != scores.end() ? found->second : run::kAbsent;
}

}  // namespace sing::lab::report
