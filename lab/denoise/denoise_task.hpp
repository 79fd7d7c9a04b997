// Declares the task of removing Gaussian noise from patches of images.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::denoise {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::denoise
