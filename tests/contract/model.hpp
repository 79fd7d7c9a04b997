// Defines parameters of many shapes with reproducible gradients under one optimizer on one backend.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"

namespace sing::test {

using Shape = std::vector<std::int64_t>;

// Returns shapes of ranks 0 to 4, with rows of 1 and 7, trailing ones, and no elements at all.
inline std::vector<Shape> small_shapes() {
  return {{},     {1},    {7},    {64},     {129},        {0},          {5, 1},
          {1, 7}, {3, 7}, {9, 2}, {12, 64}, {4, 3, 3, 3}, {2, 3, 1, 5}, {1, 6, 8},
          {0, 4}, {3, 0}, {1, 1}, {2, 3},   {6, 1, 1, 1}, {31, 33}};
}

// ThreadSanitizer makes the tests about twenty times slower, and a few tensors of more than one
// chunk are enough for it to find a race.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kWatchesThreads = true;
#else
inline constexpr bool kWatchesThreads = false;
#endif

// Returns shapes longer than one chunk of work in every direction.
inline std::vector<Shape> large_shapes() {
  return {{300, 333}, {70'001}, {2, 40'007}, {50'021, 2}, {3, 2, 61, 101}};
}

struct Types {
  Dtype parameter;
  Dtype gradient;
  bool master = false;
  StateType state = StateType::kFloat32;

  std::string name() const {
    return fmt::format("{} parameters, {} gradients{}{}", name_of(parameter), name_of(gradient),
                       master ? ", masters" : "",
                       state == StateType::kBFloat16 ? ", bfloat16 state" : "");
  }
};

inline std::vector<Types> all_types() {
  return {{Dtype::kFloat32, Dtype::kFloat32},         {Dtype::kFloat64, Dtype::kFloat64},
          {Dtype::kBFloat16, Dtype::kBFloat16},       {Dtype::kFloat16, Dtype::kFloat16},
          {Dtype::kFloat32, Dtype::kBFloat16},        {Dtype::kBFloat16, Dtype::kFloat32},
          {Dtype::kBFloat16, Dtype::kBFloat16, true}, {Dtype::kFloat16, Dtype::kFloat32, true}};
}

// Returns ±1 where the sum of an element's indices is even or odd: every row of every axis is
// balanced.
inline double checkerboard(const Shape& shape, std::int64_t element) {
  std::int64_t sum = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    sum += element % shape[axis];
    element /= shape[axis];
  }
  return sum % 2 == 0 ? 1 : -1;
}

// Returns 1/4 ± [1/2, 1): row means matter, and no element is near its row's mean or changes sign
// from seed to seed. Elements that cancel would carry rounding errors larger than themselves, and
// rules that divide a gradient by its own size would magnify them.
inline std::vector<double> well_conditioned_values(std::uint64_t seed, const Shape& shape) {
  std::vector<double> values = random_values(seed, product(shape));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        0.25 + checkerboard(shape, static_cast<std::int64_t>(i)) * (0.75 + 0.25 * values[i]);
  }
  return values;
}

class Model {
 public:
  Model(std::shared_ptr<Backend> backend, const std::vector<Shape>& shapes, const Types& types,
        Options options)
      : backend_(std::move(backend)) {
    options.master_weights = types.master;
    options.state = types.state;
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

  void set_gradients(int step) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      gradients_[i].set(well_conditioned_values(1000 + 100 * static_cast<std::uint64_t>(step) + i,
                                                gradients_[i].shape()));
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
  const std::shared_ptr<Backend>& backend() const { return backend_; }

  std::string state_bytes(const StateTensor& tensor) const {
    std::string bytes(static_cast<std::size_t>(product(tensor.shape)) * size_of(tensor.dtype),
                      '\0');
    backend_->read(bytes.data(), tensor.memory.get(), bytes.size());
    return bytes;
  }

  // Returns everything a step may write, for comparisons bit by bit.
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
