// Lists the tasks, one per line.
#include "lab/main/task_registry.hpp"

#include "lab/choice/choice_task.hpp"
#include "lab/cifar100/cifar100_task.hpp"
#include "lab/denoise/denoise_task.hpp"
#include "lab/imagefolder/imagefolder_task.hpp"
#include "lab/lm/lm_task.hpp"
#include "lab/mnist/mnist_task.hpp"
#include "lab/rde/rde_task.hpp"
#include "lab/squad/squad_task.hpp"
#include "lab/translation/translation_task.hpp"

namespace sing::lab::main {

std::span<const task::TaskEntry> task_entries() {
  static constexpr task::TaskEntry kEntries[] = {
      {"rde", "Rectangle depth estimation (docs/rde.md)", rde::make_task, "recipes/rde_demo.toml"},
      {"cifar100", "CIFAR-100 from its binary files (docs/images.md)", cifar100::make_task},
      {"mnist", "MNIST from its idx files (docs/images.md)", mnist::make_task},
      {"imagefolder", "Images in ImageNet's folders, or a pack of them (docs/images.md)",
       imagefolder::make_task},
      {"denoise", "Noise removed from patches of images (docs/images.md)", denoise::make_task},
      {"lm", "Language modeling on any text (docs/text.md)", lm::make_task, "recipes/lm_demo.toml"},
      {"squad", "Question answering on SQuAD v1.1 (docs/text.md)", squad::make_task,
       "recipes/squad_demo.toml"},
      {"choice", "Multiple choice as in SWAG (docs/text.md)", choice::make_task,
       "recipes/choice_demo.toml"},
      {"translation", "Translation of sentences (docs/text.md)", translation::make_task,
       "recipes/translation_demo.toml"},
  };
  return kEntries;
}

std::string_view small_recipe(std::string_view task) {
  for (const task::TaskEntry& entry : task_entries()) {
    if (task == entry.name) {
      return entry.small_recipe;
    }
  }
  return {};
}

}  // namespace sing::lab::main
