// One line a task.
#include "lab/task/registry.hpp"

#include "lab/rde/rde_task.hpp"

namespace sing::lab {

std::span<const TaskEntry> task_entries() {
  static constexpr TaskEntry kEntries[] = {
      {"rde", "Rectangle depth estimation (docs/rde.md)", rde::make_task},
  };
  return kEntries;
}

}  // namespace sing::lab
