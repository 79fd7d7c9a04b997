// A task on a set of small images that lies on the device as a whole: each batch is a few numbers
// an image, and the pixels are made there.
#pragma once

#include <filesystem>
#include <memory>

#include "lab/image/augment.hpp"
#include "lab/image/augment_parameters.hpp"
#include "lab/image/classification.hpp"
#include "lab/image/official_files.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// What tells one such task from another.
struct SmallTaskKind {
  const OfficialSet& official;
  SmallShape shape;
  SmallSet (*read)(const std::filesystem::path& folder);
  Normalization normalization;
  AugmentOptions augment;
  model::ResnetOptions model;
  ClassificationOptions classification;
};

std::unique_ptr<task::Task> make_small_image_task(SmallTaskKind kind);

}  // namespace sing::lab::image
