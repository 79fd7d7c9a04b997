// Formats the scores of an evaluation for a line of text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sing::lab::run {

// Returns a text such as " · accuracy 12.34 % · perplexity 3.21"; an absent accuracy is left out.
std::string scores_text(std::string_view score_name, double accuracy,
                        const std::vector<std::pair<std::string, double>>& others);

}  // namespace sing::lab::run
