// Checks decoded PNG images against the pixels that libpng was given, and PNG files in folders.
#include "lab/image/png_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include "lab/image/crop_loader.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/pack_writer.hpp"
#include "sing/base/error.hpp"
#include "tests/lab/image/sample_images.hpp"

namespace sing::lab::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Encodes pixels of a format of libpng's simplified interface.
std::string png_of(png_uint_32 format, int width, int height,
                   const std::vector<std::uint8_t>& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr), 0)
      << image.message;
  bytes.resize(size);
  return bytes;
}

std::string sample_png(int width, int height, std::uint64_t seed) {
  return png_of(PNG_FORMAT_RGB, width, height, test::sample_image(width, height, seed).bytes);
}

RgbImage decoded(const std::string& bytes) {
  RgbImage image;
  const ImageSize size = decode_png(std::as_bytes(std::span(bytes)), "x.png", image);
  EXPECT_EQ(size, (ImageSize{image.width, image.height}));
  return image;
}

TEST(PngDecoder, KeepsEveryPixel) {
  const RgbImage wanted = test::sample_image(37, 21);
  const RgbImage found = decoded(png_of(PNG_FORMAT_RGB, 37, 21, wanted.bytes));
  EXPECT_EQ(found.width, 37);
  EXPECT_EQ(found.height, 21);
  EXPECT_EQ(found.bytes, wanted.bytes);
}

TEST(PngDecoder, GrayBecomesThreeColorsAndAlphaIsDropped) {
  EXPECT_THAT(decoded(png_of(PNG_FORMAT_GRAY, 2, 1, {10, 200})).bytes,
              ElementsAre(10, 10, 10, 200, 200, 200));
  EXPECT_THAT(decoded(png_of(PNG_FORMAT_RGBA, 2, 1, {1, 2, 3, 128, 4, 5, 6, 255})).bytes,
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(PngDecoder, DamagedFilesAreNamed) {
  const std::string whole = sample_png(40, 30, 1);
  EXPECT_THAT(test::message_of<FileError>([&] { decoded(whole.substr(0, whole.size() / 2)); }),
              HasSubstr("[png] 'x.png': "));
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 0x10);
  EXPECT_THAT(test::message_of<FileError>([&] { decoded(flipped); }), HasSubstr("[png] 'x.png': "));
}

TEST(PngDecoder, IsPngLooksAtTheBytes) {
  const std::string png = sample_png(3, 3, 1);
  EXPECT_TRUE(is_png(std::as_bytes(std::span(png))));
  EXPECT_FALSE(is_png(std::as_bytes(std::span(png)).first(7)));
  const std::string jpeg = test::sample_jpeg(3, 3);
  EXPECT_FALSE(is_png(std::as_bytes(std::span(jpeg))));
}

// A folder of PNG files; one has the name of a JPEG file.
void put_png_folder(const std::filesystem::path& root) {
  test::put_file(root / "train/cat/a.png", sample_png(60, 40, 1));
  test::put_file(root / "train/dog/b.jpg", sample_png(50, 70, 2));
  test::put_file(root / "val/cat/c.png", sample_png(48, 48, 3));
  test::put_file(root / "val/dog/d.jpg", test::sample_jpeg(48, 48, 4));
}

TEST(PngFolder, IsCheckedAndCroppedByContent) {
  const test::TemporaryFolder folder;
  put_png_folder(folder.path());
  ImageFolder listed = list_image_folder(folder.path());
  EXPECT_THAT(drop_bad_images(listed, BadImages::kSkip, 2), SizeIs(0));
  const auto source = make_folder_source(listed);
  const std::vector<std::uint64_t> first = {0};
  std::vector<std::uint8_t> pixels(3 * 48 * 48);
  // The test crop of a square image with test_share 1 is the image.
  CropLoader(*source, 1)
      .load(first, CropRule{.subset = Split::kTest, .test_share = 1}, 48, pixels.data(),
            [](std::size_t, std::uint64_t) {});
  EXPECT_EQ(pixels, test::sample_image(48, 48, 3).bytes);
}

TEST(PngFolder, CutFilesAreBad) {
  const test::TemporaryFolder folder;
  put_png_folder(folder.path());
  test::put_file(folder / "train/cat/cut.png", sample_png(60, 40, 5).substr(0, 900));
  ImageFolder listed = list_image_folder(folder.path());
  const std::vector<std::string> wrong = drop_bad_images(listed, BadImages::kSkip, 2);
  ASSERT_THAT(wrong, SizeIs(1));
  EXPECT_THAT(wrong[0], HasSubstr("train/cat/cut.png"));
}

TEST(PngFolder, IsPackedAsPixelsOrAsJpeg) {
  const test::TemporaryFolder folder;
  put_png_folder(folder / "images");
  const ImageFolder listed = list_image_folder(folder / "images");
  write_pack(listed, {.format = Encoding::kRaw, .longest_side = 0}, 1, folder / "raw");
  std::vector<std::byte> buffer;
  const auto raw = open_pack(folder / "raw");
  const StoredImage stored = raw->fetch(Split::kTraining, 0, buffer);
  const RgbImage wanted = test::sample_image(60, 40, 1);
  EXPECT_TRUE(std::ranges::equal(stored.bytes, std::as_bytes(std::span(wanted.bytes))));
  write_pack(listed, {}, 1, folder / "jpeg");
  const auto jpeg = open_pack(folder / "jpeg");
  JpegDecoder decoder;
  EXPECT_EQ(decoder.open(jpeg->fetch(Split::kTraining, 0, buffer).bytes, "x"), (ImageSize{60, 40}));
}

}  // namespace
}  // namespace sing::lab::image
