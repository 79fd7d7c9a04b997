// Defines a list of tensors with all the memory a step touches, on any backend, without an
// optimizer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sing/backend/backend.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"

namespace sing::test {

using Shape = std::vector<std::int64_t>;

struct ListTypes {
  Dtype parameter = Dtype::kFloat32;
  Dtype gradient = Dtype::kFloat32;
  bool master = false;
  bool copy = false;
};

// Softplus keeps the update a smooth function of the gradient, so that the update's rounding error
// is of the same order as the gradient's.
inline GroupStep soft_adamw() {
  GroupStep group;
  group.rule = AdamW{.learning_rate = 1e-2, .weight_decay = 1e-2, .softplus_beta = 50};
  group.lookahead = Lookahead{.period = 3, .alpha = 0.5};
  return group;
}

class StepList {
 public:
  // `offset` is the number of elements by which every array is misaligned.
  StepList(std::shared_ptr<Backend> backend, const std::vector<Shape>& shapes,
           const ListTypes& types, GroupStep group, std::size_t offset = 0)
      : backend_(std::move(backend)),
        progress_(backend_->allocate(sizeof(OptimizerProgress))),
        group_progress_(backend_->allocate(sizeof(GroupProgress))),
        tensor_progress_(backend_->allocate(sizeof(TensorProgress) * (shapes.size() + 1))) {
    group.progress = static_cast<GroupProgress*>(group_progress_.get());
    groups_.push_back(std::move(group));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      add(shapes[i], types, offset, i);
    }
  }

  // Draws random numbers around 0.25, so that row means matter; `step` is their seed.
  void set_gradients(int step) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      std::vector<double> values =
          random_values(1000 + 100 * static_cast<std::uint64_t>(step) + i, gradients_[i].size());
      for (double& value : values) {
        value += 0.25;
      }
      gradients_[i].set(values);
    }
  }

  // Sets one element of a gradient, for example to NaN.
  void poison(std::size_t tensor, std::size_t element, double value) {
    std::vector<double> values = gradients_.at(tensor).values();
    values.at(element) = value;
    gradients_[tensor].set(values);
  }

  StepRequest request() {
    return {.groups = groups_,
            .tensors = tensors_,
            .progress = static_cast<OptimizerProgress*>(progress_.get()),
            .non_finite = non_finite,
            .loss_scale = 1,
            .version = 1};
  }

  void step() { backend_->step(request()); }

  // Returns everything that a step may write, in one string.
  std::string bytes() const {
    std::string all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      all += parameters_[i].bytes();
      for (const DeviceTensor& array : state_[i]) {
        all += array.bytes();
      }
    }
    return all;
  }

  bool sentinels_intact() const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (const DeviceTensor& array : state_[i]) {
        if (!array.sentinels_intact()) {
          return false;
        }
      }
      if (!parameters_[i].sentinels_intact()) {
        return false;
      }
    }
    return true;
  }

  OptimizerProgress progress() const { return read<OptimizerProgress>(progress_.get()); }
  std::int64_t group_steps() const { return read<GroupProgress>(group_progress_.get()).steps; }
  TensorProgress tensor_progress(std::size_t i) const {
    return read<TensorProgress>(static_cast<TensorProgress*>(tensor_progress_.get()) + i);
  }

  GroupStep& group() { return groups_[0]; }
  std::vector<TensorStep>& tensors() { return tensors_; }
  std::vector<DeviceTensor>& gradients() { return gradients_; }
  const std::vector<DeviceTensor>& parameters() const { return parameters_; }
  const std::vector<std::vector<DeviceTensor>>& state() const { return state_; }

  NonFinite non_finite = NonFinite::kSkipTensor;

 private:
  template <class Record>
  Record read(const void* memory) const {
    Record record;
    backend_->read(&record, memory, sizeof(record));
    return record;
  }

  Shape slot_shape(const Shape& shape, SlotShape kind) const {
    const Layout layout = make_layout(shape, 0);
    switch (kind) {
      case SlotShape::kMatrixRow:
        return {layout.matrix_row_count()};
      case SlotShape::kMatrixColumn:
        return {layout.matrix_column_count()};
      case SlotShape::kScalar:
        return {1};
      default:
        return shape;
    }
  }

  void add(const Shape& shape, const ListTypes& types, std::size_t offset, std::size_t index) {
    const GroupStep& group = groups_[0];
    const Dtype state_type = state_dtype(types.parameter);
    parameters_.emplace_back(backend_, types.parameter, shape, offset);
    parameters_.back().set(random_values(index, product(shape)));
    gradients_.emplace_back(backend_, types.gradient, shape, offset);
    state_.emplace_back();
    TensorStep tensor;
    const std::int64_t axis = shape.size() >= 2 ? group.standardize.centralize_axis : 0;
    tensor.layout = make_layout(shape, axis);
    tensor.dtype = types.parameter;
    tensor.gradient_dtype = types.gradient;
    tensor.parameter = parameters_.back().data();
    tensor.gradient = gradients_.back().data();
    tensor.progress = static_cast<TensorProgress*>(tensor_progress_.get()) + index;
    const auto array = [&](Dtype dtype, const Shape& of) {
      return state_.back().emplace_back(backend_, dtype, of, offset).data();
    };
    std::visit(
        [&]<class R>(const R& rule) {
          for (std::size_t k = 0; k < kSlotCount<R>; ++k) {
            if (rule.uses_slot(k, tensor.layout.factored())) {
              tensor.slots[k] = array(state_type, slot_shape(shape, R::kSlots[k].shape));
            }
          }
        },
        group.rule);
    if (group.lookahead) {
      tensor.slow = array(state_type, shape);
    }
    if (types.master) {
      tensor.master = static_cast<float*>(array(Dtype::kFloat32, shape));
    }
    if (types.copy) {
      tensor.low_precision_copy = array(Dtype::kBFloat16, shape);
    }
    tensors_.push_back(tensor);
  }

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<void> progress_, group_progress_, tensor_progress_;
  std::vector<GroupStep> groups_;
  std::vector<TensorStep> tensors_;
  std::vector<DeviceTensor> parameters_, gradients_;
  std::vector<std::vector<DeviceTensor>> state_;
};

// Returns shapes of ranks 0 to 4, with tiny tensors, tensors of one chunk and of several, rows
// shorter and longer than a segment and than a chunk, and lengths that are not multiples of a pack.
inline std::vector<Shape> mixed_shapes() {
  return {{},          {1},         {7},      {0},          {64},           {700},     {20'001},
          {5, 1},      {3, 7},      {12, 64}, {4, 3, 3, 3}, {300, 333},     {96, 384}, {40, 1536},
          {3, 20'000}, {2, 17'003}, {64, 27}, {50'021, 2},  {3, 2, 61, 101}};
}

// Returns the largest |a − b| over all parameters.
inline double worst_difference(const StepList& a, const StepList& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    const std::vector<double> left = a.parameters()[i].values();
    const std::vector<double> right = b.parameters()[i].values();
    for (std::size_t k = 0; k < left.size(); ++k) {
      const double difference = std::abs(left[k] - right[k]);
      worst = difference <= worst ? worst : difference;
    }
  }
  return worst;
}

}  // namespace sing::test
