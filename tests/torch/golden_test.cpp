// Runs the authors' trajectories through the LibTorch optimizer, with its groups, gradients and
// options.
#include "tests/golden/golden_file.hpp"
#include "tests/torch/device_test.hpp"

namespace sing {
namespace {

using test::Arrays;
using test::golden_file;
using test::GoldenCase;

class TorchGolden : public test::DeviceTest {
 protected:
  // Converts the file's numbers through float32, in which they were recorded.
  at::Tensor given(const std::string& name, const std::vector<double>& values, Dtype dtype) const {
    return at::tensor(values, at::kDouble)
        .to(at::kFloat)
        .to(device_, dtype == Dtype::kFloat64 ? at::kDouble : at::kFloat)
        .view(golden_file().shapes.at(name));
  }
};
SING_ON_DEVICES(TorchGolden);

// The bounds are those of tests/golden: float64 to 1e-12 of the distance moved; float32 in units u
// = 2⁻²⁴ per step, 4 of the parameter and 64 of the largest update, 0.05 · 3.2.
double tolerance(Dtype dtype, int steps, double moved, double size) {
  return dtype == Dtype::kFloat64 ? 1e-12 * moved : steps * 0x1p-24 * (4 * size + 64 * 0.05 * 3.2);
}

TEST_P(TorchGolden, IsReproducedInEveryCase) {
  for (const GoldenCase& golden : golden_file().cases) {
    SCOPED_TRACE(golden.name + " " + std::string(name_of(golden.dtype)));
    std::vector<torch::NamedTensor> first;
    std::vector<torch::NamedTensor> second;
    std::map<std::string, at::Tensor> all;
    for (const auto& [name, shape] : golden_file().shapes) {
      all[name] = given(name, golden_file().start.at(name), golden.dtype).requires_grad_();
      (name == "bias" || name == "scalar" ? second : first).emplace_back(name, all[name]);
    }
    torch::Optimizer optimizer(
        std::vector<torch::ParameterGroup>{
            {first}, {second, {{"learning_rate", learning_rate_of(golden.options.rule) / 2}}}},
        golden.options);
    for (int step = 0; step < golden_file().steps; ++step) {
      const Arrays& gradients = golden_file().gradients[static_cast<std::size_t>(step)];
      for (auto& [name, value] : all) {
        test::set_gradient(value, gradients.contains(name)
                                      ? given(name, gradients.at(name), golden.dtype)
                                      : at::Tensor());
      }
      optimizer.set_learning_rate_factor(golden_file().learning_rate_factor(step));
      optimizer.step();
      const auto expected = golden.parameters_after.find(step);
      if (expected == golden.parameters_after.end()) {
        continue;
      }
      for (const auto& [name, values] : expected->second) {
        const at::Tensor wanted = at::tensor(values, at::kDouble).view_as(all[name]);
        const at::Tensor start = given(name, golden_file().start.at(name), golden.dtype).cpu();
        const double moved = (wanted - start).abs().max().item<double>();
        const double size = wanted.abs().max().item<double>();
        const double error = (all[name].detach().cpu() - wanted).abs().max().item<double>();
        EXPECT_LE(error, tolerance(golden.dtype, step + 1, moved, size)) << name << " " << step;
      }
    }
    for (const auto& [name, steps] : golden.final_steps) {
      EXPECT_EQ(optimizer.steps_of(name), steps) << name;
    }
  }
}

}  // namespace
}  // namespace sing
