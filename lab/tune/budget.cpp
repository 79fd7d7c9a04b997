// Narrows the search around the best place.
#include "lab/tune/budget.hpp"

#include <algorithm>

namespace sing::lab::tune {
namespace {

constexpr int kWide = 2;  // places of a step before the best is enclosed

std::optional<int> best_place(const TriedPlaces& tried) {
  std::optional<int> best;
  for (const auto& [place, trial] : tried) {
    if (trial.finished() && (!best || is_better(trial, tried.at(*best)))) {
      best = place;
    }
  }
  return best;
}

// Returns whether the nearest tried place above an enclosed best is better than the nearest one
// below.
bool upper_side_is_better(const TriedPlaces& tried, int best) {
  const auto middle = tried.find(best);
  return is_better(std::next(middle)->second, std::prev(middle)->second);
}

}  // namespace

std::vector<int> next_places(const TriedPlaces& tried) {
  std::vector<int> places;
  if (tried.size() < 2) {
    places = {0, -kWide, kWide};
    std::erase_if(places, [&](int place) { return tried.contains(place); });
    return places;
  }
  const std::optional<int> best = best_place(tried);
  const int lowest = tried.begin()->first;
  const int highest = tried.rbegin()->first;
  if (!best || *best == lowest) {
    return {lowest - kWide};
  }
  if (*best == highest) {
    return {highest + kWide};
  }
  const int toward = upper_side_is_better(tried, *best) ? 1 : -1;
  for (int distance = 1; places.empty(); ++distance) {
    for (const int place : {*best + toward * distance, *best - toward * distance}) {
      if (!tried.contains(place)) {
        places.push_back(place);
      }
    }
  }
  return places;
}

BudgetResult spend(int runs, TriedPlaces tried, const TryPlaces& attempt) {
  BudgetResult result{.tried = std::move(tried)};
  while (runs > 0 && !result.stopped) {
    std::vector<int> places = next_places(result.tried);
    places.resize(std::min(places.size(), static_cast<std::size_t>(runs)));
    const std::optional<std::vector<Trial>> trials = attempt(places);
    result.stopped = !trials;
    for (std::size_t at = 0; trials && at < places.size(); ++at) {
      result.tried.emplace(places[at], (*trials)[at]);
    }
    runs -= static_cast<int>(places.size());
  }
  result.best = best_place(result.tried);
  result.settled = result.best && result.tried.contains(*result.best - 1) &&
                   result.tried.contains(*result.best + 1);
  return result;
}

}  // namespace sing::lab::tune
