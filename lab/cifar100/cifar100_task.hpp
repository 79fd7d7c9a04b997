// CIFAR-100 as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::cifar100 {

std::unique_ptr<lab::Task> make_task();

}  // namespace sing::cifar100
