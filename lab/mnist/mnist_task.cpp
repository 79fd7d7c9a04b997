// Defines the MNIST setting: crops with black padding, no flips and no rotations.
#include "lab/mnist/mnist_task.hpp"

#include "lab/image/small_image_task.hpp"
#include "lab/mnist/mnist_files.hpp"

namespace sing::lab::mnist {

std::unique_ptr<task::Task> make_task() {
  return image::make_small_image_task({.official = official_set(),
                                       .shape = kShape,
                                       .read = read_set,
                                       // Moments of the 60 000 training images.
                                       .normalization = {.mean = {33.318}, .deviation = {78.567}},
                                       .augment = {.pad = 2, .mirror = false, .rotation = 0},
                                       .model = {.stem = model::Stem::kCifar},
                                       .classification = {.label_smoothing = 0}});
}

}  // namespace sing::lab::mnist
