// Chooses the crop of an image: random in training, the center in tests.
#pragma once

#include "lab/image/rgb_image.hpp"
#include "lab/random/random_stream.hpp"

namespace sing::lab::image {

// Uniform in [0, 1).
double uniform(random::RandomStream& random);

// torchvision's RandomResizedCrop: the area's share is uniform in [least_area, 1] and the logarithm
// of width / height is uniform between those of 3/4 and 4/3. After ten boxes that do not fit, it
// returns the center crop whose aspect ratio is closest to these bounds.
Box random_resized_box(random::RandomStream& random, ImageSize size, double least_area);

// The center square whose side is `share` of the shorter side (FFCV's CenterCrop).
Box central_box(ImageSize size, double share);

}  // namespace sing::lab::image
