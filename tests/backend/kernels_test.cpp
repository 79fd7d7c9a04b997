// Checks that an instruction set selects the loops that were compiled for it.
#include "sing/backend/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sing::cpu {

// sing/backend/cpu/kernels.cpp declares them too.
namespace baseline {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

namespace {

// All instruction sets compute the same bits, so that only their tables tell them apart.
TEST(Kernels, AreThoseOfTheInstructionSetAndTheBestAreTheLastThatTheMachineHas) {
  const std::vector<std::pair<InstructionSet, const Kernels*>> tables = {
      {InstructionSet::kBaseline, &baseline::kKernels},
#if defined(__x86_64__)
      {InstructionSet::kAvx2, &avx2::kKernels},
      {InstructionSet::kAvx512, &avx512::kKernels},
#endif
  };
  const Kernels* best = nullptr;
  for (const auto& [instruction_set, kernels] : tables) {
    if (is_supported(instruction_set)) {
      EXPECT_EQ(&select_kernels(instruction_set), kernels) << name_of(instruction_set);
      best = kernels;
    }
  }
  EXPECT_EQ(&select_kernels(InstructionSet::kBest), best);
}

}  // namespace
}  // namespace sing::cpu
