// Chooses the loops for the machine that the program runs on.
#include "sing/backend/cpu/kernels.hpp"

#include "sing/base/message.hpp"

namespace sing {

bool is_supported(InstructionSet instruction_set) {
  switch (instruction_set) {
    case InstructionSet::kBest:
    case InstructionSet::kBaseline:
      return true;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") != 0;
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
    default:
      break;
#endif
  }
  return false;
}

}  // namespace sing

namespace sing::cpu {

// Each table is defined in the source file of its instruction set (kernel/kernel_table.hpp).
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

const Kernels& select_kernels(InstructionSet instruction_set) {
  SING_CHECK(is_supported(instruction_set),
             "[cpu] wanted an instruction set of this machine, got '{}'", name_of(instruction_set));
#if defined(__x86_64__)
  const auto is_chosen = [&](InstructionSet each) {
    return instruction_set == each ||
           (instruction_set == InstructionSet::kBest && is_supported(each));
  };
  if (is_chosen(InstructionSet::kAvx512)) {
    return avx512::kKernels;
  }
  if (is_chosen(InstructionSet::kAvx2)) {
    return avx2::kKernels;
  }
#endif
  return baseline::kKernels;
}

}  // namespace sing::cpu
