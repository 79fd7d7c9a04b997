// Checks the images against a second implementation of the definition, and the distribution of the
// draws.
#include "lab/rde/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "lab/rde/epochs.hpp"
#include "lab/rde/render.hpp"
#include "tests/lab/rde/brute_force.hpp"
#include "tests/lab/rde/variants.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::rde {
namespace {

using sing::test::message_of;
using ::testing::HasSubstr;

class EveryVariant : public ::testing::TestWithParam<test::Variant> {};

INSTANTIATE_TEST_SUITE_P(Rde, EveryVariant, ::testing::ValuesIn(test::variants()),
                         [](const auto& variant) { return variant.param.name; });

// The generator returns the first attempt that satisfies the rules: it accepts none that breaks a
// rule and skips none that satisfies them.
TEST_P(EveryVariant, IsTheFirstAttemptThatBruteForceAccepts) {
  const RdeOptions& options = GetParam().options;
  for (std::uint64_t index = 0; index < 60; ++index) {
    Scene expected;
    for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
      expected = draw_rectangles(options, 5, index, attempt);
      if (test::keeps_every_rule(expected, options)) {
        break;
      }
    }
    EXPECT_EQ(make_scene(options, 5, index).rectangles, expected.rectangles) << index;
  }
}

TEST_P(EveryVariant, PixelsAndHeightsAgreeWithBruteForce) {
  const RdeOptions& options = GetParam().options;
  const auto size = static_cast<std::size_t>(options.image_size);
  std::vector<float> image(size * size);
  std::vector<float> target(size * size);
  std::vector<std::uint8_t> rectangle(size * size);
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Scene scene = make_scene(options, 6, index);
    render(scene, {.image = image.data(), .target = target.data(), .rectangle = rectangle.data()});
    const test::Pixels pixels = test::paint(scene);
    const test::Pairs touching = test::contacts(pixels);
    std::vector<int> heights = {0};
    for (int k = 1; k <= scene.count; ++k) {
      heights.push_back(test::height(k, touching));
      if (options.labels == Labels::kChain) {
        EXPECT_EQ(heights.back(), k);
      }
    }
    for (std::size_t y = 0; y < size; ++y) {
      for (std::size_t x = 0; x < size; ++x) {
        const auto k = static_cast<std::size_t>(pixels[y][x]);
        ASSERT_EQ(rectangle[y * size + x], k) << index << ": " << x << ", " << y;
        ASSERT_EQ(image[y * size + x], scene.greys[k]);
        ASSERT_EQ(target[y * size + x],
                  static_cast<float>(heights[k]) / static_cast<float>(options.rectangles));
      }
    }
  }
}

TEST_P(EveryVariant, RectanglesLieInsideAndGrayLevelsApart) {
  const RdeOptions& options = GetParam().options;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const Scene scene = make_scene(options, 7, index);
    EXPECT_EQ(scene.greys[0], 0.0F);
    for (std::size_t k = 1; k <= static_cast<std::size_t>(scene.count); ++k) {
      const Rectangle& r = scene.rectangles[k];
      for (const int side : {r.right - r.left, r.bottom - r.top}) {
        EXPECT_GE(side, options.min_side);
        EXPECT_LE(side, options.max_side);
      }
      EXPECT_GE(std::min(r.left, r.top), 0);
      EXPECT_LE(std::max(r.right, r.bottom), options.image_size);
      EXPECT_GE(scene.greys[k], 0.2F);
      EXPECT_LE(scene.greys[k], 1.0F);
      for (std::size_t other = 1; other < k; ++other) {
        EXPECT_GE(std::abs(scene.greys[k] - scene.greys[other]), 0.03F);
      }
    }
  }
}

// Returns Pearson's statistic of `counts` against equal shares, in standard deviations from its
// mean.
double excess_over_uniform(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) {
    total += count;
  }
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (const int count : counts) {
    statistic += (count - expected) * (count - expected) / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(Rde, SidesAndPlacesAreDrawnUniformly) {
  constexpr double kMost = 5;  // standard deviations
  const RdeOptions options;
  std::vector<int> sides(65, 0);
  std::vector<int> places(20, 0);
  for (std::uint64_t index = 0; index < 20'000; ++index) {
    const Scene scene = draw_rectangles(options, 8, index, 0);
    for (std::size_t k = 1; k <= 4; ++k) {
      const Rectangle& r = scene.rectangles[k];
      ++sides[static_cast<std::size_t>(r.right - r.left - 32)];
      ++sides[static_cast<std::size_t>(r.bottom - r.top - 32)];
      // For widths whose number of positions is a multiple of 20, counts the position's twentieth.
      if (const int free = 128 - (r.right - r.left) + 1; free % 20 == 0) {
        ++places[static_cast<std::size_t>(r.left * 20 / free)];
      }
      if (const int free = 128 - (r.bottom - r.top) + 1; free % 20 == 0) {
        ++places[static_cast<std::size_t>(r.top * 20 / free)];
      }
    }
  }
  EXPECT_LT(excess_over_uniform(sides), kMost);
  EXPECT_LT(excess_over_uniform(places), kMost);
}

// A gray level does not reveal a rectangle's place in the order: each one is the darkest equally
// often.
TEST(Rde, GrayLevelsDoNotRevealTheOrder) {
  std::vector<int> darkest(4, 0);
  for (std::uint64_t index = 0; index < 8000; ++index) {
    const Scene scene = make_scene({}, 9, index);
    const auto* const least = std::min_element(scene.greys.begin() + 1, scene.greys.begin() + 5);
    ++darkest[static_cast<std::size_t>(least - scene.greys.begin() - 1)];
  }
  EXPECT_LT(excess_over_uniform(darkest), 5);
}

TEST(Rde, SeedsAndIndicesGiveDifferentImages) {
  std::set<std::array<int, 4>> seen;
  for (std::uint64_t index = 0; index < 50; ++index) {
    for (const std::uint64_t seed : {1U, 2U}) {
      for (const std::uint64_t split : {std::uint64_t{0}, kTestImages}) {
        const Rectangle r = make_scene({}, seed, index + split).rectangles[4];
        seen.insert({r.left, r.top, r.right, r.bottom});
      }
    }
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST(Rde, RefusesOptionsThatCannotBe) {
  const auto message = [](const RdeOptions& options) {
    return message_of<std::invalid_argument>([&] { check(options); });
  };
  EXPECT_THAT(message({.rectangles = 17}), HasSubstr("wanted rectangles in [1, 16], got 17"));
  EXPECT_THAT(message({.min_side = 97}), HasSubstr("got 97, 96, 128"));
  EXPECT_THAT(message({.max_side = 129}), HasSubstr("got 32, 129, 128"));
  EXPECT_THAT(message({.min_visible = 9217}), HasSubstr("at most max_side * max_side = 9216"));
}

TEST(Rde, SaysWhenNoImageIsFound) {
  const RdeOptions options{
      .rectangles = 5, .image_size = 4, .min_side = 1, .max_side = 4, .min_visible = 1};
  check(options);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { make_scene(options, 0, 0); }),
              HasSubstr("got none in 1048576 attempts"));
}

TEST(RdeEpochs, NewImagesEveryEpochAndOthersForTestAndValidation) {
  const SetOptions options{.train_count = 100, .test_count = 30};
  std::set<std::uint64_t> seen;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const std::uint64_t index : training_indices(options, 1, epoch)) {
      seen.insert(index);
    }
  }
  for (const auto set : {data::EvaluationSet::kTest, data::EvaluationSet::kValidation}) {
    for (const std::uint64_t index : evaluation_indices(options, set)) {
      seen.insert(index);
    }
  }
  EXPECT_EQ(seen.size(), 360U);
}

TEST(RdeEpochs, AFixedSetIsShuffledAnewEveryEpoch) {
  const SetOptions options{.fixed = true, .train_count = 1000};
  const auto first = training_indices(options, 1, 0);
  const auto second = training_indices(options, 1, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, training_indices(options, 1, 0));
  EXPECT_NE(first, training_indices(options, 2, 0));
  EXPECT_EQ(std::set<std::uint64_t>(first.begin(), first.end()),
            std::set<std::uint64_t>(second.begin(), second.end()));
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), 999U);
  int in_place = 0;
  for (std::size_t place = 0; place < first.size(); ++place) {
    in_place += first[place] == place ? 1 : 0;
  }
  EXPECT_LT(in_place, 10);  // a random order is expected to give 1
}

}  // namespace
}  // namespace sing::lab::rde
