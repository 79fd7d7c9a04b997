// The compiled step kernels, one for each rule in the order of the list; taking StepArguments.
#pragma once

#include <array>

#include "sing/backend/cuda/device_records.hpp"

namespace sing::cuda {

std::array<const void*, kRuleCount> float_step_kernels();   // all parameters but float64
std::array<const void*, kRuleCount> double_step_kernels();  // float64 parameters

}  // namespace sing::cuda
