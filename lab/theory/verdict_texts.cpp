// Writes verdicts as lines of text and as JSON.
#include "lab/theory/verdict_texts.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/command/text_width.hpp"
#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, command::width_of(text)), ' ');
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string verdict_text(const Verdict& verdict) {
  const Claim& claim = verdict.claim;
  std::string text =
      fmt::format("{}{}\n", verdict.evidence.holds() ? "holds  " : "FAILS  ", claim.name);
  text += fmt::format("  {}\n  {}\n", claim.statement, claim.experiment);
  std::size_t name_width = 0;
  for (const Number& number : verdict.evidence.numbers) {
    name_width = std::max(name_width, command::width_of(number.name));
  }
  for (const Number& number : verdict.evidence.numbers) {
    text += fmt::format("{}{}{}{}", number.holds() ? "    " : "  ✗ ",
                        padded(number.name, name_width + 2),
                        padded(page::short_number(number.value), 12), wanted_text(number));
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + "\n";
}

std::string verdicts_json(std::span<const Verdict> verdicts) {
  nlohmann::ordered_json claims = nlohmann::ordered_json::array();
  for (const auto& [claim, evidence, seconds] : verdicts) {
    nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
    for (const Number& number : evidence.numbers) {
      numbers.push_back({{"name", number.name},
                         {"value", finite_or_null(number.value)},
                         {"low", finite_or_null(number.low)},
                         {"high", finite_or_null(number.high)},
                         {"shown", page::short_number(number.value)},
                         {"wanted", wanted_text(number)},
                         {"holds", number.holds()}});
    }
    claims.push_back({{"name", claim.name},
                      {"family", claim.family},
                      {"statement", claim.statement},
                      {"experiment", claim.experiment},
                      {"holds", evidence.holds()},
                      {"seconds", seconds},
                      {"numbers", std::move(numbers)}});
  }
  const nlohmann::ordered_json whole = {
      {"format", "sing-theory-1"}, {"holds", all_hold(verdicts)}, {"claims", std::move(claims)}};
  return whole.dump(1) + "\n";
}

bool all_hold(std::span<const Verdict> verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const Verdict& verdict) { return verdict.evidence.holds(); });
}

}  // namespace sing::lab::theory
