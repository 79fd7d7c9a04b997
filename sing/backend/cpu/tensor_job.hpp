// One tensor of a step, with everything that a pass over it needs.
#pragma once

#include "sing/backend/cpu/kernels.hpp"
#include "sing/backend/cpu/step_plan.hpp"

namespace sing::cpu {

// The work of one step on one tensor: its memory, its group's options, its plan and its loops.
struct TensorJob {
  const TensorStep& step;
  const GroupStep& group;
  const TensorPlan& plan;
  const RealKernels& kernels;
  double loss_scale;

  const RuleKernels& rule_kernels() const { return kernels.rules[group.rule.index()]; }
};

}  // namespace sing::cpu
