// Counts rejected attempts, the solver's answers and the contents of many images.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// The solver's answers compared with the drawing order.
struct Verdicts {
  std::int64_t images = 0;
  std::int64_t contacts = 0;
  std::int64_t undecided_contacts = 0;      // no junction shows the order
  std::int64_t contradictory_contacts = 0;  // two junctions show opposite orders
  std::int64_t wrong_contacts = 0;          // the order shown is wrong
  std::int64_t undecided_images = 0;
  std::int64_t misread_images = 0;  // with a wrong or contradictory contact or a wrong height
  std::int64_t solved_images = 0;   // every height is right

  void operator+=(const Verdicts& other);
};

// Sums over the images that are kept.
struct Content {
  using PerRectangle = std::array<std::int64_t, kMaxRectangles + 1>;
  static constexpr std::size_t kMaxContacts = kMaxRectangles * (kMaxRectangles - 1) / 2;

  std::int64_t images = 0;
  PerRectangle visible_pixels{};  // by drawing order; [0] is the background
  PerRectangle rectangles_at{};   // by height
  PerRectangle highest{};         // images by the height of their highest rectangle
  PerRectangle pixels_at{};       // by height
  std::array<std::int64_t, kMaxContacts + 1> images_with_contacts{};
  std::vector<std::int64_t> height_at_pixel;  // [S, S], summed over images

  void operator+=(const Content& other);
};

// All members are counts, so that the result does not depend on the number of threads.
struct Census {
  RdeOptions options;
  std::int64_t draws = 0;          // attempts
  std::int64_t showing = 0;        // attempts with enough visible pixels (and a chain, if required)
  Verdicts without_rules;          // each image's first attempt that shows enough
  Verdicts distinct_lines;         // its first such attempt without two sides on one line
  std::int64_t disagreements = 0;  // the rule and the solver differ on what is decided
  Content kept;

  void operator+=(const Census& other);
};

// Counts over images 0 … count − 1 of `seed`.
Census take_census(const RdeOptions& options, std::uint64_t seed, std::int64_t count, int threads);

// True if the solver made no error on images with distinct lines and solved every kept image.
bool is_sound(const Census& census);

std::string text_of(const Census& census);

}  // namespace sing::lab::rde
