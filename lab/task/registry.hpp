// The tasks by name.
#pragma once

#include <memory>
#include <span>

#include "lab/task/task.hpp"

namespace sing::lab {

struct TaskEntry {
  const char* name;
  const char* help;
  std::unique_ptr<Task> (*make)();
};

std::span<const TaskEntry> task_entries();

}  // namespace sing::lab
