// The compiled kernels. All of them take one StepArguments.
#pragma once

#include <array>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

// The storage types of a launch's parameters and, where they differ, gradients: float32 (full),
// 16 bits (narrow) or float64.
enum class Storage { kFull, kFullNarrow, kNarrowFull, kNarrow, kDouble };
inline constexpr std::size_t kStorageCount = 5;

constexpr Storage storage_of(Dtype parameter, Dtype gradient) {
  if (parameter == Dtype::kFloat64) {
    return Storage::kDouble;
  }
  if (is_low_precision(parameter)) {
    return is_low_precision(gradient) ? Storage::kNarrow : Storage::kNarrowFull;
  }
  return is_low_precision(gradient) ? Storage::kFullNarrow : Storage::kFull;
}

using KernelOfRules = std::array<const void*, kRuleCount>;  // in the order of the list

struct StepKernels {
  KernelOfRules step;  // items for warps
  KernelOfRules pass;  // items for blocks
};

// One source file each, so that they compile in parallel.
StepKernels full_step_kernels();
StepKernels full_narrow_step_kernels();
StepKernels narrow_full_step_kernels();
StepKernels narrow_step_kernels();
StepKernels double_step_kernels();

}  // namespace sing::cuda
