// Lists of names in messages, and the hint for a misspelled one.
#include "sing/base/name_list.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "sing/base/message.hpp"

namespace sing {
namespace {

constexpr std::size_t kShortestPart = 3;  // shorter words are part of too many names

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, above + 1, diagonal + (a[i] == b[j] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string joined_names(std::span<const std::string> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The distance alone finds neither 'warmup_cosine' for 'cosine' nor 'ablation' for 'abl': a name
// that contains the word comes next to the word itself, the shortest of them first.
std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const auto cost = [&](const std::string& each) {
    const std::size_t distance = edit_distance(name, each);
    const bool contains = name.size() >= kShortestPart && each.find(name) != std::string::npos;
    return std::pair(contains ? std::size_t{0} : distance, distance);
  };
  const auto nearest = std::min_element(
      known.begin(), known.end(),
      [&](const std::string& a, const std::string& b) { return cost(a) < cost(b); });
  if (nearest == known.end() || cost(*nearest).first > (nearest->size() + 1) / 2) {
    return "";
  }
  return fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace sing
