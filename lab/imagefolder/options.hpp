// Defines the options of an image folder: sizes, crops, and how the size grows.
#pragma once

#include <cstdint>
#include <tuple>

#include "lab/image/image_folder.hpp"
#include "sing/base/fields.hpp"

namespace sing::lab::imagefolder {

struct ImageFolderOptions {
  std::int64_t train_size = 192;
  std::int64_t first_size = 0;
  std::int64_t ramp_begin = 0;
  std::int64_t ramp_end = 0;
  std::int64_t test_size = 224;
  double test_share = 0.875;
  double least_area = 0.08;
  image::BadImages bad_images = image::BadImages::kRefuse;
  bool stand_in = false;

  static constexpr auto fields() {
    using O = ImageFolderOptions;
    return std::tuple{
        field("train_size", &O::train_size, "pixels per side of a training image",
              between(1, 4096)),
        field("first_size", &O::first_size, "pixels per side in the first epochs; 0: train_size",
              between(0, 4096)),
        field("ramp_begin", &O::ramp_begin, "epoch after which the size grows", between(0, 1e9)),
        field("ramp_end", &O::ramp_end, "epoch from which the size is train_size", between(0, 1e9)),
        field("test_size", &O::test_size, "pixels per side of a test image", between(1, 4096)),
        field("test_share", &O::test_share,
              "side of a test image's center crop, relative to its shorter side", between(1e-3, 1)),
        field("least_area", &O::least_area, "smallest share of an image's area in a training crop",
              between(1e-3, 1)),
        field("bad_images", &O::bad_images,
              "refuse or skip files that are not complete JPEG or PNG images; each is named"),
        field("stand_in", &O::stand_in, "train on generated patterns; the results mean nothing")};
  }
};

// Throws std::invalid_argument for values out of bounds or a ramp that ends before it begins.
void check(const ImageFolderOptions& options);

// FFCV's progressive resizing: first_size up to epoch ramp_begin, train_size from ramp_end on, and
// linear in between, rounded to a multiple of 32.
std::int64_t training_size(const ImageFolderOptions& options, std::int64_t epoch);

}  // namespace sing::lab::imagefolder
