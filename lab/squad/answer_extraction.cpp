// Searches the pairs of tokens with the best scores.
#include "lab/squad/answer_extraction.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace sing::lab::squad {
namespace {

// Places of the largest scores, the largest first; of equal ones, the earlier first.
std::vector<std::int64_t> best_places(std::span<const float> scores, std::int64_t best) {
  std::vector<std::int64_t> places(scores.size());
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const auto kept = std::min(best, static_cast<std::int64_t>(places.size()));
  const auto score = [&](std::int64_t place) { return scores[static_cast<std::size_t>(place)]; };
  std::partial_sort(places.begin(), places.begin() + kept, places.end(),
                    [&](std::int64_t one, std::int64_t other) {
                      return score(one) != score(other) ? score(one) > score(other) : one < other;
                    });
  places.resize(static_cast<std::size_t>(kept));
  return places;
}

}  // namespace

std::string_view best_answer(std::span<const Window> windows, std::span<const WindowScores> scores,
                             std::string_view context, std::span<const text::PlacedToken> tokens,
                             const ExtractionOptions& options) {
  double best = -std::numeric_limits<double>::infinity();
  std::string_view answer;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    const auto is_context = [&](std::int64_t place) {
      return place >= window.context_begin && place < window.context_begin + window.count;
    };
    const std::vector<std::int64_t> ends = best_places(scores[i].end, options.best);
    for (const std::int64_t begin : best_places(scores[i].begin, options.best)) {
      const std::int64_t first = window.first + begin - window.context_begin;
      if (!is_context(begin) || !has_most_context(windows, i, first)) {
        continue;
      }
      for (const std::int64_t end : ends) {
        if (!is_context(end) || end < begin || end - begin + 1 > options.answer_length) {
          continue;
        }
        const double score = static_cast<double>(scores[i].begin[static_cast<std::size_t>(begin)]) +
                             static_cast<double>(scores[i].end[static_cast<std::size_t>(end)]);
        if (score > best) {
          best = score;
          const std::size_t from = tokens[static_cast<std::size_t>(first)].begin;
          const std::size_t to = tokens[static_cast<std::size_t>(first + end - begin)].end;
          answer = context.substr(from, to - from);
        }
      }
    }
  }
  return answer;
}

}  // namespace sing::lab::squad
