// Defines the base of the suites that run on the CPU and on CUDA; the latter is skipped if there is
// no device.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "adapters/torch/optimizer.hpp"

namespace sing::test {

inline std::vector<std::string> torch_devices() { return {"cpu", "cuda"}; }

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "cuda" && !(is_cuda_available() && ::torch::cuda::is_available())) {
      GTEST_SKIP() << "no CUDA device";
    }
    device_ = at::Device(GetParam());
    ::torch::manual_seed(20240607);
  }

  at::Tensor tensor(const std::vector<double>& values, at::ScalarType type = at::kDouble) const {
    return at::tensor(values, at::kDouble).to(device_, type).requires_grad_();
  }

  at::Tensor random(at::IntArrayRef shape, at::ScalarType type = at::kFloat) const {
    return at::randn(shape, at::kDouble).to(device_, type);
  }

  at::Device device_ = at::kCPU;
};

inline std::string device_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

#define SING_ON_DEVICES(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(sing::test::torch_devices()), \
                           sing::test::device_name)

inline void set_gradient(const at::Tensor& tensor, const at::Tensor& gradient) {
  tensor.mutable_grad() = gradient;
}

// Returns options for the rule alone, without standardized gradients or LookAhead.
inline Options bare(const Rule& rule) {
  Options options;
  options.standardize = {.centralize = false, .normalize = Normalize::kOff};
  options.rule = rule;
  options.lookahead.reset();
  options.decay_vectors = true;
  return options;
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && at::equal(a.detach(), b.detach());
}

// Has parameters of several shapes whose gradients depend only on the step's number.
class SmallModel {
 public:
  SmallModel(at::Device device, at::ScalarType type, bool channels_last = false)
      : device_(device), type_(type) {
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes = {
        {"conv.weight", {4, 3, 2, 5}},
        {"linear.weight", {6, 7}},
        {"linear.bias", {6}},
        {"scale", {}}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      at::Tensor value = values_of(shapes[i].second, i);
      if (channels_last && value.dim() == 4) {
        value = value.contiguous(at::MemoryFormat::ChannelsLast);
      }
      parameters_.emplace_back(shapes[i].first, value.requires_grad_());
    }
  }

  // The bias has no gradient in the first two steps.
  void set_gradients(int step) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor& tensor = parameters_[i].second;
      tensor.mutable_grad() =
          i == 2 && step < 2
              ? at::Tensor()
              : values_of(tensor.sizes(), 100 + 10 * static_cast<std::uint64_t>(step) + i)
                    .to(tensor.device());
    }
  }

  void copy_from(const SmallModel& other) {
    const at::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].second.copy_(other.parameters_[i].second);
    }
  }

  void expect_same_bits(const SmallModel& other, const std::string& what) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      EXPECT_TRUE(same_bits(parameters_[i].second, other.parameters_[i].second))
          << what << ": " << parameters_[i].first;
    }
  }

  std::vector<torch::NamedTensor>& parameters() { return parameters_; }
  at::Tensor& operator[](std::size_t i) { return parameters_[i].second; }

 private:
  at::Tensor values_of(at::IntArrayRef shape, std::uint64_t seed) const {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randn(shape, generator, at::kDouble).to(device_, type_);
  }

  at::Device device_;
  at::ScalarType type_;
  std::vector<torch::NamedTensor> parameters_;
};

}  // namespace sing::test
