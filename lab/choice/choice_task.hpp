// Declares multiple choice as in SWAG as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::choice {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::choice
