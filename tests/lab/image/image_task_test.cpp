// Checks augmentations as tensor functions, ResNets, and the image tasks through `sing train`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "lab/image/augment.hpp"
#include "lab/image/augment_parameters.hpp"
#include "lab/image/classification.hpp"
#include "lab/imagefolder/imagefolder_task.hpp"
#include "lab/mnist/mnist_task.hpp"
#include "lab/model/resnet.hpp"
#include "tests/lab/image/sample_images.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"
#include "tests/support/read_png.hpp"

namespace sing::lab::image {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::metrics_of;
using test::Outcome;
using test::run_sing;
using test::TemporaryFolder;
using test::Words;
using ::testing::HasSubstr;
using ::testing::Not;

at::Tensor random_pixels(std::int64_t count, std::int64_t size) {
  torch::manual_seed(4);
  return torch::randint(256, {count, 3, size, size}).to(at::kByte);
}

at::Tensor augmented(const at::Tensor& pixels, std::vector<AugmentRow> rows, bool rotates) {
  const at::Tensor table =
      torch::from_blob(rows.data(), {static_cast<std::int64_t>(rows.size()), kColumns}, at::kInt);
  const Augmenter augmenter({{0, 0, 0}, {1, 1, 1}}, pixels.size(2), rotates, at::kCPU);
  return augmenter(pixels, table);
}

TEST(Augmenter, CropsFromBlackSurroundings) {
  const at::Tensor pixels = random_pixels(2, 6);
  const at::Tensor found = augmented(pixels, {augmentation(1, 2, -1, false, 0)}, false)[0];
  const at::Tensor padded = at::constant_pad_nd(pixels[1].to(at::kFloat), {3, 3, 3, 3});
  EXPECT_TRUE(at::equal(found, padded.slice(1, 3 - 1, 9 - 1).slice(2, 3 + 2, 9 + 2)));
}

TEST(Augmenter, FlipsTheCrop) {
  const at::Tensor pixels = random_pixels(1, 6);
  const at::Tensor plain = augmented(pixels, {augmentation(0, 2, 1, false, 0)}, false);
  const at::Tensor mirrored = augmented(pixels, {augmentation(0, 2, 1, true, 0)}, false);
  EXPECT_TRUE(at::equal(mirrored, plain.flip(3)));
}

TEST(Augmenter, ARightAngleIsExact) {
  const at::Tensor pixels = random_pixels(1, 7);
  const at::Tensor turned = augmented(pixels, {augmentation(0, 0, 0, false, 90)}, true);
  EXPECT_TRUE(at::equal(turned[0], pixels[0].to(at::kFloat).rot90(1, {1, 2})));
}

TEST(Augmenter, RotatingByZeroChangesNothing) {
  const at::Tensor pixels = random_pixels(3, 8);
  const std::vector<AugmentRow> rows = {augmentation(2, 1, 4, true, 0),
                                        augmentation(0, -4, 0, false, 0), no_augmentation(1)};
  EXPECT_TRUE(at::equal(augmented(pixels, rows, true), augmented(pixels, rows, false)));
}

// The kernel gives the same floats as the tensor functions, with channels innermost.
TEST(Augmenter, AGpuGivesTheSameFloats) {
  if (!torch::cuda::is_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  const at::Tensor pixels = random_pixels(40, 32);
  std::vector<AugmentRow> rows;
  for (std::uint64_t index = 0; index < 40; ++index) {
    rows.push_back(
        draw_augmentation({.pad = 4, .mirror = true, .rotation = 15}, 5, 1, (7 * index) % 40));
  }
  const at::Tensor table =
      torch::from_blob(rows.data(), {static_cast<std::int64_t>(rows.size()), kColumns}, at::kInt);
  const Normalization normalization{{129.3, 124.1, 112.4}, {68.2, 65.4, 70.4}};
  for (const bool rotates : {false, true}) {
    const at::Tensor wanted = Augmenter(normalization, 32, rotates, at::kCPU)(pixels, table);
    const at::Tensor given =
        Augmenter(normalization, 32, rotates, at::kCUDA)(pixels.cuda(), table.cuda());
    EXPECT_TRUE(given.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(at::equal(given.cpu(), wanted));
  }
}

// Pixels outside the crop are black, even if the image has pixels there.
TEST(Augmenter, RotatingShowsNothingOutsideTheCrop) {
  const at::Tensor white = torch::full({1, 3, 9, 9}, 255, at::kByte);
  const at::Tensor turned = augmented(white, {augmentation(0, 0, 0, false, 45)}, true)[0][0];
  EXPECT_EQ(turned[0][0].item<float>(), 0);
  EXPECT_EQ(turned[4][4].item<float>(), 255);
}

TEST(AugmentParameters, AreAFunctionOfSeedEpochAndImage) {
  const AugmentOptions options{.pad = 4, .mirror = true, .rotation = 15};
  const AugmentRow row = draw_augmentation(options, 1, 2, 3);
  EXPECT_EQ(row, draw_augmentation(options, 1, 2, 3));
  EXPECT_NE(row, draw_augmentation(options, 1, 3, 3));
  EXPECT_NE(row, draw_augmentation(options, 2, 2, 3));
  double mirrored = 0;
  double sine = 0;
  int least = 0;
  int most = 0;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const AugmentRow each = draw_augmentation(options, 1, 0, index);
    mirrored += each[kMirrored];
    sine = std::max(sine, std::abs(each[kSine]) / 65536.0);
    least = std::min(least, each[kOriginX]);
    most = std::max(most, each[kOriginY]);
  }
  EXPECT_NEAR(mirrored / 2000, 0.5, 5 * 0.5 / std::sqrt(2000));
  EXPECT_LE(sine, 0.25883);  // the sine of 15°
  EXPECT_GT(sine, 0.25);
  EXPECT_EQ(least, -4);
  EXPECT_EQ(most, 4);
}

TEST(Resnet, HasTorchvisionsSizesAndFirstWeights) {
  torch::manual_seed(0);
  const auto count = [](const model::ResnetOptions& options) {
    std::int64_t parameters = 0;
    for (const at::Tensor& each : model::ResnetImpl(options, 3, 1000).parameters()) {
      parameters += each.numel();
    }
    return parameters;
  };
  EXPECT_EQ(count({}), 11'689'512);
  EXPECT_EQ(count({.model = model::ResnetSize::kResnet34, .blurpool = true}), 21'797'672);
  const model::ResnetImpl model({}, 3, 10);
  const at::Tensor weight = model.named_parameters()["layer3.0.conv1.weight"];
  EXPECT_NEAR(weight.std().item<double>(), std::sqrt(2.0 / (256 * 9)), 1e-3);
  EXPECT_EQ(model.named_parameters()["layer1.1.bn2.weight"].min().item<float>(), 1);
}

TEST(Resnet, FrozenNormsAreThoseOfBatchNormalization) {
  const task::TaskModel model = make_classifier({.freeze_norms = true}, {}, 3, 10, at::kCPU);
  int frozen = 0;
  for (const auto& item : model.module->named_parameters()) {
    const bool is_norm = item.key().find("bn") != std::string::npos ||
                         item.key().find("downsample.1") != std::string::npos;
    EXPECT_EQ(item.value().requires_grad(), !is_norm) << item.key();
    frozen += is_norm ? 1 : 0;
  }
  EXPECT_EQ(frozen, 40);
}

Words stand_in_run(const fs::path& out, const Words& more = {}) {
  Words words = {
      "train", "cifar100",        "--out", out.string(), "--stand-in", "--stand-in-train",
      "256",   "--stand-in-test", "64",    "--width",    "4",          "--batch",
      "32",    "--device",        "cpu",   "--threads",  "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Cifar100Task, LearnsStandInDataAndSaysWhatItIs) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing(stand_in_run(
      folder / "run", {"--epochs", "3", "--lr", "2e-2", "--rotation", "0", "--mirrored-test"}));
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::size_t first = outcome.out.find("STAND-IN DATA: generated patterns, not CIFAR-100");
  ASSERT_NE(first, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("STAND-IN DATA", first + 1), std::string::npos);
  const auto lines = metrics_of(folder / "run");
  EXPECT_LT(lines.back()["final_loss"].get<double>(), 4.6);  // ln 100 = 4.605 is chance
  const auto picture = test::read_png(folder / "run/pictures/step_00000024.png");
  EXPECT_EQ(picture.width(), 2 + 8 * (32 + 6));
  const Outcome eval = run_sing({"eval", (folder / "run").string(), "--device", "cpu"});
  EXPECT_THAT(eval.out, HasSubstr("64 test examples"));
  EXPECT_THAT(eval.out, HasSubstr("STAND-IN DATA"));
}

// The run is interrupted within the third epoch, whose images are cropped and rotated as in an
// uninterrupted run.
TEST(Cifar100Task, AResumedRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  const Words length = {"--steps", "32", "--evaluate-steps", "5", "--checkpoint-steps", "5"};
  ASSERT_EQ(run_sing(stand_in_run(folder / "whole", length)).code, 0);
  Words words = stand_in_run(folder / "stopped", length);
  words.push_back("--resume");
  {
    test::ChildProcess child(SING_PROGRAM, words);
    int evaluations = 0;
    for (std::string line; evaluations < 4 && child.read_line(line);) {
      evaluations += line.find("test loss") != std::string::npos ? 1 : 0;
    }
    ASSERT_EQ(evaluations, 4);
    child.send(SIGKILL);
    child.wait();
  }
  ASSERT_NE(metrics_of(folder / "stopped").back()["kind"], "end");
  const Outcome outcome = run_sing(words);
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("resuming from step "));
  EXPECT_EQ(test::last_tensors_of(folder / "stopped"), test::last_tensors_of(folder / "whole"));
  EXPECT_EQ(test::timeless_metrics_of(folder / "stopped"),
            test::timeless_metrics_of(folder / "whole"));
}

// A tenth of the 40 training images is held out and not trained on.
TEST(MnistTask, ValidationHoldsTrainingImagesOut) {
  const auto prepared = [](data::EvaluationSet set) {
    std::unique_ptr<task::Task> task = mnist::make_task();
    CLI::App app;
    task->add_flags(app);
    const Words words = {"--stand-in", "--stand-in-train", "40", "--stand-in-test", "10"};
    app.parse(Words(words.rbegin(), words.rend()));
    task->prepare({.seed = 3, .evaluate_on = set});
    return task;
  };
  const auto whole = prepared(data::EvaluationSet::kTest);
  const auto split = prepared(data::EvaluationSet::kValidation);
  EXPECT_EQ(whole->example_count(task::Split::kTraining), 40);
  EXPECT_EQ(whole->example_count(task::Split::kTest), 10);
  EXPECT_EQ(split->example_count(task::Split::kTraining), 36);
  EXPECT_EQ(split->example_count(task::Split::kTest), 4);
}

TEST(Cifar100Task, MissingFilesAreNamed) {
  const TemporaryFolder folder;
  const Outcome outcome = run_sing(
      {"train", "cifar100", "--data", folder.path().string(), "--out", (folder / "x").string()});
  EXPECT_EQ(outcome.code, command::kUsage);
  EXPECT_THAT(outcome.error, HasSubstr("[cifar100] wanted train.bin, test.bin in '"));
  EXPECT_THAT(outcome.error, HasSubstr("the task rde needs none"));
}

TEST(ImagefolderTask, FolderAndPackGiveTheSameBatches) {
  const TemporaryFolder folder;
  test::put_sample_folder(folder / "images");
  const std::string pack = (folder / "pack").string();
  ASSERT_EQ(run_sing({"data", "pack", "--from", (folder / "images").string(), "--out", pack,
                      "--longest-side", "0"})
                .code,
            0);
  std::vector<task::Batch> batches;
  for (const std::string& data : {(folder / "images").string(), pack}) {
    const std::unique_ptr<task::Task> task = imagefolder::make_task();
    CLI::App app;
    task->add_flags(app);
    const Words words = {"--data",       data, "--first-size", "32", "--train-size", "64",
                         "--ramp-begin", "1",  "--ramp-end",   "2",  "--test-size",  "40"};
    app.parse(Words(words.rbegin(), words.rend()));
    task->prepare({.seed = 3, .data_threads = 2});
    EXPECT_EQ(task->example_count(task::Split::kTraining), 10);
    for (const std::int64_t epoch : {0, 2}) {
      batches.push_back(task->to_device(task->make_batch({task::Split::kTraining, epoch, 0, 10})));
    }
    batches.push_back(task->to_device(task->make_batch({task::Split::kTest, 0, 0, 6})));
  }
  EXPECT_EQ(batches[0][kImages].sizes(), at::IntArrayRef({10, 3, 32, 32}));
  EXPECT_EQ(batches[1][kImages].sizes(), at::IntArrayRef({10, 3, 64, 64}));
  EXPECT_EQ(batches[2][kImages].sizes(), at::IntArrayRef({6, 3, 40, 40}));
  EXPECT_EQ(batches[0][kLabels].sum().item<std::int64_t>(), 5);
  EXPECT_FALSE(at::equal(batches[0][kLabels], batches[1][kLabels]));  // a different order
  // The packed CMYK images were encoded differently, so test images are compared.
  EXPECT_TRUE(at::equal(batches[2][kImages], batches[5][kImages]));
  EXPECT_TRUE(at::equal(batches[0][kLabels], batches[3][kLabels]));
}

// Returns a training of four steps on the images of `folder`.
Words folder_run(const TemporaryFolder& folder) {
  return {"train",
          "imagefolder",
          "--data",
          (folder / "images").string(),
          "--train-size",
          "32",
          "--test-size",
          "32",
          "--width",
          "4",
          "--batch",
          "5",
          "--steps",
          "4",
          "--device",
          "cpu",
          "--blurpool",
          "--out",
          (folder / "run").string()};
}

// One file is replaced by a file of another size, then restored.
TEST(ImagefolderTask, ARunIsResumedAndMeasuredWithItsOwnDataOnly) {
  const TemporaryFolder folder;
  test::put_sample_folder(folder / "images");
  Words words = folder_run(folder);
  ASSERT_EQ(run_sing(words).code, 0);
  words.emplace_back("--resume");
  const Words eval = {"eval", (folder / "run").string(), "--device", "cpu"};
  const fs::path image = folder / "images/val/dog/1.JPEG";
  const std::string before = test::read_whole(image);
  test::write_whole(image, test::sample_jpeg(77, 41, 9));
  for (const Words& each : {words, eval}) {
    const Outcome refused = run_sing(each);
    EXPECT_EQ(refused.code, command::kUsage);
    EXPECT_THAT(refused.error,
                HasSubstr("[imagefolder] wanted the data that the run '" +
                          (folder / "run").string() + "' was trained on, with digest "));
  }
  test::write_whole(image, before);
  EXPECT_EQ(run_sing(words).code, 0);
  EXPECT_EQ(run_sing(eval).code, 0);
}

TEST(ImagefolderTask, TrainsWithBadImagesLeftOutAndNamed) {
  const TemporaryFolder folder;
  test::put_sample_folder(folder / "images");
  test::put_bad_files(folder / "images");
  Words words = folder_run(folder);
  const Outcome refused = run_sing(words);
  EXPECT_EQ(refused.code, command::kFailure);
  EXPECT_THAT(refused.error, HasSubstr("train/cat/cut.JPEG"));
  words.insert(words.end(), {"--bad-images", "skip"});
  const Outcome outcome = run_sing(words);
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("left out 3 files that are not complete JPEG or PNG images:"));
  EXPECT_THAT(outcome.out, HasSubstr("train/dog/empty.JPEG"));
  const Outcome missing = run_sing({"train", "imagefolder", "--data", (folder / "no").string()});
  EXPECT_EQ(missing.code, command::kUsage);
  EXPECT_THAT(missing.error, HasSubstr("the task rde needs none"));
}

}  // namespace
}  // namespace sing::lab::image
