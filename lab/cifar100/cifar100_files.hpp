// Reads CIFAR-100 from its official binary files.
#pragma once

#include <filesystem>

#include "lab/image/official_files.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::cifar100 {

inline constexpr image::SmallShape kShape = {.channels = 3, .size = 32, .classes = 100};

const image::OfficialSet& official_set();

// Uses the fine labels. Records are [coarse][fine][1024 red][1024 green][1024 blue]. Throws
// std::invalid_argument for missing files, and FileError for files of another size or with labels
// out of range.
image::SmallSet read_set(const std::filesystem::path& folder);

}  // namespace sing::lab::cifar100
