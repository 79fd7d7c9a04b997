// Checks PNG files by reading them back, and the colors in them.
#include "lab/picture/png.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lab/picture/color_map.hpp"
#include "sing/base/error.hpp"
#include "tests/support/read_png.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::picture {
namespace {

using test::message_of;
using test::read_png;
using ::testing::HasSubstr;

TEST(Png, ReadsBackWhatWasWritten) {
  const test::TemporaryFolder folder;
  Picture picture(7, 5, {1, 2, 3});
  picture.set(6, 4, {255, 0, 9});
  picture.set(0, 1, {8, 128, 255});
  write_png(folder / "picture.png", picture);
  const Picture read = read_png(folder / "picture.png");
  EXPECT_EQ(read.width(), 7);
  EXPECT_EQ(read.height(), 5);
  EXPECT_EQ(read.bytes(), picture.bytes());
  const auto last = read.bytes().end() - 3;
  EXPECT_EQ(std::vector(last, last + 3), (std::vector<std::uint8_t>{255, 0, 9}));
}

TEST(Png, SaysWhichFileCannotBeWritten) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(message_of<FileError>([&] { write_png(folder / "no/x.png", Picture(1, 1, {})); }),
              HasSubstr("no/x.png"));
  EXPECT_THAT(message_of<FileError>([&] { write_png(folder / "empty.png", Picture(0, 0, {})); }),
              HasSubstr("empty.png"));
}

TEST(ColorMap, ScaleRisesFromVioletToYellow) {
  EXPECT_EQ(scale_color(0), (Color{68, 1, 84}));
  EXPECT_EQ(scale_color(1), (Color{253, 231, 37}));
  EXPECT_EQ(scale_color(-3), scale_color(0));
  EXPECT_EQ(scale_color(7), scale_color(1));
  for (int step = 0; step < 100; ++step) {
    EXPECT_LE(scale_color(step / 100.0)[1], scale_color((step + 1) / 100.0)[1]);
  }
}

TEST(ColorMap, ThingsHaveColorsOfTheirOwn) {
  std::set<Color> seen;
  for (std::size_t thing = 0; thing <= 16; ++thing) {
    seen.insert(distinct_color(thing));
  }
  EXPECT_EQ(seen.size(), 17U);
}

}  // namespace
}  // namespace sing::lab::picture
