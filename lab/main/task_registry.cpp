// Lists the tasks, one per line.
#include "lab/main/task_registry.hpp"

#include "lab/cifar100/cifar100_task.hpp"
#include "lab/imagefolder/imagefolder_task.hpp"
#include "lab/mnist/mnist_task.hpp"
#include "lab/rde/rde_task.hpp"

namespace sing::lab::main {

std::span<const task::TaskEntry> task_entries() {
  static constexpr task::TaskEntry kEntries[] = {
      {"rde", "Rectangle depth estimation (docs/rde.md)", rde::make_task},
      {"cifar100", "CIFAR-100 from its binary files (docs/images.md)", cifar100::make_task},
      {"mnist", "MNIST from its idx files (docs/images.md)", mnist::make_task},
      {"imagefolder", "Images in ImageNet's folders, or a pack of them (docs/images.md)",
       imagefolder::make_task},
  };
  return kEntries;
}

std::string_view small_recipe(std::string_view task) {
  return task == "rde" ? "recipes/rde_demo.toml" : "";
}

}  // namespace sing::lab::main
