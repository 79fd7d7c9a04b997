// Checks the accuracy on predictions that are known to be right or wrong.
#include "tests/lab/rde/accuracy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "lab/rde/batch_filler.hpp"

namespace sing::lab::rde {
namespace {

// Has two images of six pixels with two rectangles of heights 1 and 2.
struct Batch {
  std::vector<std::uint8_t> rectangles = {0, 1, 1, 2, 2, 2, 2, 2, 0, 0, 1, 1};
  std::vector<float> targets = {0, 0.5F, 0.5F, 1, 1, 1, 1, 1, 0, 0, 0.5F, 0.5F};
  std::vector<float> predictions = targets;

  std::int64_t right() const {
    return count_right_images({.predictions = predictions.data(),
                               .targets = targets.data(),
                               .rectangles = rectangles.data(),
                               .images = 2,
                               .pixels = 6,
                               .count = 2});
  }
};

TEST(RdeAccuracy, TheTargetIsRight) { EXPECT_EQ(Batch().right(), 2); }

TEST(RdeAccuracy, OneWrongRectangleSpoilsItsImageAlone) {
  Batch batch;
  batch.predictions[1] = batch.predictions[2] = 1;
  EXPECT_EQ(batch.right(), 1);
}

// Half a level is 1/4 here.
TEST(RdeAccuracy, UpToHalfALevelIsRight) {
  Batch batch;
  batch.predictions[10] = batch.predictions[11] = 0.749F;
  EXPECT_EQ(batch.right(), 2);
  batch.predictions[10] = batch.predictions[11] = 0.251F;
  EXPECT_EQ(batch.right(), 2);
  batch.predictions[10] = batch.predictions[11] = 0.75F;
  EXPECT_EQ(batch.right(), 1);
  batch.predictions[10] = batch.predictions[11] = 0.25F;
  EXPECT_EQ(batch.right(), 1);
}

TEST(RdeAccuracy, TheMeanCountsNotThePixels) {
  Batch batch;
  batch.predictions[3] = 4;
  batch.predictions[4] = -2;
  EXPECT_EQ(batch.right(), 2);
  batch.predictions[3] = 1.75F;  // mean 0.25 of 1.75, −2 and 1
  EXPECT_EQ(batch.right(), 1);
}

TEST(RdeAccuracy, LevelsAboveTheHighestDoNotRoundDown) {
  Batch batch;
  batch.predictions[6] = batch.predictions[7] = 1.3F;
  EXPECT_EQ(batch.right(), 1);
}

TEST(RdeAccuracy, TheBackgroundIsNotJudged) {
  Batch batch;
  batch.predictions[0] = 100;
  batch.predictions[8] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(batch.right(), 2);
}

TEST(RdeAccuracy, NanIsNotRight) {
  Batch batch;
  batch.predictions[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(batch.right(), 1);
  batch.predictions[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(batch.right(), 1);
}

// Targets such as thirds are rounded to float: their levels must still be found.
TEST(RdeAccuracy, KnowsTheLevelsOfEveryCount) {
  for (const int count : {1, 3, 5, 7}) {
    constexpr std::size_t kImages = 20;
    const RdeOptions options{
        .rectangles = count, .min_side = 20, .max_side = 80, .min_visible = 30};
    BatchFiller filler(options, 2, 1);
    std::vector<std::uint64_t> indices(kImages);
    std::iota(indices.begin(), indices.end(), std::uint64_t{0});
    std::vector<float> targets(kImages * 128 * 128);
    std::vector<std::uint8_t> rectangles(kImages * 128 * 128);
    filler.fill(indices, {.targets = targets.data(), .rectangles = rectangles.data()});
    const auto right_with_shift = [&](float levels) {
      std::vector<float> predictions = targets;
      for (float& prediction : predictions) {
        prediction += levels / static_cast<float>(count);
      }
      return count_right_images({.predictions = predictions.data(),
                                 .targets = targets.data(),
                                 .rectangles = rectangles.data(),
                                 .images = kImages,
                                 .pixels = 128 * 128,
                                 .count = count});
    };
    EXPECT_EQ(right_with_shift(0.49F), 20) << count;
    EXPECT_EQ(right_with_shift(-0.49F), 20) << count;
    EXPECT_EQ(right_with_shift(0.51F), 0) << count;
    EXPECT_EQ(right_with_shift(-0.51F), 0) << count;
  }
}

}  // namespace
}  // namespace sing::lab::rde
