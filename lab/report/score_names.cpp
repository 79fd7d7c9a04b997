// Collects the names in the records of runs.
#include "lab/report/score_names.hpp"

#include <set>

#include "lab/run/named_values.hpp"

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
      run::add_names(evaluation.others, names);
    }
  }
  return names;
}

}  // namespace sing::lab::report
