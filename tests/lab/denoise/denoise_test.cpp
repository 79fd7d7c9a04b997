// Checks the patches and the noise of denoising against their definitions, and trains it through
// `sing train`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "lab/denoise/patches.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/stand_in.hpp"
#include "lab/model/dncnn.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::lab::denoise {
namespace {

using image::ImageSize;
using image::Split;
using test::Outcome;
using test::run_sing;
using test::TemporaryFolder;
using test::Words;
using ::testing::HasSubstr;

TEST(PatchRule, NoiseIsNormalOfDeviationOne) {
  std::vector<float> noise(1'000'000);
  PatchRule{.seed = 3}.draw_noise(7, noise);
  double mean = 0;
  double square = 0;
  double fourth = 0;
  for (const float value : noise) {
    const double power = double{value} * value;
    mean += value;
    square += power;
    fourth += power * power;
  }
  const auto count = static_cast<double>(noise.size());
  // Five standard errors of 10^6 draws; the table's variance and fourth moment are short by less.
  EXPECT_NEAR(mean / count, 0, 5e-3);
  EXPECT_NEAR(square / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96 / count));
}

TEST(PatchRule, NoiseFollowsFromSeedEpochAndImage) {
  const auto drawn = [](const PatchRule& rule, std::uint64_t index) {
    std::vector<float> noise(9);
    rule.draw_noise(index, noise);
    return noise;
  };
  const PatchRule rule{.seed = 1, .epoch = 2};
  EXPECT_EQ(drawn(rule, 3), drawn(rule, 3));
  EXPECT_NE(drawn(rule, 3), drawn(rule, 4));
  EXPECT_NE(drawn(rule, 3), drawn({.seed = 1, .epoch = 3}, 3));
  EXPECT_NE(drawn(rule, 3), drawn({.seed = 2, .epoch = 2}, 3));
  const PatchRule test{.subset = Split::kTest, .seed = 1};
  EXPECT_EQ(drawn(test, 3), drawn({.subset = Split::kTest, .seed = 2}, 3));
  EXPECT_NE(drawn(test, 3), drawn({.seed = 0}, 3)) << "the noise of a test is not that of training";
}

TEST(PatchRule, PatchesLieInsideAndReachEveryEdge) {
  const PatchRule rule{.seed = 5, .size = 8};
  int least = 100;
  int most = 0;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const image::Box box = rule.choose({20, 8}, index).box;
    EXPECT_EQ(box.y, 0);
    EXPECT_EQ(box.width, 8);
    least = std::min(least, box.x);
    most = std::max(most, box.x);
  }
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 12);
  const image::Crop middle = PatchRule{.subset = Split::kTest, .size = 8}.choose({20, 10}, 0);
  EXPECT_EQ(middle.box, (image::Box{6, 1, 8, 8}));
  EXPECT_FALSE(middle.mirrored);
  EXPECT_THROW(rule.choose({20, 7}, 0), std::invalid_argument);
}

TEST(PatchRule, APatchIsAPartOfItsImage) {
  const image::SmallSet set = image::make_stand_in({.channels = 3, .size = 16, .classes = 2}, 4, 2);
  const auto source = image::make_memory_source(set);
  const PatchRule rule{.seed = 1, .epoch = 6, .size = 9};
  const std::vector<std::uint64_t> indices = {2, 0, 3};
  std::vector<std::uint8_t> pixels(3 * 9 * 9 * 3);
  std::vector<std::uint64_t> visited(3);
  image::CropLoader(*source, 2)
      .load(indices, rule, rule.size, pixels.data(),
            [&](std::size_t place, std::uint64_t index) { visited[place] = index; });
  EXPECT_EQ(visited, indices);
  for (std::size_t place = 0; place < indices.size(); ++place) {
    const image::Crop crop = rule.choose({16, 16}, indices[place]);
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 9; ++x) {
        const int from = crop.mirrored ? 8 - x : x;
        for (int channel = 0; channel < 3; ++channel) {
          const auto wanted =
              set.subsets[0].pixels[((indices[place] * 3 + static_cast<std::size_t>(channel)) * 16 +
                                     static_cast<std::size_t>(crop.box.y + y)) *
                                        16 +
                                    static_cast<std::size_t>(crop.box.x + from)];
          const std::size_t at =
              ((place * 9 + static_cast<std::size_t>(y)) * 9 + static_cast<std::size_t>(x)) * 3 +
              static_cast<std::size_t>(channel);
          ASSERT_EQ(pixels[at], wanted);
        }
      }
    }
  }
}

TEST(Dncnn, HasTheLayersOfThePaper) {
  model::DncnnImpl network({.depth = 17, .width = 64}, 3);
  std::int64_t trained = 0;
  for (const at::Tensor& parameter : network.parameters()) {
    trained += parameter.numel();
  }
  // 3·64·9 + 64, then 15 times 64·64·9 + 2·64, then 64·3·9 + 3.
  EXPECT_EQ(trained, 1792 + 15 * (36864 + 128) + 1731);
  EXPECT_EQ(network.forward(torch::zeros({2, 3, 10, 12})).sizes(), (at::IntArrayRef{2, 3, 10, 12}));
  model::DncnnImpl frozen({.depth = 4, .width = 8, .freeze_norms = true}, 3);
  int fixed = 0;
  for (const at::Tensor& parameter : frozen.parameters()) {
    fixed += parameter.requires_grad() ? 0 : 1;
  }
  EXPECT_EQ(fixed, 4);  // scale and shift of two layers
}

Words tiny_denoise(const std::filesystem::path& out, const Words& more = {}) {
  const Words usual = {"--depth",     "3",     "--width",          "8",    "--patch",   "16",
                       "--batch",     "50",    "--steps",          "200",  "--device",  "cpu",
                       "--seed",      "1",     "--evaluate-steps", "100",  "--threads", "1",
                       "--optimizer", "adamw", "--learning-rate",  "3e-2", "--noise",   "60"};
  Words words = {"train", "denoise", "--stand-in", "--out", out.string()};
  const Words flags = test::with_usual(usual, more);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

double psnr_of(const nlohmann::json& record) { return record["scores"]["PSNR, dB"]; }

TEST(Denoise, TrainingRemovesNoiseAndEvalMeasuresTheSame) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing(tiny_denoise(folder / "run"));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto metrics = test::metrics_of(folder / "run");
  const nlohmann::json& end = metrics.back();
  // Noise of deviation 60 of 255 alone is −20 log10(60 / 255) = 12.57 dB.
  EXPECT_GT(psnr_of(end), 12.57 + 1);
  EXPECT_TRUE(end["final_accuracy"].is_null());
  EXPECT_THAT(outcome.out, HasSubstr("STAND-IN"));
  const Outcome eval = run_sing({"eval", (folder / "run").string(), "--checkpoint", "last",
                                 "--device", "cpu", "--record", (folder / "eval.json").string()});
  ASSERT_EQ(eval.code, 0) << eval.error;
  const auto recorded = nlohmann::json::parse(test::read_whole(folder / "eval.json"));
  EXPECT_DOUBLE_EQ(psnr_of(recorded), psnr_of(end));
}

TEST(Denoise, TheSameCommandEndsInTheSameBits) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sing(tiny_denoise(folder / "one", {"--steps", "20"})).code, 0);
  ASSERT_EQ(run_sing(tiny_denoise(folder / "two", {"--steps", "20", "--data-threads", "3"})).code,
            0);
  EXPECT_EQ(test::last_tensors_of(folder / "one"), test::last_tensors_of(folder / "two"));
}

TEST(Denoise, RefusesAFolderThatIsNotThereAndPatchesThatDoNotFit) {
  const TemporaryFolder folder;
  const Outcome missing = run_sing({"train", "denoise", "--data", (folder / "no").string()});
  EXPECT_THAT(missing.error, HasSubstr("[denoise] wanted JPEG or PNG files in"));
  const Outcome large = run_sing(tiny_denoise(folder / "run", {"--patch", "65"}));
  EXPECT_NE(large.code, 0);
  EXPECT_THAT(large.error, HasSubstr("[denoise] wanted images of at least 65 x 65 pixels"));
}

}  // namespace
}  // namespace sing::lab::denoise
