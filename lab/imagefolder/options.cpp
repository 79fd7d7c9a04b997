// Checks the options of an image folder and computes the training size.
#include "lab/imagefolder/options.hpp"

#include <cmath>

#include "sing/base/message.hpp"

namespace sing::lab::imagefolder {

void check(const ImageFolderOptions& options) {
  validate(options, "imagefolder");
  SING_CHECK(options.ramp_begin <= options.ramp_end,
             "[imagefolder] wanted ramp_begin <= ramp_end, got {} and {}", options.ramp_begin,
             options.ramp_end);
}

std::int64_t training_size(const ImageFolderOptions& options, std::int64_t epoch) {
  if (options.first_size == 0 || epoch >= options.ramp_end) {
    return options.train_size;
  }
  if (epoch <= options.ramp_begin) {
    return options.first_size;
  }
  constexpr double kMultiple = 32;
  const double share = static_cast<double>(epoch - options.ramp_begin) /
                       static_cast<double>(options.ramp_end - options.ramp_begin);
  const double size = static_cast<double>(options.first_size) +
                      share * static_cast<double>(options.train_size - options.first_size);
  return static_cast<std::int64_t>(std::nearbyint(size / kMultiple) * kMultiple);
}

}  // namespace sing::lab::imagefolder
