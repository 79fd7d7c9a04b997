// Checks JPEG decoding: crops against whole images, unusual color spaces, and files that are not
// complete JPEG files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/image/jpeg_decoder.hpp"
#include "sing/base/message.hpp"
#include "tests/lab/image/sample_images.hpp"

namespace sing::lab::image {
namespace {

using test::message_of;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Le;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

RgbImage decoded(const std::string& file) {
  JpegDecoder decoder;
  decoder.open(bytes_of(file), "x");
  RgbImage image;
  decoder.decode(image);
  return image;
}

// Quality 92 removes the noise of sample_image, and half-size colors remove some of the waves.
constexpr double kMeanDifference = 12;

TEST(Jpeg, DecodesWhatWasEncoded) {
  const RgbImage image = test::sample_image(75, 51);
  const RgbImage back = decoded(test::sample_jpeg(75, 51));
  ASSERT_EQ(back.width, 75);
  ASSERT_EQ(back.height, 51);
  double sum = 0;
  for (std::size_t i = 0; i < image.bytes.size(); ++i) {
    sum += std::abs(image.bytes[i] - back.bytes[i]);
  }
  EXPECT_LT(sum / static_cast<double>(image.bytes.size()), kMeanDifference);
}

// The decoded part equals that part of the whole image, at every scale, up to every edge.
TEST(Jpeg, APartIsThatPartOfTheWhole) {
  const std::string file = test::sample_jpeg(131, 97);
  JpegDecoder decoder;
  for (const int eighths : {1, 2, 4, 8}) {
    DecodedPart whole;
    decoder.open(bytes_of(file), "x");
    decoder.decode({0, 0, 131, 97}, eighths, whole);
    ASSERT_EQ(whole.image.width, (131 * eighths + 7) / 8);
    if (eighths == 8) {
      ASSERT_EQ(whole.image.bytes, decoded(file).bytes);
    }
    for (const Box box : {Box{0, 0, 20, 20}, Box{33, 17, 50, 41}, Box{16, 16, 16, 16},
                          Box{47, 1, 84, 96}, Box{130, 96, 1, 1}, Box{1, 95, 130, 2}}) {
      DecodedPart part;
      decoder.open(bytes_of(file), "x");
      decoder.decode(box, eighths, part);
      const int left = box.x * eighths / 8;
      const int right = std::min(whole.image.width, ((box.x + box.width) * eighths + 7) / 8);
      ASSERT_LE(part.left, left);
      ASSERT_GE(part.left + part.image.width, right);
      ASSERT_EQ(part.top, box.y * eighths / 8);
      ASSERT_EQ(part.top + part.image.height, ((box.y + box.height) * eighths + 7) / 8);
      for (int y = 0; y < part.image.height; ++y) {
        for (int i = 3 * left; i < 3 * right; ++i) {
          ASSERT_EQ(part.image.view().row(y)[i - 3 * part.left],
                    whole.image.view().row(part.top + y)[i])
              << eighths << "/8, box " << box.x << ", " << box.y << ", place " << i / 3 << ", "
              << part.top + y;
        }
      }
    }
  }
}

std::vector<std::uint8_t> noise(std::size_t size) {
  random::RandomStream random(3, 0, 0);
  std::vector<std::uint8_t> values(size);
  for (std::uint8_t& value : values) {
    value = static_cast<std::uint8_t>(random.below(256));
  }
  return values;
}

// Noise has the longest Huffman codes and blocks without an end code; at low qualities most blocks
// are empty.
TEST(Jpeg, APartOfEveryKindOfFileIsThatPartOfTheWhole) {
  const auto compare = [](const std::string& file, Box box) {
    const RgbImage whole = decoded(file);
    JpegDecoder decoder;
    decoder.open(bytes_of(file), "x");
    DecodedPart part;
    decoder.decode(box, 8, part);
    for (int y = 0; y < box.height; ++y) {
      for (int i = 3 * box.x; i < 3 * (box.x + box.width); ++i) {
        ASSERT_EQ(part.image.view().row(y)[i - 3 * part.left], whole.view().row(box.y + y)[i])
            << i / 3 << ", " << y;
      }
    }
  };
  const std::vector<std::uint8_t> smooth = test::sample_image(149, 83).bytes;
  for (const std::vector<std::uint8_t>& values : {smooth, noise(smooth.size())}) {
    for (const int quality : {1, 30, 75, 95, 100}) {
      for (const test::JpegKind kind :
           {test::JpegKind{quality}, test::JpegKind{quality, 2, 2},
            test::JpegKind{quality, 2, 1, true}, test::JpegKind{quality, 1, 2, true},
            test::JpegKind{quality, 2, 2, true, true},
            test::JpegKind{quality, 2, 2, false, false, 1}}) {
        SCOPED_TRACE(
            fmt::format("quality {}, {}{}", quality, kind.halved_across, kind.halved_down));
        const std::string file = test::jpeg_of_values(values, 149, 3, kind);
        compare(file, {0, 0, 149, 83});
        compare(file, {61, 39, 30, 20});
      }
      // There are 447 gray pixels per row; the header has sampling factors although there are no
      // color planes.
      compare(test::jpeg_of_values(values, 447, 1, {quality, 2, 2}), {200, 30, 50, 40});
    }
  }
}

// Returns a progressive file with its first scan repeated `count` times. Each repetition costs as
// much time as the scan itself.
std::string with_repeated_scan(const std::string& file, int count) {
  const std::size_t begin = file.find("\xFF\xDA");
  std::size_t end = begin + 2;  // a marker is 0xFF and a byte that is not 0
  while (file[end] != '\xFF' || file[end + 1] == '\0') {
    ++end;
  }
  std::string repeated = file.substr(0, end);
  for (int i = 0; i < count; ++i) {
    repeated += file.substr(begin, end - begin);
  }
  return repeated + file.substr(end);
}

TEST(Jpeg, FilesOfVeryManyScansAreRefused) {
  const std::vector<std::uint8_t> values = test::sample_image(64, 64).bytes;
  const std::string file = test::jpeg_of_values(values, 64, 3, {75, 1, 1, true, true});
  EXPECT_EQ(decoded(with_repeated_scan(file, 20)).width, 64);
  const std::string long_file = with_repeated_scan(file, 200);
  const auto open = [&](auto use) {
    return message_of<FileError>([&] {
      JpegDecoder decoder;
      decoder.open(bytes_of(long_file), "long.jpg");
      use(decoder);
    });
  };
  const std::string message = "[jpeg] 'long.jpg': wanted at most 100 scans, got more";
  EXPECT_EQ(open([](JpegDecoder& decoder) { decoder.check(); }), message);
  EXPECT_EQ(open([](JpegDecoder& decoder) {
              RgbImage image;
              decoder.decode(image);
            }),
            message);
  EXPECT_EQ(open([](JpegDecoder& decoder) {
              DecodedPart part;
              decoder.decode({8, 8, 16, 16}, 8, part);
            }),
            message);
}

// A file that lacks rows that a part needs is refused.
TEST(Jpeg, PartsOfTruncatedFilesAreRefused) {
  const std::string file = test::sample_jpeg(64, 64);
  JpegDecoder decoder;
  DecodedPart part;
  const auto decode_cut = [&](std::size_t length, Box box) {
    const std::string cut = file.substr(0, length);
    decoder.open(bytes_of(cut), "cut.jpg");
    decoder.decode(box, 8, part);
  };
  for (const std::size_t missing : {200U, 20U, 4U, 2U}) {
    EXPECT_THAT(message_of<FileError>([&] { decode_cut(file.size() - missing, {40, 50, 24, 14}); }),
                HasSubstr("[jpeg] 'cut.jpg': Premature end of JPEG file"))
        << missing;
  }
  EXPECT_NO_THROW(decode_cut(file.size() * 3 / 4, {40, 0, 24, 14}));
}

TEST(Jpeg, TheLeastScaleThatIsLargeEnough) {
  const std::string file = test::sample_jpeg(90, 90);
  JpegDecoder decoder;
  decoder.open(bytes_of(file), "x");
  EXPECT_EQ(decoder.enough_eighths({0, 0, 80, 90}, {10, 10}), 1);
  EXPECT_EQ(decoder.enough_eighths({0, 0, 79, 90}, {10, 10}), 2);
  EXPECT_EQ(decoder.enough_eighths({0, 0, 90, 20}, {10, 10}), 4);
  EXPECT_EQ(decoder.enough_eighths({0, 0, 90, 19}, {10, 10}), 8);
  EXPECT_EQ(decoder.enough_eighths({0, 0, 1, 1}, {10, 10}), 8);
}

TEST(Jpeg, GrayAndCmykBecomeRgb) {
  const RgbImage grey = decoded(test::grey_jpeg(20, 10));
  EXPECT_THAT(grey.bytes, ::testing::Each(90));
  // A light of 180 gives 180 − (255 − 200) · 180 / 255 and so on, with Pillow's rounding.
  const RgbImage inks = decoded(test::cmyk_jpeg(20, 10));
  EXPECT_EQ(inks.bytes[0], 180 - 39);
  EXPECT_EQ(inks.bytes[1], 180 - 95);
  EXPECT_EQ(inks.bytes[2], 180 - 138);
  const RgbImage pixel = decoded(test::sample_jpeg(1, 1));
  EXPECT_EQ(pixel.width * pixel.height, 1);
}

// Every truncated file is refused with its name, for every kind of request, and the decoder can
// continue with the next file.
TEST(Jpeg, TruncatedFilesAreRefused) {
  const std::string file = test::sample_jpeg(60, 40);
  JpegDecoder decoder;
  RgbImage image;
  for (std::size_t length = 0; length < file.size(); length += length < 700 ? 1 : 13) {
    const std::string cut = file.substr(0, length);
    EXPECT_THAT(message_of<FileError>([&] {
                  decoder.open(bytes_of(cut), "folder/cut.jpg");
                  decoder.check();
                }),
                HasSubstr("[jpeg] 'folder/cut.jpg': "))
        << length;
  }
  decoder.open(bytes_of(file), "whole");
  decoder.decode(image);
  EXPECT_EQ(image.width, 60);
}

// Changing any byte gives an image or FileError, never anything else.
TEST(Jpeg, DamagedFilesDecodeOrAreRefused) {
  for (const std::string& file :
       {test::sample_jpeg(60, 40), test::grey_jpeg(30, 30), test::cmyk_jpeg(30, 30)}) {
    JpegDecoder decoder;
    random::RandomStream random(7, file.size(), 0);
    int refused = 0;
    for (int trial = 0; trial < 1500; ++trial) {
      std::string damaged = file;
      const auto place = random.below(static_cast<std::uint32_t>(file.size()));
      damaged[place] = static_cast<char>(random.below(256));
      try {
        const ImageSize size = decoder.open(bytes_of(damaged), "x");
        DecodedPart part;
        if (size.width >= 8 && size.height >= 8 && size.width * size.height < 1'000'000) {
          decoder.decode({size.width / 4, size.height / 4, size.width / 2, size.height / 2},
                         trial % 2 == 0 ? 8 : 4, part);
        }
      } catch (const FileError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 50);
    EXPECT_LT(refused, 1450);
  }
}

TEST(Jpeg, OtherFilesAndHugeOnesAreRefused) {
  JpegDecoder decoder;
  EXPECT_THAT(message_of<FileError>([&] { decoder.open(bytes_of("GIF89a..."), "a.jpg"); }),
              HasSubstr("'a.jpg': Not a JPEG file"));
  EXPECT_THAT(message_of<FileError>([&] { decoder.open({}, "b.jpg"); }),
              HasSubstr("'b.jpg': wanted a JPEG file, got an empty one"));
  std::string huge = test::sample_jpeg(16, 16);
  const std::size_t frame = huge.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  huge.replace(frame + 5, 4, "\xEA\x60\xEA\x60");  // 60 000 × 60 000
  EXPECT_THAT(message_of<FileError>([&] { decoder.open(bytes_of(huge), "c.jpg"); }),
              HasSubstr("got 60000 × 60000"));
}

}  // namespace
}  // namespace sing::lab::image
