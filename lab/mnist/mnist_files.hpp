// MNIST from its official idx files, packed by gzip or not.
#pragma once

#include <filesystem>

#include "lab/image/official_files.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::mnist {

inline constexpr image::SmallShape kShape = {.channels = 1, .size = 28, .classes = 10};

const image::OfficialSet& official_set();

// Throws std::invalid_argument for missing files, FileError for files that are no idx files of 28 ×
// 28 images and as many labels below 10.
image::SmallSet read_set(const std::filesystem::path& folder);

}  // namespace sing::lab::mnist
