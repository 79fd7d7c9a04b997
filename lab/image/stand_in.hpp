// Generates images that replace a missing data set, to try out a recipe.
#pragma once

#include <cstdint>
#include <string>

#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// Each class has a smooth pattern; an image is the pattern of its class, shifted by up to two
// pixels, plus noise. Labels cycle through the classes. The set depends only on shape and counts.
SmallSet make_stand_in(const SmallShape& shape, std::int64_t training_count,
                       std::int64_t test_count);

// The notice that every output of a run on such images contains.
std::string stand_in_notice(const std::string& data_set);

}  // namespace sing::lab::image
