// Checks saving and resuming through torch::save and state files: the bits of an uninterrupted run.
#include <sstream>

#include "tests/contract/rule_variants.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

using test::SmallModel;
using test::TemporaryFolder;

constexpr int kSteps = 9;

class TorchState : public test::DeviceTest {
 protected:
  using Carry = std::function<void(torch::Optimizer& from, torch::Optimizer& to)>;

  void expect_exact_resume(const Options& options, at::ScalarType type, int saved_after,
                           const Carry& carry, bool channels_last = false) {
    const auto run = [&](SmallModel& model, torch::Optimizer& optimizer, int begin, int end) {
      for (int step = begin; step < end; ++step) {
        model.set_gradients(step);
        optimizer.step();
      }
    };
    SmallModel whole(device_, type, channels_last);
    torch::Optimizer whole_optimizer(whole.parameters(), options);
    run(whole, whole_optimizer, 0, kSteps);
    SmallModel first(device_, type, channels_last);
    torch::Optimizer first_optimizer(first.parameters(), options);
    run(first, first_optimizer, 0, saved_after);
    SmallModel second(device_, type, channels_last);
    second.copy_from(first);
    torch::Optimizer second_optimizer(second.parameters(), options);
    carry(first_optimizer, second_optimizer);
    run(second, second_optimizer, saved_after, kSteps);
    second.expect_same_bits(whole, "resumed");
    EXPECT_EQ(second_optimizer.save_bytes(), whole_optimizer.save_bytes());
  }
};
SING_ON_DEVICES(TorchState);

void by_archive(torch::Optimizer& from, torch::Optimizer& to) {
  std::stringstream stream;
  ::torch::save(from, stream);
  ::torch::load(to, stream);
}

void by_file(torch::Optimizer& from, torch::Optimizer& to) {
  const TemporaryFolder folder;
  from.save(folder / "state.safetensors");
  to.load(folder / "state.safetensors");
}

// Step 3 is in the middle of a LookAhead period; step 1 is before the bias has its first gradient.
TEST_P(TorchState, ResumesExactlyForEveryRule) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    for (const int saved_after : {1, 3, 5}) {
      expect_exact_resume({.rule = variant.rule}, at::kFloat, saved_after, by_archive);
      expect_exact_resume({.rule = variant.rule}, at::kFloat, saved_after, by_file);
    }
  }
}

TEST_P(TorchState, ResumesExactlyInEveryType) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kHalf}) {
    Options options;
    options.master_weights = true;
    expect_exact_resume(options, type, 3, by_archive);
    expect_exact_resume(options, type, 3, by_file);
    expect_exact_resume({}, type, 4, by_archive);
  }
}

TEST_P(TorchState, ResumesExactlyWithBFloat16State) {
  if (!device_.is_cpu()) {
    GTEST_SKIP() << "state in bfloat16 is for the CPU";
  }
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    expect_exact_resume({.state = StateType::kBFloat16}, type, 3, by_archive);
    expect_exact_resume({.state = StateType::kBFloat16}, type, 3, by_file);
  }
  SmallModel model(device_, at::kFloat);
  torch::Optimizer optimizer(model.parameters(), {.state = StateType::kBFloat16});
  model.set_gradients(3);
  optimizer.step();
  const std::map<std::string, at::Tensor> state = optimizer.state_of("linear.weight");
  EXPECT_EQ(state.at("first_moment").scalar_type(), at::kBFloat16);
  EXPECT_EQ(state.at("second_moment").scalar_type(), at::kBFloat16);
  EXPECT_EQ(state.at("slow").scalar_type(), at::kFloat);
}

// A device that refuses the state of its part leaves the optimizer without the group.
TEST_P(TorchState, InBFloat16IsRefusedOnCudaWithNothingChanged) {
  if (device_.is_cpu()) {
    GTEST_SKIP() << "the CPU takes it";
  }
  const at::Tensor on_cpu = at::ones({2}).requires_grad_();
  const at::Tensor on_cuda = at::ones({2}, device_).requires_grad_();
  torch::Optimizer optimizer(torch::Parameters({{"cpu", on_cpu}}), {.state = StateType::kBFloat16});
  const std::string message = test::message_of<std::invalid_argument>([&] {
    optimizer.add_group({{"also on the cpu", at::ones({2}).requires_grad_()}, {"cuda", on_cuda}});
  });
  EXPECT_NE(message.find("wanted float32 state on cuda:0, got bfloat16"), std::string::npos);
  EXPECT_EQ(optimizer.parameter_names(), std::vector<std::string>{"cpu"});
}

TEST_P(TorchState, ResumesExactlyInChannelsLast) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    SCOPED_TRACE(variant.name);
    if (!std::holds_alternative<AdaFactor>(variant.rule)) {  // needs contiguous parameters
      expect_exact_resume({.rule = variant.rule}, at::kFloat, 3, by_archive, true);
      expect_exact_resume({.rule = variant.rule}, at::kFloat, 3, by_file, true);
    }
  }
}

// The file stores every array in index order, so a model in another memory format can read it.
TEST_P(TorchState, FilesDoNotDependOnTheMemoryFormat) {
  SmallModel last(device_, at::kDouble, true);
  SmallModel plain(device_, at::kDouble, false);
  torch::Optimizer a(last.parameters());
  torch::Optimizer b(plain.parameters());
  for (int step = 0; step < 4; ++step) {
    last.set_gradients(step);
    a.step();
  }
  by_file(a, b);
  for (const char* slot : {"first_moment", "second_moment", "slow"}) {
    const at::Tensor from = a.state_of("conv.weight").at(slot);
    const at::Tensor to = b.state_of("conv.weight").at(slot);
    EXPECT_NE(from.strides(), to.strides());
    EXPECT_TRUE(at::equal(from, to)) << slot;
  }
  EXPECT_EQ(a.save_bytes(), b.save_bytes());
  by_archive(b, a);
  EXPECT_EQ(a.save_bytes(), b.save_bytes());
}

TEST_P(TorchState, OptionsAndRatesOfSchedulersComeBack) {
  SmallModel model(device_, at::kFloat);
  torch::Optimizer from(model.parameters());
  ::torch::optim::StepLR scheduler(from, 1, 0.5);
  model.set_gradients(0);
  for (int step = 0; step < 2; ++step) {
    from.step();
    scheduler.step();  // the first call keeps the rate, the second halves it
  }
  from.set_option(0, "weight_decay", 0.75);
  torch::Optimizer to(model.parameters());
  by_archive(from, to);
  EXPECT_EQ(to.param_groups()[0].options().get_lr(), 0.0025);
  EXPECT_EQ(get_option(to.options(), "weight_decay"), Value(0.75));
  EXPECT_EQ(learning_rate_of(to.options().rule), 0.0025);
  from.param_groups()[0].options().set_lr(0.125);
  by_file(from, to);
  EXPECT_EQ(to.param_groups()[0].options().get_lr(), 0.125);
}

TEST_P(TorchState, BadStateIsRefusedAndNothingChanges) {
  for (const bool channels_last : {false, true}) {
    SmallModel model(device_, at::kFloat, channels_last);
    torch::Optimizer optimizer(model.parameters());
    model.set_gradients(3);
    optimizer.step();
    const std::string before = optimizer.save_bytes();
    SmallModel other(device_, at::kDouble, channels_last);
    torch::Optimizer of_doubles(other.parameters());
    EXPECT_THAT(test::message_of<FileError>([&] { optimizer.load_bytes(of_doubles.save_bytes()); }),
                ::testing::HasSubstr("wanted float32, got float64"));
    torch::Optimizer smaller({{"conv.weight", model[0]}});
    EXPECT_THAT(test::message_of<FileError>([&] { optimizer.load_bytes(smaller.save_bytes()); }),
                ::testing::HasSubstr("in group 0, got none"));
    EXPECT_THAT(test::message_of<FileError>([&] { smaller.load_bytes(before); }),
                ::testing::HasSubstr("wanted the parameters of the optimizer, got also"));
    EXPECT_THROW(optimizer.load_bytes(before.substr(0, before.size() - 3)), FileError);
    EXPECT_THROW(optimizer.load("/nonexistent/state"), FileError);
    std::stringstream stream;
    ::torch::save(std::vector<at::Tensor>{at::zeros({3})}, stream);
    EXPECT_THAT(test::message_of<FileError>([&] { ::torch::load(optimizer, stream); }),
                ::testing::HasSubstr("sing_optimizer_state"));
    EXPECT_EQ(optimizer.save_bytes(), before);
  }
}

}  // namespace
}  // namespace sing
