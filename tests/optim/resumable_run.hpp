// Defines a small run with two groups and a late parameter, whose steps depend only on their
// number, so that it can be stopped, resumed and compared.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"

namespace sing::test {

class ResumableRun {
 public:
  static constexpr std::size_t kLate = 2;  // has no gradient in steps 0 to 2
  static constexpr std::size_t kTensors = 5;

  ResumableRun(std::shared_ptr<Backend> backend, Dtype dtype, const Options& options)
      : backend_(std::move(backend)), optimizer_(options, backend_) {
    const std::vector<std::int64_t> shapes[kTensors] = {{3, 7}, {2, 3, 4}, {4}, {}, {5}};
    const char* const names[kTensors] = {"weight", "conv", "late", "scalar", "bias"};
    std::vector<Parameter> list;
    for (std::size_t i = 0; i < kTensors; ++i) {
      parameters_.emplace_back(backend_, dtype, shapes[i], random_values(i, product(shapes[i])));
      gradients_.emplace_back(backend_, dtype, shapes[i]);
      list.push_back(parameters_[i].parameter(names[i]));
    }
    optimizer_.add_group({list.begin(), list.begin() + 3});
    optimizer_.add_group({list.begin() + 3, list.end()}, {{"learning_rate", 0.03125}});
  }

  void take_step(int step) {
    for (std::size_t i = 0; i < kTensors; ++i) {
      gradients_[i].set(
          random_values(100 + 10 * static_cast<std::uint64_t>(step) + i, gradients_[i].size()));
      const bool absent = i == kLate && step < 3;
      optimizer_.set_gradient(i, absent ? nullptr : gradients_[i].data());
    }
    optimizer_.step();
  }

  void spoil_gradient(std::size_t tensor) {
    std::vector<double> values = gradients_[tensor].values();
    values.front() = std::numeric_limits<double>::infinity();
    gradients_[tensor].set(values);
  }

  // The caller has to save the parameters; here they are copied by hand.
  void copy_parameters(const ResumableRun& other) {
    for (std::size_t i = 0; i < kTensors; ++i) {
      parameters_[i].set_bytes(other.parameters_[i].bytes());
    }
  }

  // Returns the parameters, state, counters and options.
  std::vector<std::string> everything() {
    std::vector<std::string> all;
    const std::vector<TensorProgress> progress = optimizer_.tensor_progress();
    for (std::size_t i = 0; i < kTensors; ++i) {
      all.push_back(parameters_[i].bytes());
      all.push_back(fmt::format("{} {} {}", optimizer_.parameter_name(i), progress[i].steps,
                                progress[i].non_finite));
      if (progress[i].steps == 0) {
        continue;  // arrays that exist before the first update hold nothing yet
      }
      for (const StateTensor& tensor : optimizer_.state(i)) {
        std::string bytes(static_cast<std::size_t>(product(tensor.shape)) * size_of(tensor.dtype),
                          '\0');
        backend_->read(bytes.data(), tensor.memory.get(), bytes.size());
        all.push_back(tensor.name);
        all.push_back(std::move(bytes));
      }
    }
    const OptimizerProgress status = optimizer_.status();
    all.push_back(fmt::format("{} {}", status.skipped_steps, status.skipped_tensors));
    for (std::size_t group = 0; group < optimizer_.group_count(); ++group) {
      for (const OptionInfo& info : list_options(optimizer_.options(group))) {
        all.push_back(fmt::format("{}={}", info.name, to_text(info.value)));
      }
    }
    return all;
  }

  Optimizer& optimizer() { return optimizer_; }

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<DeviceTensor> parameters_;
  std::vector<DeviceTensor> gradients_;
  Optimizer optimizer_;
};

}  // namespace sing::test
