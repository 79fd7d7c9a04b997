// Checks the resizer by hand-computed sums and by properties; tests/lab/image/torchvision_test.py
// compares its bytes with Pillow's.
#include "lab/image/resize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lab/image/sample_images.hpp"

namespace sing::lab::image {
namespace {

std::vector<std::uint8_t> resized(const RgbImage& image, ImageSize size, bool mirrored = false,
                                  const Window* window = nullptr) {
  const Window whole{0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
  std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * size.width * size.height));
  Resizer().resize(image.view(), window != nullptr ? *window : whole, size, mirrored, out.data());
  return out;
}

TEST(Resizer, TheSameSizeIsTheSameImage) {
  const RgbImage image = test::sample_image(37, 23);
  EXPECT_EQ(resized(image, {37, 23}), image.bytes);
}

// From 4 to 2 the triangle spans two pixels to each side: the weights are 3, 3, 1 and 1, 3, 3, each
// divided by 7.
TEST(Resizer, ShrinkingWeighsATriangle) {
  RgbImage row;
  row.set_size(4, 1);
  row.bytes = {10, 0, 7, 50, 0, 7, 90, 255, 7, 200, 255, 7};
  const std::vector<std::uint8_t> wanted = {(3 * 10 + 3 * 50 + 90 + 3) / 7,
                                            (255 + 3) / 7,
                                            7,  //
                                            (50 + 3 * 90 + 3 * 200 + 3) / 7,
                                            (6 * 255 + 3) / 7,
                                            7};
  EXPECT_EQ(resized(row, {2, 1}), wanted);
  RgbImage column = row;
  column.width = 1;
  column.height = 4;
  EXPECT_EQ(resized(column, {1, 2}), wanted);
}

TEST(Resizer, GrowingInterpolates) {
  RgbImage pair;
  pair.set_size(2, 1);
  pair.bytes = {0, 100, 8, 200, 100, 16};
  EXPECT_EQ(resized(pair, {4, 1}),
            (std::vector<std::uint8_t>{0, 100, 8, 50, 100, 10, 150, 100, 14, 200, 100, 16}));
}

TEST(Resizer, MirroringReversesEachRow) {
  const RgbImage image = test::sample_image(31, 20);
  const auto plain = resized(image, {12, 9});
  const auto mirrored = resized(image, {12, 9}, true);
  for (std::size_t y = 0; y < 9; ++y) {
    for (std::size_t x = 0; x < 12; ++x) {
      for (std::size_t color = 0; color < 3; ++color) {
        ASSERT_EQ(mirrored[3 * (12 * y + x) + color], plain[3 * (12 * y + 11 - x) + color]);
      }
    }
  }
}

TEST(Resizer, AWindowShowsThatPartOnly) {
  RgbImage image = test::sample_image(20, 20);
  const Window window{5, 6, 15, 18};
  const auto before = resized(image, {10, 12}, false, &window);
  for (int x = 0; x < 20; ++x) {  // a row that the window does not touch
    image.bytes[static_cast<std::size_t>(3 * (20 * 3 + x))] ^= 0xFF;
  }
  EXPECT_EQ(resized(image, {10, 12}, false, &window), before);
  EXPECT_EQ(before[0], image.bytes[3 * (20 * 6 + 5)]);
}

}  // namespace
}  // namespace sing::lab::image
