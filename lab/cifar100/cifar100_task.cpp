// Defines the paper's CIFAR-100 setting: crops, flips, rotations, label smoothing, ResNet18.
#include "lab/cifar100/cifar100_task.hpp"

#include "lab/cifar100/cifar100_files.hpp"
#include "lab/image/small_image_task.hpp"

namespace sing::lab::cifar100 {

std::unique_ptr<task::Task> make_task() {
  return image::make_small_image_task({.official = official_set(),
                                       .shape = kShape,
                                       .read = read_set,
                                       // Moments of the 50 000 training images.
                                       .normalization = {.mean = {129.304, 124.070, 112.434},
                                                         .deviation = {68.170, 65.392, 70.418}},
                                       .augment = {.pad = 4, .mirror = true, .rotation = 15},
                                       .model = {.stem = model::Stem::kCifar},
                                       .classification = {.label_smoothing = 0.1}});
}

}  // namespace sing::lab::cifar100
