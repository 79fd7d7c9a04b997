// Implements both searches as functions of the results so far, without starting a program.
#include "lab/tune/search.hpp"

#include <algorithm>

#include "sing/base/message.hpp"

namespace sing::lab::tune {
namespace {

// Returns the next place to try next to `tried`; none if the best has neighbors on both sides.
std::optional<int> next_place(const Places& tried, std::optional<int> best) {
  if (!best || *best == tried.first) {
    return tried.first - 1;
  }
  return *best == tried.last ? std::optional(tried.last + 1) : std::nullopt;
}

}  // namespace

Walk walk(Places start, int most_beyond, const Try& attempt) {
  std::vector<Trial> trials;
  std::vector<int> places;
  Walk result{.tried = start};
  const auto visit = [&](int place) {
    const std::optional<Trial> trial = attempt(place);
    if (trial) {
      trials.push_back(*trial);
      places.push_back(place);
      const auto best = best_of(trials);
      result.best = best ? std::optional(places[*best]) : std::nullopt;
    }
    result.stopped = !trial;
    return !result.stopped;
  };
  for (int place = start.first; place <= start.last; ++place) {
    if (!visit(place)) {
      return result;
    }
  }
  while (const auto next = next_place(result.tried, result.best)) {
    if (*next < start.first - most_beyond || *next > start.last + most_beyond) {
      result.at_end = result.best.has_value();
      return result;
    }
    if (!visit(*next)) {
      return result;
    }
    result.tried.first = std::min(result.tried.first, *next);
    result.tried.last = std::max(result.tried.last, *next);
  }
  return result;
}

std::vector<std::int64_t> round_epochs(std::size_t settings, std::int64_t last) {
  std::vector<std::int64_t> epochs = {last};
  for (std::size_t left = settings; left > 2; left /= 2) {
    epochs.push_back(epochs.back() / 2);
  }
  std::reverse(epochs.begin(), epochs.end());
  SING_CHECK(epochs.front() >= 1,
             "[sing tune] --epochs: wanted at least {} for the last of {} rounds, got {}",
             std::int64_t{1} << (epochs.size() - 1), epochs.size(), last);
  return epochs;
}

std::vector<Setting> better_half(std::vector<Trial> round) {
  std::stable_sort(round.begin(), round.end(), is_better);
  std::vector<Setting> kept;
  for (const Trial& trial : round) {
    if (trial.finished() && kept.size() < std::max<std::size_t>(1, round.size() / 2)) {
      kept.push_back(trial.setting);
    }
  }
  return kept;
}

}  // namespace sing::lab::tune
