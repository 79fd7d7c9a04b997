// Small images in memory as a source of raw images.
#pragma once

#include <memory>

#include "lab/image/image_source.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// Of three channels; classes are named by their numbers.
std::unique_ptr<ImageSource> make_memory_source(const SmallSet& set);

}  // namespace sing::lab::image
