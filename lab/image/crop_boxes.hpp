// Which part of an image is shown: a random one in training, the middle in tests.
#pragma once

#include "lab/image/rgb_image.hpp"
#include "lab/random/random_stream.hpp"

namespace sing::lab::image {

// Uniform in [0, 1).
double uniform(random::RandomStream& random);

// torchvision's RandomResizedCrop: a share of the area uniform in [least_area, 1], the logarithm of
// width / height uniform between those of 3/4 and 4/3; after ten boxes that do not fit, the middle
// of the image as near to those bounds as it goes.
Box random_resized_box(random::RandomStream& random, ImageSize size, double least_area);

// The square in the middle, its side `share` of the shorter side (FFCV's CenterCrop).
Box central_box(ImageSize size, double share);

}  // namespace sing::lab::image
