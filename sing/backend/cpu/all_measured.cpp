// What a step decides once every tensor is measured, and what it counts at its end.
#include <cmath>

#include "sing/backend/cpu/step_run.hpp"

namespace sing::cpu {

void StepRun::clip_measured() {
  double squares = 0;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (has_gradient(i) && takes_part(*request_, scales_[i])) {
      squares += scales_[i].standardized_norm * scales_[i].standardized_norm;
    }
  }
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    if (const std::optional<double> limit = clip_norm_of(group_of(i).rule)) {
      scales_[i].factor *= clip_factor(*limit, std::sqrt(squares));
    }
  }
}

bool StepRun::accept_measured() {
  OptimizerProgress& progress = *request_->progress;
  const bool gives_up =
      request_->non_finite == NonFinite::kSkipStep || request_->non_finite == NonFinite::kThrow;
  bool all_finite = true;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    if (!has_gradient(i) || scales_[i].finite) {
      continue;
    }
    if (all_finite) {
      progress.first_non_finite = static_cast<std::int64_t>(i) + 1;
      all_finite = false;
    }
    if (!gives_up) {
      ++request_->tensors[i].progress->non_finite;
      progress.skipped_tensors += request_->non_finite == NonFinite::kSkipTensor ? 1 : 0;
    }
  }
  if (gives_up && !all_finite) {
    ++progress.skipped_steps;
    return false;
  }
  return true;
}

void StepRun::advance_groups() {
  for (const GroupStep& group : request_->groups) {
    ++group.progress->steps;
  }
}

}  // namespace sing::cpu
