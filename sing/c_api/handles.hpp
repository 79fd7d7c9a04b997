// The types behind the opaque handles of the C interface.
#pragma once

#include "sing/c_api/sing.h"
#include "sing/optim/optimizer.hpp"
#include "sing/optim/schedule.hpp"

struct sing_optimizer {
  sing::Optimizer optimizer;
};

struct sing_options {
  sing::Overrides overrides;
};

struct sing_schedule {
  sing::Schedule schedule;
};
