// Checks the claims of the theory and reports which of them hold.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "lab/theory/method.hpp"

namespace sing::lab::theory {

struct TheoryRequest {
  std::vector<std::string> names;  // claims or families; empty: all
  std::string json;                // files to write; empty: none
  std::string page;
};

// Returns whether all claims hold. Throws std::invalid_argument for an unknown name and FileError
// for a file that cannot be written, before anything is checked.
bool run_theory(const TheoryRequest& request, const Method& method, std::ostream& out);

}  // namespace sing::lab::theory
