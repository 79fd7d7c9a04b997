// Draws scenes until one satisfies every rule.
#include "lab/rde/generator.hpp"

#include "lab/rde/cell_grid.hpp"
#include "lab/rde/rules.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {

Scene make_scene(const RdeOptions& options, std::uint64_t seed, std::uint64_t index) {
  for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Scene scene = draw_rectangles(options, seed, index, attempt);
    if (!has_distinct_lines(scene)) {
      continue;
    }
    const CellGrid grid(scene);
    if (!shows_enough(options, grid)) {
      continue;
    }
    const Contacts contacts = grid.contacts();
    if (!keeps_chain(options, contacts) || !contacts.decides_all(scene.count)) {
      continue;
    }
    set_heights(scene, contacts);
    draw_greys(scene, seed, index);
    return scene;
  }
  throw std::invalid_argument(
      fmt::format("[rde] wanted an image of {} rectangles with sides {} to {} that each show {} "
                  "pixels on {} x {}, got none in {} attempts",
                  options.rectangles, options.min_side, options.max_side, options.min_visible,
                  options.image_size, options.image_size, kMaxAttempts));
}

}  // namespace sing::lab::rde
