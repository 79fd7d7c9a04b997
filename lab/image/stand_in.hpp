// Generated images in the place of a data set that is not there, for trying a recipe's machinery.
#pragma once

#include <cstdint>
#include <string>

#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// Each class has a smooth pattern of its own; an image is its class's pattern, shifted by up to
// two pixels, under noise. Classes take turns. A function of shape and counts alone.
SmallSet make_stand_in(const SmallShape& shape, std::int64_t training_count,
                       std::int64_t test_count);

// What every output says when a run was made with them.
std::string stand_in_notice(const std::string& data_set);

}  // namespace sing::lab::image
