// Checks that an instruction set selects the loops that were compiled for it.
#include "sing/backend/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/support/backends.hpp"

namespace sing {
namespace {

// All instruction sets compute the same bits, so that only the tables tell them apart.
TEST(Kernels, EachInstructionSetHasItsOwnAndTheBestIsTheLastOneOfTheMachine) {
  std::vector<const cpu::Kernels*> tables;
  for (const InstructionSet each : test::all_instruction_sets()) {
    if (is_supported(each)) {
      tables.push_back(&cpu::select_kernels(each));
    }
  }
  EXPECT_EQ(std::set(tables.begin(), tables.end()).size(), tables.size());
  EXPECT_EQ(&cpu::select_kernels(InstructionSet::kBest), tables.back());
}

}  // namespace
}  // namespace sing
