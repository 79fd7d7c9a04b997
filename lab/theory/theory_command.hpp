// `sing theory`: tries the claims of the theory and says which hold.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "lab/cli/program.hpp"
#include "lab/theory/method.hpp"

namespace sing::theory {

struct TheoryRequest {
  std::vector<std::string> names;  // of claims or families; none: all
  std::string json;                // files to write; empty: none
  std::string page;
};

// Returns the exit code: lab::kFailure if a claim fails. Throws std::invalid_argument for an
// unknown name and FileError for a file that cannot be written, before anything is tried.
int run_theory(const TheoryRequest& request, const Method& method, std::ostream& out);

void add_theory_command(CLI::App& app, lab::Session& session);

}  // namespace sing::theory
