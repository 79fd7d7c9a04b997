// Declares the list of claims and selects those that a command line names.
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

// Returns the claims selected by their own names or those of their families, in the list's order,
// or all of them if there are no names. For any other name, throws std::invalid_argument with the
// nearest known one.
std::vector<Claim> select_claims(std::span<const std::string> names);

Verdict try_claim(const Claim& claim, const Method& method);

}  // namespace sing::lab::theory
