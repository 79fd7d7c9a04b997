// Declares tasks on small images that fit on the device: a batch is a few numbers per image, and
// the device computes the pixels.
#pragma once

#include <filesystem>
#include <memory>

#include "lab/image/augment.hpp"
#include "lab/image/augment_parameters.hpp"
#include "lab/image/classification.hpp"
#include "lab/image/official_files.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// The properties in which these tasks differ.
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
