// Arranges the tiles of predictions in a picture.
#include "lab/rde/prediction_picture.hpp"

#include <cmath>
#include <cstddef>

#include "lab/picture/color_map.hpp"
#include "lab/picture/png.hpp"

namespace sing::lab::rde {
namespace {

constexpr int kColumns = 2;
constexpr int kTiles = 4;
constexpr int kGap = 4;
constexpr int kMargin = 12;
constexpr double kWhiteError = 0.5;

}  // namespace

void write_prediction_picture(const std::filesystem::path& path, const PredictionImages& batch) {
  const int size = batch.size;
  const int columns = batch.count < kColumns ? batch.count : kColumns;
  const int rows = (batch.count + kColumns - 1) / kColumns;
  const int width = kTiles * size + (kTiles - 1) * kGap;
  picture::Picture picture(kMargin + columns * (width + kMargin), kMargin + rows * (size + kMargin),
                           {255, 255, 255});
  std::size_t pixel = 0;
  for (int number = 0; number < batch.count; ++number) {
    const int left = kMargin + number % kColumns * (width + kMargin);
    const int top = kMargin + number / kColumns * (size + kMargin);
    for (int y = top; y < top + size; ++y) {
      for (int x = left; x < left + size; ++x, ++pixel) {
        const auto target = static_cast<double>(batch.targets[pixel]);
        const auto prediction = static_cast<double>(batch.predictions[pixel]);
        const int step = size + kGap;
        picture.set(x, y, picture::grey_color(static_cast<double>(batch.images[pixel])));
        picture.set(x + step, y, picture::scale_color(target));
        picture.set(x + 2 * step, y, picture::scale_color(prediction));
        picture.set(x + 3 * step, y,
                    picture::grey_color(std::abs(prediction - target) / kWhiteError));
      }
    }
  }
  picture::write_png(path, picture);
}

}  // namespace sing::lab::rde
