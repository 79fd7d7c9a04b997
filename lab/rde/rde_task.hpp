// Rectangle depth estimation as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::rde {

std::unique_ptr<lab::Task> make_task();

}  // namespace sing::rde
