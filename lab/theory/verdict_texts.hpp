// Verdicts for people, for programs and for a browser.
#pragma once

#include <span>
#include <string>

#include "lab/theory/claim.hpp"

namespace sing::lab::theory {

// For a terminal: verdict, statement, experiment and numbers of one claim.
std::string verdict_text(const Verdict& verdict);

// {"format": "sing-theory-1", "holds": …, "claims": [{"name", "family", "statement", "experiment",
// "holds", "seconds", "numbers": [{"name", "value", "low", "high", "shown", "wanted", "holds"}]}]};
// a bound that is not there is null, as is a value that is not finite.
std::string verdicts_json(std::span<const Verdict> verdicts);

// One page with everything it shows inside: no file beside it, no network.
std::string verdicts_page(std::span<const Verdict> verdicts);

bool all_hold(std::span<const Verdict> verdicts);

}  // namespace sing::lab::theory
