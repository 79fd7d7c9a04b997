// Checks the solver on hand-drawn images, and against the drawing order on many images.
#include "lab/rde/solver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lab/rde/census.hpp"
#include "lab/rde/generator.hpp"
#include "lab/rde/render.hpp"
#include "tests/lab/rde/variants.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::rde {
namespace {

using ::testing::HasSubstr;

// Returns a square drawn with letters; '.' is the background.
std::vector<float> image_of(const std::vector<std::string>& rows) {
  std::vector<float> image;
  for (const std::string& row : rows) {
    for (const char letter : row) {
      image.push_back(letter == '.' ? 0.0F : static_cast<float>(letter - 'a' + 1) / 32);
    }
  }
  return image;
}

// Returns the height of each letter; empty: undecided.
std::map<char, int> heights_of(const std::vector<std::string>& rows) {
  const std::vector<float> image = image_of(rows);
  const Solution solution = solve(image.data(), static_cast<int>(rows.size()));
  std::map<char, int> heights;
  for (std::size_t region = 1;
       solution.decided && region <= static_cast<std::size_t>(solution.regions); ++region) {
    heights[static_cast<char>('a' - 1 + solution.greys[region] * 32)] = solution.heights[region];
  }
  return heights;
}

using Heights = std::map<char, int>;

TEST(RdeSolver, ACornerLiesOverWhatItCutsInto) {
  EXPECT_EQ(heights_of({"aaaa", "abba", "abba", "aaaa"}), (Heights{{'a', 1}, {'b', 2}}));
}

TEST(RdeSolver, AStraightLinePastATeeBelongsToTheUpper) {
  EXPECT_EQ(heights_of({".bb.", "abb.", "abb.", ".bb."}), (Heights{{'a', 1}, {'b', 2}}));
}

TEST(RdeSolver, SeparateRectanglesLieOnTheGround) {
  EXPECT_EQ(heights_of({"aa..", "aa..", "...b", "...b"}), (Heights{{'a', 1}, {'b', 1}}));
}

TEST(RdeSolver, PiecesOfOneGrayLevelAreOneRectangle) {
  EXPECT_EQ(heights_of({".....", "aabaa", "aabaa", "..b..", "....."}),
            (Heights{{'a', 1}, {'b', 2}}));
}

TEST(RdeSolver, HeightIsTheLongestWayDown) {
  // d lies over a, b and c; c lies over a and b; b lies over a.
  EXPECT_EQ(heights_of({"aaaaaa....", "abbbbbb...", "abbbccccc.", "abbbccccc.", "abddddddc.",
                        "aaddddddc.", "..ddddddc.", "..ddddddc.", "..dddddd..", ".........."}),
            (Heights{{'a', 1}, {'b', 2}, {'c', 3}, {'d', 4}}));
}

// A boundary from border to border does not show which rectangle lies over the other.
TEST(RdeSolver, ABoundaryFromBorderToBorderIsUndecided) {
  EXPECT_EQ(heights_of({"aabb", "aabb", "aabb", "aabb"}), Heights{});
}

// Both ends of the boundary between a and b are covered by another rectangle or the border.
TEST(RdeSolver, ABoundaryThatEndsUnderOthersIsUndecided) {
  EXPECT_EQ(heights_of({".aabb.", ".aabb.", ".aabb.", "cccccc", "cccccc", "......"}), Heights{});
}

// The corner at the top shows b over a, the T at the bottom shows a over b.
TEST(RdeSolver, ContradictionsAreUndecided) {
  EXPECT_EQ(heights_of({"aaa.", "aba.", "aba.", "a.a."}), Heights{});
}

// Each of the four appears to lie over the next one.
TEST(RdeSolver, ACircleIsUndecided) {
  EXPECT_EQ(heights_of({"aaab", "d..b", "d..b", "dccc"}), Heights{});
}

TEST(RdeSolver, TooManyGrayLevelsAreRefused) {
  std::vector<float> image(25);
  for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
    image[pixel] = static_cast<float>(pixel);
  }
  EXPECT_THAT(sing::test::message_of<std::invalid_argument>([&] { solve(image.data(), 5); }),
              HasSubstr("at most 16 gray values"));
}

TEST(RdeSolver, AnEmptyImageIsSolved) {
  const std::vector<float> image(16);
  const Solution solution = solve(image.data(), 4);
  EXPECT_TRUE(solution.decided);
  EXPECT_EQ(solution.regions, 0);
}

// An image that is rotated, mirrored and given other gray levels has the same answer.
TEST(RdeSolver, RotatingFlippingAndRecoloringChangeNothing) {
  constexpr std::size_t kSize = 128;
  std::vector<float> image(kSize * kSize);
  std::vector<float> changed(kSize * kSize);
  for (std::uint64_t index = 0; index < 100; ++index) {
    const Scene scene = make_scene({}, 3, index);
    render(scene, {.image = image.data()});
    for (std::size_t y = 0; y < kSize; ++y) {
      for (std::size_t x = 0; x < kSize; ++x) {
        const float grey = image[y * kSize + x];
        changed[x * kSize + (kSize - 1 - y)] = grey == 0 ? 0 : 1.25F - grey;
      }
    }
    const Solution solution = solve(changed.data(), kSize);
    ASSERT_TRUE(solution.decided);
    for (std::size_t region = 1; region <= 4; ++region) {
      const auto* const k =
          std::find_if(scene.greys.begin() + 1, scene.greys.end(),
                       [&](float grey) { return 1.25F - grey == solution.greys[region]; });
      ASSERT_NE(k, scene.greys.end());
      EXPECT_EQ(solution.heights[region],
                scene.heights[static_cast<std::size_t>(k - scene.greys.begin())]);
    }
  }
}

TEST(RdeCensus, NoDecidedContactIsWrongAndEveryKeptImageIsSolved) {
  for (const test::Variant& variant : test::variants()) {
    const std::int64_t count = variant.name == "default" ? 20'000 : 2'000;
    const Census census = take_census(variant.options, 11, count, 2);
    EXPECT_TRUE(is_sound(census)) << variant.name << '\n' << text_of(census);
    EXPECT_EQ(census.distinct_lines.images, count);
    EXPECT_EQ(census.kept.images, census.distinct_lines.solved_images);
    EXPECT_GT(census.kept.images, count * 8 / 10) << variant.name;
  }
}

// The rules are needed: without them some images mislead the solver or leave it undecided.
TEST(RdeCensus, WithoutTheRulesTheSolverIsMisled) {
  const Census census = take_census({}, 12, 5'000, 2);
  EXPECT_GT(census.without_rules.wrong_contacts, 0);
  EXPECT_GT(census.without_rules.contradictory_contacts, 0);
  EXPECT_GT(census.without_rules.misread_images, 100);
  EXPECT_GT(census.distinct_lines.undecided_images, 0);
}

TEST(RdeCensus, CountsTheSameOnAnyNumberOfThreads) {
  const std::string one = text_of(take_census({}, 13, 700, 1));
  EXPECT_EQ(text_of(take_census({}, 13, 700, 2)), one);
  EXPECT_EQ(text_of(take_census({}, 13, 700, 5)), one);
  EXPECT_NE(text_of(take_census({}, 14, 700, 1)), one);
}

// A census draws the images that training sees: the images it keeps are those of make_scene.
TEST(RdeCensus, KeepsTheImagesOfTheGenerator) {
  const Census census = take_census({}, 15, 500, 1);
  std::array<std::int64_t, kMaxRectangles + 1> heights{};
  std::int64_t images = 0;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const Scene scene = make_scene({}, 15, index);
    for (std::size_t k = 1; k <= 4; ++k) {
      ++heights[scene.heights[k]];
    }
    ++images;
  }
  // Where the census drops an undecided attempt, the generator draws another one in its place.
  const std::int64_t dropped = images - census.kept.images;
  EXPECT_EQ(dropped, census.distinct_lines.undecided_images);
  EXPECT_LT(dropped, 20);
  for (std::size_t height = 1; height <= 4; ++height) {
    EXPECT_NEAR(static_cast<double>(heights[height]),
                static_cast<double>(census.kept.rectangles_at[height]),
                static_cast<double>(4 * dropped));
  }
}

}  // namespace
}  // namespace sing::lab::rde
