// Runs the program `sing`, without the commands that need LibTorch, on a list of words.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "lab/main/program.hpp"

namespace sing::test {

struct WordsOutcome {
  int code;
  std::string out;
  std::string error;
};

inline WordsOutcome run_words(
    const std::vector<std::string>& words,
    const std::function<void(CLI::App&, lab::command::CommandContext&)>& add_more = {}) {
  std::vector<const char*> pointers = {"sing"};
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  std::ostringstream out;
  std::ostringstream error;
  const int code = lab::main::run_program(static_cast<int>(pointers.size()), pointers.data(), out,
                                          error, add_more);
  return {code, out.str(), error.str()};
}

}  // namespace sing::test
