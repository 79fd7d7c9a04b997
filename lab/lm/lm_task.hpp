// Declares language modeling as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::lm {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::lm
