// Chooses the loops for the machine the program runs on.
#include "sing/backend/cpu/kernels.hpp"

#include "sing/base/message.hpp"

namespace sing::cpu {

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
#if defined(__x86_64__)
  if (instruction_set == InstructionSet::kBest) {
    instruction_set = is_supported(InstructionSet::kAvx512) ? InstructionSet::kAvx512
                      : is_supported(InstructionSet::kAvx2) ? InstructionSet::kAvx2
                                                            : InstructionSet::kBaseline;
  }
  SING_CHECK(is_supported(instruction_set),
             "[cpu] this machine lacks the instruction set that was asked for");
  if (instruction_set == InstructionSet::kAvx512) {
    return avx512::kKernels;
  }
  if (instruction_set == InstructionSet::kAvx2) {
    return avx2::kKernels;
  }
#else
  SING_CHECK(is_supported(instruction_set),
             "[cpu] this machine lacks the instruction set that was asked for");
#endif
  return baseline::kKernels;
}

}  // namespace sing::cpu

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
