// The families of claims, one file each.
#pragma once

#include <vector>

#include "lab/theory/claim.hpp"

namespace sing::lab::theory {

std::vector<Claim> escape_claims();
std::vector<Claim> invariance_claims();
std::vector<Claim> lemma_claims();
std::vector<Claim> convergence_claims();
std::vector<Claim> clipping_claims();
std::vector<Claim> calibrated_claims();
std::vector<Claim> figure_claims();

}  // namespace sing::lab::theory
