// Checks that validation images are training images, and never both.
#include "lab/image/hold_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lab/image/image_sources.hpp"
#include "tests/lab/image/sample_images.hpp"

namespace sing::lab::image {
namespace {

using ::testing::HasSubstr;

TEST(HoldOut, IsATenthAndTheRestIsKept) {
  const HoldOut split = hold_out(1005);
  EXPECT_EQ(split.held.size(), 100U);
  std::vector<std::uint64_t> all = split.kept;
  all.insert(all.end(), split.held.begin(), split.held.end());
  std::sort(all.begin(), all.end());
  std::vector<std::uint64_t> wanted(1005);
  std::iota(wanted.begin(), wanted.end(), std::uint64_t{0});
  EXPECT_EQ(all, wanted);
  EXPECT_EQ(hold_out(1005).held, split.held);
  // Files come class by class, so the held-out images must not be neighbors: each of ten parts of
  // the set has some of them.
  for (std::uint64_t part = 0; part < 10; ++part) {
    EXPECT_TRUE(std::any_of(split.held.begin(), split.held.end(), [&](std::uint64_t place) {
      return place * 10 / 1005 == part;
    })) << part;
  }
  EXPECT_EQ(hold_out(2).held.size(), 1U);
  EXPECT_THAT(test::message_of<std::invalid_argument>([] { hold_out(1); }),
              HasSubstr("wanted at least 2 training images"));
}

TEST(HoldOut, OfASmallSetMovesPixelsWithTheirLabels) {
  SmallSet set{.shape = {.channels = 1, .size = 2, .classes = 50}};
  for (std::uint8_t image = 0; image < 50; ++image) {
    set.subsets[0].pixels.insert(set.subsets[0].pixels.end(), 4, image);
    set.subsets[0].labels.push_back(image);
  }
  set.subsets[1] = {.pixels = {200, 200, 200, 200}, .labels = {0}};
  const SmallSet split = with_validation(set);
  EXPECT_EQ(split.subsets[0].count(), 45);
  EXPECT_EQ(split.subsets[1].count(), 5);
  std::vector<std::uint8_t> seen;
  for (const SmallSubset& subset : split.subsets) {
    for (std::size_t image = 0; image < subset.labels.size(); ++image) {
      seen.push_back(subset.labels[image]);
      for (std::size_t pixel = 0; pixel < 4; ++pixel) {
        EXPECT_EQ(subset.pixels[4 * image + pixel], subset.labels[image]);
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, set.subsets[0].labels);
}

TEST(HoldOut, OfAFolderShowsTrainingImagesOnly) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  const auto whole = make_folder_source(list_image_folder(folder.path()));
  const auto split = make_held_out_source(make_folder_source(list_image_folder(folder.path())));
  EXPECT_EQ(split->digest(), whole->digest());
  EXPECT_EQ(split->classes(), whole->classes());
  std::vector<std::string> names;
  for (const Split subset : {Split::kTraining, Split::kTest}) {
    EXPECT_EQ(split->count(subset), subset == Split::kTest ? 1U : 9U);
    for (std::size_t index = 0; index < split->count(subset); ++index) {
      const std::string name = split->name(subset, index);
      names.push_back(name);
      EXPECT_EQ(split->label(subset, index), name.starts_with("train/cat/") ? 0U : 1U);
      std::vector<std::byte> buffer;
      EXPECT_EQ(split->fetch(subset, index, buffer).bytes.size(),
                std::filesystem::file_size(folder / name));
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> wanted;
  for (std::size_t index = 0; index < 10; ++index) {
    wanted.push_back(whole->name(Split::kTraining, index));
  }
  EXPECT_EQ(names, wanted);
}

}  // namespace
}  // namespace sing::lab::image
