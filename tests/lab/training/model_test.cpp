// Checks the vision transformer (shapes, names, sizes, patches, frozen layers) and the RDE task's
// accuracy against a version in plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "lab/model/freeze_norms.hpp"
#include "lab/model/vit.hpp"
#include "lab/rde/rde_task.hpp"
#include "lab/task/counting_task.hpp"
#include "tests/lab/rde/accuracy.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::int64_t count_parameters(const ::torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : module.parameters()) {
    count += parameter.numel();
  }
  return count;
}

std::shared_ptr<model::VitImpl> make_vit(const model::VitOptions& options,
                                         std::int64_t image_size = 128) {
  return std::make_shared<model::VitImpl>(model::shape_of(options, image_size, 1),
                                          options.layer_scale);
}

TEST(Vit, CountsOfParametersAreThoseByHand) {
  // Patches have 16 · 16 · 384 + 384 parameters, positions 64 · 384; a block has two norms of 768,
  // qkv 384 · 1152 + 1152, proj 384 · 384 + 384, fc1 384 · 1536 + 1536, fc2 1536 · 384 + 384, that
  // is 1 774 464; norm 768, head 384 · 256 + 256.
  const auto small = make_vit({.model = model::VitSize::kS16});
  EXPECT_EQ(count_parameters(*small), 98688 + 24576 + 12 * 1774464 + 768 + 98560);
  EXPECT_EQ(small->parameters().size(), 151U);
  // Patches of 8 have 8 · 8 · 384 + 384 parameters, with 256 positions and a head of 384 · 64 + 64.
  EXPECT_EQ(count_parameters(*make_vit({.model = model::VitSize::kS8})),
            24960 + 256 * 384 + 12 * 1774464 + 768 + 24640);
  // At width 768 a block has 2 · 1536 + 768 · 2304 + 2304 + 768 · 768 + 768 + 2 · 768 · 3072 + 3072
  // + 768 parameters.
  EXPECT_EQ(count_parameters(*make_vit({.model = model::VitSize::kB16})),
            197376 + 64 * 768 + 12 * 7087872 + 1536 + 196864);
}

TEST(Vit, ParametersAreNamedAsInTimm) {
  const auto vit = make_vit({.model = model::VitSize::kMicro, .depth = 1, .layer_scale = 0.1});
  std::vector<std::string> names;
  for (const auto& item : vit->named_parameters()) {
    names.push_back(item.key());
  }
  EXPECT_THAT(
      names, ElementsAre("pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias",
                         "blocks.0.norm1.weight", "blocks.0.norm1.bias", "blocks.0.attn.qkv.weight",
                         "blocks.0.attn.qkv.bias", "blocks.0.attn.proj.weight",
                         "blocks.0.attn.proj.bias", "blocks.0.ls1.gamma", "blocks.0.norm2.weight",
                         "blocks.0.norm2.bias", "blocks.0.mlp.fc1.weight", "blocks.0.mlp.fc1.bias",
                         "blocks.0.mlp.fc2.weight", "blocks.0.mlp.fc2.bias", "blocks.0.ls2.gamma",
                         "norm.weight", "norm.bias", "head.weight", "head.bias"));
  EXPECT_EQ(vit->named_parameters()["patch_embed.proj.weight"].sizes(),
            at::IntArrayRef({64, 1, 8, 8}));
}

// A block that adds nothing leaves only norm and head, so that the first patch's embedding is
// visible.
TEST(Vit, PatchesAreThoseOfAConvolution) {
  ::torch::manual_seed(1);
  const auto vit = make_vit({.model = model::VitSize::kMicro, .depth = 1}, 32);
  const at::NoGradGuard no_gradient;
  auto parameters = vit->named_parameters();
  for (const char* silent : {"blocks.0.attn.proj.weight", "blocks.0.mlp.fc2.weight", "pos_embed"}) {
    parameters[silent].zero_();
  }
  parameters["head.weight"].copy_(at::eye(64));
  const at::Tensor images = at::rand({2, 1, 32, 32});
  const at::Tensor convolved =
      at::conv2d(images, parameters["patch_embed.proj.weight"], parameters["patch_embed.proj.bias"],
                 /*stride=*/8);  // [2, 64, 4, 4]
  const at::Tensor tokens = at::layer_norm(convolved.permute({0, 2, 3, 1}), {64}, {}, {}, 1e-6);
  const at::Tensor wanted =
      tokens.view({2, 4, 4, 8, 8}).permute({0, 1, 3, 2, 4}).reshape({2, 1, 32, 32});
  EXPECT_TRUE(at::allclose(vit->forward(images), wanted, 1e-4, 1e-4));
}

// With all blocks adding nothing and the head giving a fixed value per position in the patch, the
// output shows where each of a patch's values lands.
TEST(Vit, OutputPatchesLandWhereTheInputPatchesWere) {
  const auto vit = make_vit({.model = model::VitSize::kMicro, .depth = 1}, 16);
  const at::NoGradGuard no_gradient;
  auto parameters = vit->named_parameters();
  parameters["head.weight"].zero_();
  parameters["head.bias"].copy_(at::arange(64, at::kFloat));
  const at::Tensor output = vit->forward(at::rand({1, 1, 16, 16}));
  ASSERT_EQ(output.sizes(), at::IntArrayRef({1, 1, 16, 16}));
  const at::Tensor patch = at::arange(64, at::kFloat).view({8, 8});
  EXPECT_TRUE(at::equal(output[0][0], patch.repeat({2, 2})));
  // Without attention, only the second patch of the first row of the input can change that patch of
  // the output.
  parameters["blocks.0.attn.proj.weight"].zero_();
  parameters["head.weight"].normal_();
  at::Tensor image = at::rand({1, 1, 16, 16});
  const at::Tensor before = vit->forward(image);
  image[0][0].slice(0, 0, 8).slice(1, 8, 16).fill_(0.25);
  const at::Tensor changed = (vit->forward(image) != before)[0][0];
  EXPECT_TRUE(changed.slice(0, 0, 8).slice(1, 8, 16).all().item<bool>());
  EXPECT_EQ(changed.sum().item<std::int64_t>(), 64);
}

TEST(Vit, FrozenNormsTakeNoGradient) {
  const auto vit = make_vit({.model = model::VitSize::kS16, .layer_scale = 0.1});
  model::freeze_norms(*vit);
  std::int64_t frozen = 0;
  for (const auto& item : vit->named_parameters()) {
    const bool is_norm =
        item.key().find("norm") != std::string::npos || item.key().find(".ls") != std::string::npos;
    EXPECT_EQ(item.value().requires_grad(), !is_norm) << item.key();
    frozen += is_norm ? 1 : 0;
  }
  EXPECT_EQ(frozen, 12 * 6 + 2);
}

TEST(Vit, ShapesThatDoNotFitAreRefused) {
  EXPECT_THAT(test::message_of<std::invalid_argument>([] { make_vit({.patch_size = 48}); }),
              HasSubstr("wanted a patch_size that divides the image's 128"));
  EXPECT_THAT(test::message_of<std::invalid_argument>([] { make_vit({.heads = 7}); }),
              HasSubstr("wanted heads that divide the width of 384, got 7"));
}

std::int64_t right_count(const task::Task& task, const at::Tensor& prediction,
                         const task::Batch& batch) {
  const auto& counting = dynamic_cast<const task::CountingTask&>(task);
  return counting.right_count(prediction, batch).item<std::int64_t>();
}

TEST(RdeTask, CountsRightImagesAsTheLoopsDo) {
  const std::unique_ptr<task::Task> task = rde::make_task();
  task->prepare({.seed = 5});
  const task::Batch batch = task->to_device(task->make_batch({task::Split::kTest, 0, 0, 40}));
  ::torch::manual_seed(2);
  // The predictions range from nearly right to nearly all wrong.
  for (const double noise : {0.0, 0.05, 0.1, 0.15, 0.3}) {
    const at::Tensor shift = at::randn({40, 1, 1, 1}) * noise;
    const at::Tensor prediction = batch[1] + shift + at::randn({40, 1, 128, 128}) * 0.1;
    const rde::Predictions loops{.predictions = prediction.const_data_ptr<float>(),
                                 .targets = batch[1].contiguous().const_data_ptr<float>(),
                                 .rectangles = batch[2].const_data_ptr<std::uint8_t>(),
                                 .images = 40,
                                 .pixels = 128 * 128,
                                 .count = 4};
    EXPECT_EQ(right_count(*task, prediction, batch), rde::count_right_images(loops));
  }
  const at::Tensor unknown = at::full({40, 1, 128, 128}, NAN);
  EXPECT_EQ(right_count(*task, unknown, batch), 0);
}

TEST(RdeTask, EpochsBringNewImagesAndTheTestSetOthers) {
  const std::unique_ptr<task::Task> task = rde::make_task();
  task->prepare({.seed = 5});
  const auto first = [&](task::Split split, std::int64_t epoch) {
    return task->to_device(task->make_batch({split, epoch, 3, 1})).front();
  };
  const at::Tensor image = first(task::Split::kTraining, 0);
  EXPECT_FALSE(at::equal(image, first(task::Split::kTraining, 1)));
  EXPECT_FALSE(at::equal(image, first(task::Split::kTest, 0)));
  EXPECT_TRUE(at::equal(image, first(task::Split::kTraining, 0)));
  const at::Tensor tested = first(task::Split::kTest, 0);
  const std::unique_ptr<task::Task> other = rde::make_task();
  other->prepare({.seed = 5, .evaluate_on = data::EvaluationSet::kValidation});
  const auto first_of_other = [&](task::Split split) {
    return other->to_device(other->make_batch({split, 0, 3, 1})).front();
  };
  EXPECT_TRUE(at::equal(first_of_other(task::Split::kTraining), image));
  EXPECT_FALSE(at::equal(first_of_other(task::Split::kTest), image));
  EXPECT_FALSE(at::equal(first_of_other(task::Split::kTest), tested));
}

}  // namespace
}  // namespace sing::lab
