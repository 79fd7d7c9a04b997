// Runs commands that train with a program that replaces the training (fake_train.py), and reads the
// calls of that program.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lab/main/program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::test {

struct Said {
  int code;
  std::string out;
  std::string error;
};

inline Said say(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  std::ostringstream out;
  std::ostringstream error;
  const int code =
      lab::main::run_program(static_cast<int>(pointers.size()), pointers.data(), out, error);
  return {code, out.str(), error.str()};
}

inline constexpr const char* kFakeTrain = SING_TEST_DATA "/lab/compare/fake_train.py";

// Runs `words` with the plan in the folder, the runs in its "runs", and `flags` for the training.
inline Said say_with_plan(const TemporaryFolder& folder, std::vector<std::string> words,
                          const std::vector<std::string>& flags = {}) {
  words.insert(words.end(), {"--program", kFakeTrain, "--out", folder / "runs"});
  words.insert(words.end(), {"--", "--plan", folder / "plan"});
  words.insert(words.end(), flags.begin(), flags.end());
  return say(words);
}

// Returns the arguments of every call of the program, in order.
inline std::vector<std::vector<std::string>> calls(const TemporaryFolder& folder) {
  std::vector<std::vector<std::string>> all;
  std::istringstream stream(read_whole(folder / "plan.calls"));
  for (std::string line; std::getline(stream, line);) {
    all.push_back(nlohmann::json::parse(line).get<std::vector<std::string>>());
  }
  return all;
}

}  // namespace sing::test
