// Shows what a network makes of RDE images: input, target, prediction and error side by side.
#pragma once

#include <filesystem>

namespace sing::lab::rde {

// `count` images of size × size pixels, one after the other.
struct PredictionImages {
  const float* images = nullptr;
  const float* targets = nullptr;
  const float* predictions = nullptr;
  int count = 0;
  int size = 0;
};

// Two images a row. Target and prediction from violet (0) to yellow (1), the size of the error from
// black (0) to white (0.5 and more). Throws FileError.
void write_prediction_picture(const std::filesystem::path& path, const PredictionImages& batch);

}  // namespace sing::lab::rde
