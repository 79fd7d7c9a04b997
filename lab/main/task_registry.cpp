// Lists the tasks, one per line.
#include "lab/main/task_registry.hpp"

#include "lab/choice/choice_task.hpp"
#include "lab/cifar100/cifar100_task.hpp"
#include "lab/imagefolder/imagefolder_task.hpp"
#include "lab/mnist/mnist_task.hpp"
#include "lab/rde/rde_task.hpp"
#include "lab/squad/squad_task.hpp"

namespace sing::lab::main {

std::span<const task::TaskEntry> task_entries() {
  static constexpr task::TaskEntry kEntries[] = {
      {"rde", "Rectangle depth estimation (docs/rde.md)", rde::make_task},
      {"cifar100", "CIFAR-100 from its binary files (docs/images.md)", cifar100::make_task},
      {"mnist", "MNIST from its idx files (docs/images.md)", mnist::make_task},
      {"imagefolder", "Images in ImageNet's folders, or a pack of them (docs/images.md)",
       imagefolder::make_task},
      {"squad", "Question answering on SQuAD v1.1 (docs/text.md)", squad::make_task},
      {"choice", "Multiple choice as in SWAG (docs/text.md)", choice::make_task},
  };
  return kEntries;
}

std::string_view small_recipe(std::string_view task) {
  if (task == "squad") {
    return "recipes/squad_demo.toml";
  }
  if (task == "choice") {
    return "recipes/choice_demo.toml";
  }
  return task == "rde" ? "recipes/rde_demo.toml" : "";
}

}  // namespace sing::lab::main
