// MNIST as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::mnist {

std::unique_ptr<lab::Task> make_task();

}  // namespace sing::mnist
