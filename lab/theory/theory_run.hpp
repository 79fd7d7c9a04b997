// Tries the claims of the theory and says which of them hold.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "lab/theory/method.hpp"

namespace sing::lab::theory {

struct TheoryRequest {
  std::vector<std::string> names;  // of claims or families; none: all
  std::string json;                // files to write; empty: none
  std::string page;
};

// Returns whether all claims hold. Throws std::invalid_argument for an unknown name and FileError
// for a file that cannot be written, before anything is tried.
bool run_theory(const TheoryRequest& request, const Method& method, std::ostream& out);

}  // namespace sing::lab::theory
