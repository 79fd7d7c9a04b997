// Reads MNIST from its official idx files, with or without gzip.
#pragma once

#include <filesystem>

#include "lab/image/official_files.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::mnist {

inline constexpr image::SmallShape kShape = {.channels = 1, .size = 28, .classes = 10};

const image::OfficialSet& official_set();

// Throws std::invalid_argument for missing files, and FileError for files that are not idx files of
// 28 × 28 images and the same number of labels below 10.
image::SmallSet read_set(const std::filesystem::path& folder);

}  // namespace sing::lab::mnist
