// Writes verdicts for a terminal, for programs and for a browser.
#pragma once

#include <span>
#include <string>

#include "lab/theory/claim.hpp"

namespace sing::lab::theory {

// Returns the verdict, statement, experiment and numbers of one claim for a terminal.
std::string verdict_text(const Verdict& verdict);

// Returns {"format": "sing-theory-1", "holds": …, "claims": [{"name", "family", "statement",
// "experiment", "holds", "seconds", "numbers": [{"name", "value", "low", "high", "shown", "wanted",
// "holds"}]}]}. A missing bound is null, as is a value that is not finite.
std::string verdicts_json(std::span<const Verdict> verdicts);

// Returns one self-contained page: no other files, no network.
std::string verdicts_page(std::span<const Verdict> verdicts);

bool all_hold(std::span<const Verdict> verdicts);

}  // namespace sing::lab::theory
