// Declares MNIST as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::mnist {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::mnist
