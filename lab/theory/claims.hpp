// The list of claims, and those of them that a command line asks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/theory/claim.hpp"

namespace sing::lab::theory {

// The families of claims; each is defined in a file named after it.
std::vector<Claim> escape_claims();
std::vector<Claim> invariance_claims();
std::vector<Claim> lemma_claims();
std::vector<Claim> convergence_claims();
std::vector<Claim> clipping_claims();
std::vector<Claim> calibrated_claims();
std::vector<Claim> figure_claims();

std::vector<Claim> all_claims();

// Claims by their own names or those of their families, in the list's order; all of them for no
// names. Throws std::invalid_argument with the nearest name for one that is neither.
std::vector<Claim> select_claims(std::span<const std::string> names);

Verdict try_claim(const Claim& claim, const Method& method);

}  // namespace sing::lab::theory
