// Orders trials.
#include "lab/tune/trial.hpp"

#include <cmath>

namespace sing::lab::tune {

bool is_better(const Trial& one, const Trial& other) {
  if (one.finished() != other.finished()) {
    return one.finished();
  }
  const double accuracy = one.accuracy();
  const double other_accuracy = other.accuracy();
  if (std::isfinite(accuracy) && std::isfinite(other_accuracy) && accuracy != other_accuracy) {
    return accuracy > other_accuracy;
  }
  return one.loss() < other.loss();
}

std::optional<std::size_t> best_of(const std::vector<Trial>& trials) {
  std::optional<std::size_t> best;
  for (std::size_t at = 0; at < trials.size(); ++at) {
    if (trials[at].finished() && (!best || is_better(trials[at], trials[*best]))) {
      best = at;
    }
  }
  return best;
}

}  // namespace sing::lab::tune
