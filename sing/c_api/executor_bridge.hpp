// Lets a caller's C function run the tasks of the CPU backend.
#pragma once

#include "sing/c_api/sing.h"
#include "sing/optim/options.hpp"

namespace sing::c_api {

// An executor that calls `executor`. What a task throws is kept from the caller's frames and thrown
// after them; an executor that leaves tasks out is an Error.
Executor bridge_executor(sing_executor executor, void* context);

}  // namespace sing::c_api
