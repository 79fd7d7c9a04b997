// The list of claims, and those of them that a command line asks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/theory/claim.hpp"

namespace sing::lab::theory {

std::vector<Claim> all_claims();

// Names of claims or of families, in the list's order; all of them for no names. Throws
// std::invalid_argument, naming the nearest, for a name that there is not.
std::vector<Claim> select_claims(std::span<const std::string> names);

Verdict try_claim(const Claim& claim, const Method& method);

}  // namespace sing::lab::theory
