// Declares the list of tasks.
#pragma once

#include <span>

#include "lab/task/task.hpp"

namespace sing::lab::main {

std::span<const task::TaskEntry> task_entries();

}  // namespace sing::lab::main
