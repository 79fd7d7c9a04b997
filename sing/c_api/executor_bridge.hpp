// Lets a caller's C function run the tasks of the CPU backend.
#pragma once

#include "sing/c_api/sing.h"
#include "sing/optim/options.hpp"

namespace sing::c_api {

// An executor that calls `executor`. An exception of a task does not pass through the caller's
// frames; it is thrown again when they have returned. An executor that does not run every task is
// an Error.
Executor bridge_executor(sing_executor executor, void* context);

}  // namespace sing::c_api
