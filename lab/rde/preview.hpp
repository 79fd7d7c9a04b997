// Draws RDE images: input, target and rectangles side by side.
#pragma once

#include <cstdint>
#include <span>

#include "lab/picture/picture.hpp"
#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Draws two images per row, each as the input in gray, the target from violet (0) to yellow (1),
// and the rectangles in distinct colors.
picture::Picture preview(const RdeOptions& options, std::uint64_t seed,
                         std::span<const std::uint64_t> indices);

}  // namespace sing::lab::rde
