// Defines the plan of a training: everything it needs to know except its task.
#pragma once

#include <c10/core/Device.h>

#include "lab/loop/training_options.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/schedule.hpp"

namespace sing::lab::loop {

struct TrainingPlan {
  TrainingOptions training;
  ResourceOptions resources;
  Options optimizer;
  Schedule schedule;
  c10::Device device = c10::DeviceType::CPU;
  std::int64_t ranks = 1;    // processes that share each batch
  bool shard_state = false;  // the ranks share the optimizer's state too
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;
};

}  // namespace sing::lab::loop
