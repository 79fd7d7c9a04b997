// Draws RDE images: input, target and rectangles side by side.
#pragma once

#include <cstdint>
#include <span>

#include "lab/picture/picture.hpp"
#include "lab/rde/options.hpp"

namespace sing::lab::rde {

// Caption of the three panels of each image.
inline constexpr const char* kPreviewLegend =
    "each image as input in gray, target from violet (0) to yellow (1), and rectangles, each in "
    "its own color";

// Draws two images per row.
picture::Picture preview(const RdeOptions& options, std::uint64_t seed,
                         std::span<const std::uint64_t> indices);

}  // namespace sing::lab::rde
