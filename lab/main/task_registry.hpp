// Declares the list of tasks.
#pragma once

#include <span>
#include <string_view>

#include "lab/task/task.hpp"

namespace sing::lab::main {

std::span<const task::TaskEntry> task_entries();

// Returns the recipe that trains the task on a CPU in minutes, or "" if there is none.
std::string_view small_recipe(std::string_view task);

}  // namespace sing::lab::main
