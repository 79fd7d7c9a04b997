// Defines the options of denoising that are not the model's.
#pragma once

#include <cstdint>
#include <tuple>

#include "sing/base/fields.hpp"

namespace sing::lab::denoise {

struct DenoiseOptions {
  double noise = 25;
  std::int64_t patch = 40;
  bool stand_in = false;

  static constexpr auto fields() {
    using D = DenoiseOptions;
    return std::tuple{
        field("noise", &D::noise,
              "standard deviation of the Gaussian noise, for values of 0 to 255", between(0, 255)),
        field("patch", &D::patch, "pixels per side of a training patch and of a test patch",
              between(8, 1024)),
        field("stand_in", &D::stand_in, "train on generated patterns; the results mean nothing")};
  }
};

}  // namespace sing::lab::denoise
