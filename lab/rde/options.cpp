// Checks the options of the RDE images against each other.
#include "lab/rde/options.hpp"

#include "sing/base/message.hpp"

namespace sing::lab::rde {

void check(const RdeOptions& options) {
  validate(options, "rde");
  SING_CHECK(options.min_side <= options.max_side && options.max_side <= options.image_size,
             "[rde] wanted min_side <= max_side <= image_size, got {}, {}, {}", options.min_side,
             options.max_side, options.image_size);
  SING_CHECK(options.min_visible <= options.max_side * options.max_side,
             "[rde] wanted min_visible of at most max_side * max_side = {}, got {}",
             options.max_side * options.max_side, options.min_visible);
}

}  // namespace sing::lab::rde
