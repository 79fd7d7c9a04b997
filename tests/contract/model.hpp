// Parameters of many shapes with reproducible gradients under one optimizer on one backend.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"

namespace sing::test {

using Shape = std::vector<std::int64_t>;

// Ranks 0 to 4, rows of 1 and 7, trailing ones, nothing at all.
inline std::vector<Shape> small_shapes() {
  return {{},     {1},    {7},          {64},         {129},        {0},       {5, 1},  {1, 7},
          {3, 7}, {9, 2}, {12, 64},     {4, 3, 3, 3}, {2, 3, 1, 5}, {1, 6, 8}, {0, 4},  {3, 0},
          {1, 1}, {2, 3}, {6, 1, 1, 1}, {31, 33}};
}

// Longer than one chunk of work in every direction.
inline std::vector<Shape> large_shapes() {
  return {{300, 333}, {70'001}, {2, 40'007}, {50'021, 2}, {3, 2, 61, 101}};
}

struct Types {
  Dtype parameter;
  Dtype gradient;
  bool master = false;

  std::string name() const {
    return concat(name_of(parameter), " parameters, ", name_of(gradient), " gradients",
                  master ? ", masters" : "");
  }
};

inline std::vector<Types> all_types() {
  return {{Dtype::kFloat32, Dtype::kFloat32},        {Dtype::kFloat64, Dtype::kFloat64},
          {Dtype::kBFloat16, Dtype::kBFloat16},      {Dtype::kFloat16, Dtype::kFloat16},
          {Dtype::kFloat32, Dtype::kBFloat16},       {Dtype::kBFloat16, Dtype::kFloat32},
          {Dtype::kBFloat16, Dtype::kBFloat16, true}, {Dtype::kFloat16, Dtype::kFloat32, true}};
}

class Model {
 public:
  Model(std::shared_ptr<Backend> backend,
        const std::vector<Shape>& shapes,
        const Types& types,
        Options options)
      : backend_(std::move(backend)) {
    options.master_weights = types.master;
    std::vector<Parameter> list;
    parameters_.reserve(shapes.size());
    gradients_.reserve(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      parameters_.emplace_back(backend_, types.parameter, shapes[i],
                               random_values(i, product(shapes[i])));
      gradients_.emplace_back(backend_, types.gradient, shapes[i]);
      list.push_back(parameters_[i].parameter(std::to_string(i), gradients_[i]));
    }
    optimizer_ = std::make_unique<Optimizer>(std::move(list), std::move(options), backend_);
  }

  // Random numbers about 0.25, so that row means matter.
  void set_gradients(int step) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const auto seed = 1000 + 100 * static_cast<std::uint64_t>(step) + i;
      std::vector<double> values = random_values(seed, gradients_[i].size());
      for (double& value : values) {
        value += 0.25;
      }
      gradients_[i].set(values);
    }
  }

  void take_step(int step) {
    set_gradients(step);
    optimizer_->step();
  }

  std::size_t count() const { return parameters_.size(); }
  DeviceTensor& parameter(std::size_t i) { return parameters_[i]; }
  DeviceTensor& gradient(std::size_t i) { return gradients_[i]; }
  Optimizer& optimizer() { return *optimizer_; }

  std::string state_bytes(const StateTensor& tensor) const {
    std::string bytes(static_cast<std::size_t>(product(tensor.shape)) * size_of(tensor.dtype), '\0');
    backend_->read(bytes.data(), tensor.memory, bytes.size());
    return bytes;
  }

  // Everything a step may write, for comparisons bit by bit.
  std::vector<std::string> all_bytes() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      all.push_back(parameters_[i].bytes());
      for (const StateTensor& tensor : optimizer_->state(i)) {
        all.push_back(state_bytes(tensor));
      }
    }
    return all;
  }

  void expect_sentinels() const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      EXPECT_TRUE(parameters_[i].sentinels_intact()) << "parameter " << i;
      EXPECT_TRUE(gradients_[i].sentinels_intact()) << "gradient " << i;
    }
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<DeviceTensor> parameters_;
  std::vector<DeviceTensor> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace sing::test
