// Formats scores.
#include "lab/run/scores_text.hpp"

#include <cmath>

#include "sing/base/message.hpp"

namespace sing::lab::run {

std::string scores_text(std::string_view score_name, double accuracy,
                        const std::vector<std::pair<std::string, double>>& others) {
  std::string text;
  if (std::isfinite(accuracy)) {
    text += fmt::format(" · {} {:.2f} %", score_name, 100 * accuracy);
  }
  for (const auto& [name, value] : others) {
    text += fmt::format(" · {} {:.4g}", name, value);
  }
  return text;
}

}  // namespace sing::lab::run
