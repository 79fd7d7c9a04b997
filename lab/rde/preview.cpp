// Arranges the tiles of a preview in a picture.
#include "lab/rde/preview.hpp"

#include <cstddef>
#include <vector>

#include "lab/picture/color_map.hpp"
#include "lab/rde/generator.hpp"
#include "lab/rde/render.hpp"

namespace sing::lab::rde {
namespace {

constexpr int kPreviewColumns = 2;
constexpr int kPreviewTiles = 3;
constexpr int kPreviewGap = 4;      // pixels between the tiles of an image
constexpr int kPreviewMargin = 12;  // pixels around and between images

}  // namespace

picture::Picture preview(const RdeOptions& options, std::uint64_t seed,
                         std::span<const std::uint64_t> indices) {
  check(options);
  const int size = static_cast<int>(options.image_size);
  const auto pixels = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<float> image(pixels);
  std::vector<float> target(pixels);
  std::vector<std::uint8_t> rectangle(pixels);

  const int count = static_cast<int>(indices.size());
  const int columns = count < kPreviewColumns ? count : kPreviewColumns;
  const int rows = (count + kPreviewColumns - 1) / kPreviewColumns;
  const int image_width = kPreviewTiles * size + (kPreviewTiles - 1) * kPreviewGap;
  picture::Picture picture(kPreviewMargin + columns * (image_width + kPreviewMargin),
                           kPreviewMargin + rows * (size + kPreviewMargin), {255, 255, 255});
  for (int number = 0; number < count; ++number) {
    const Scene scene = make_scene(options, seed, indices[static_cast<std::size_t>(number)]);
    render(scene, {.image = image.data(), .target = target.data(), .rectangle = rectangle.data()});
    const int left = kPreviewMargin + number % kPreviewColumns * (image_width + kPreviewMargin);
    const int top = kPreviewMargin + number / kPreviewColumns * (size + kPreviewMargin);
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const auto pixel = static_cast<std::size_t>(y * size + x);
        picture.set(left + x, top + y, picture::grey_color(static_cast<double>(image[pixel])));
        picture.set(left + x + size + kPreviewGap, top + y,
                    picture::scale_color(static_cast<double>(target[pixel])));
        picture.set(left + x + 2 * (size + kPreviewGap), top + y,
                    picture::distinct_color(rectangle[pixel]));
      }
    }
  }
  return picture;
}

}  // namespace sing::lab::rde
