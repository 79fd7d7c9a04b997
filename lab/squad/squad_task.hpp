// Declares question answering on SQuAD v1.1 as a task of the training loop.
#pragma once

#include <memory>

#include "lab/task/task.hpp"

namespace sing::lab::squad {

std::unique_ptr<task::Task> make_task();

}  // namespace sing::lab::squad
