// Lists every backend that tests run on, by name; one that this machine lacks is skipped, never
// absent.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing::test {

struct BackendCase {
  std::string name;
  std::function<std::shared_ptr<Backend>()> make;
  std::string missing;  // why it cannot run here; empty if it can
};

inline void PrintTo(const BackendCase& backend, std::ostream* stream) { *stream << backend.name; }

inline std::string case_name(const ::testing::TestParamInfo<BackendCase>& info) {
  return info.param.name;
}

inline BackendCase reference_backend() {
  return {"reference", [] { return std::shared_ptr<Backend>(make_reference_backend()); }, ""};
}

inline BackendCase cpu_backend(InstructionSet instruction_set, int threads) {
  const std::string name(name_of(instruction_set));
  return {"cpu_" + name + "_threads_" + std::to_string(threads),
          [=] {
            return std::shared_ptr<Backend>(make_cpu_backend({threads, nullptr, instruction_set}));
          },
          is_supported(instruction_set) ? "" : "this machine lacks " + name};
}

inline BackendCase cuda_backend() {
  return {"cuda", [] { return std::shared_ptr<Backend>(make_cuda_backend({})); },
          is_cuda_available() ? "" : "no CUDA device"};
}

inline std::vector<InstructionSet> all_instruction_sets() {
  return {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};
}

// Returns one backend of each kind, for tests of behavior that does not depend on the number of
// threads.
inline std::vector<BackendCase> backend_kinds() {
  std::vector<BackendCase> cases{reference_backend()};
  for (const InstructionSet instruction_set : all_instruction_sets()) {
    cases.push_back(cpu_backend(instruction_set, 2));
  }
  cases.push_back(cuda_backend());
  return cases;
}

// Returns each instruction set with each number of threads, for tests of the computed numbers.
inline std::vector<BackendCase> all_backends() {
  std::vector<BackendCase> cases{reference_backend()};
  for (const InstructionSet instruction_set : all_instruction_sets()) {
    for (const int threads : {1, 2, 3, 7}) {
      cases.push_back(cpu_backend(instruction_set, threads));
    }
  }
  cases.push_back(cuda_backend());
  return cases;
}

// Base class of a suite that is instantiated over a list of backends.
class BackendTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) {
      GTEST_SKIP() << GetParam().missing;
    }
    backend_ = GetParam().make();
  }

  bool is_reference() const { return GetParam().name == "reference"; }

  std::shared_ptr<Backend> backend_;
};

}  // namespace sing::test

// SING_ON_BACKENDS(suite, cases) is variadic because a list in braces has commas.
#define SING_ON_BACKENDS(suite, ...) \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(__VA_ARGS__), sing::test::case_name)
