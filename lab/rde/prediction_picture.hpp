// Draws a network's predictions for RDE images: input, target, prediction and error side by side.
#pragma once

#include <filesystem>

namespace sing::lab::rde {

// `count` images of size × size pixels, one after another.
struct PredictionImages {
  const float* images = nullptr;
  const float* targets = nullptr;
  const float* predictions = nullptr;
  int count = 0;
  int size = 0;
};

// Draws two images per row. Target and prediction range from violet (0) to yellow (1), the absolute
// error from black (0) to white (0.5 and more). Throws FileError.
void write_prediction_picture(const std::filesystem::path& path, const PredictionImages& batch);

}  // namespace sing::lab::rde
