// The oracle that the other backends are tested against: every stage of a step in double, sums in
// long double, one element at a time, in the order of docs/algorithm.md. Slow on purpose.
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

#include "sing/backend/host_backend.hpp"
#include "sing/backend/reference/textbook_newton_schulz.hpp"
#include "sing/backend/shard_sums.hpp"
#include "sing/base/element_access.hpp"

namespace sing {
namespace {

// The statistics of one tensor's gradient.
struct Measured {
  std::vector<double> row_means;
  GradientScale scale{};
};

std::int64_t row_of(const Layout& layout, std::int64_t index) {
  return (index / layout.inner) % layout.rows;
}

// Replaces values of a part, such as one per row, by their sums over all parts of the tensor.
void sum_over_parts(const StepRequest& request, const TensorStep& tensor, const Region& region,
                    std::span<double> values) {
  std::vector<double> whole(static_cast<std::size_t>(region.whole_size()));
  const auto in_whole = [&](std::size_t i) {
    return static_cast<std::size_t>(region.in_whole(static_cast<std::int64_t>(i)));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    whole[in_whole(i)] += values[i];
  }
  (*request.sum_shards)(whole, tensor.shard->sum_group);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = whole[in_whole(i)];
  }
}

GradientSums sum_over_parts(const StepRequest& request, std::size_t index,
                            const GradientSums& part) {
  GradientSums sums[] = {part};
  StepRequest alone = request;
  alone.tensors = request.tensors.subspan(index, 1);
  PackedSums packed;
  sum_gradient_sums(alone, packed, sums);
  return sums[0];
}

Measured measure(const StepRequest& request, std::size_t index) {
  const TensorStep& tensor = request.tensors[index];
  const GroupStep& group = request.groups[tensor.group];
  const Layout& layout = tensor.layout;
  const std::int64_t size = tensor.gradient != nullptr ? layout.size : 0;
  Measured measured;
  measured.row_means.assign(static_cast<std::size_t>(layout.rows), 0.0);
  const auto gradient = [&](std::int64_t i) {
    return load_element(tensor.gradient, tensor.gradient_dtype, i);
  };
  const auto mean = [&](std::int64_t i) {
    return measured.row_means[static_cast<std::size_t>(row_of(layout, i))];
  };
  // The sums are in long double: the oracle must be more exact than a backend in float64.
  if (group.standardize.centralizes(layout.rank)) {
    std::vector<long double> row_sums(static_cast<std::size_t>(layout.rows));
    for (std::int64_t i = 0; i < size; ++i) {
      row_sums[static_cast<std::size_t>(row_of(layout, i))] += gradient(i);
    }
    std::int64_t row_length = layout.row_length();
    if (tensor.shard != nullptr && tensor.shard->cuts_rows) {
      std::vector<double> sums(row_sums.begin(), row_sums.end());
      sum_over_parts(request, tensor, tensor.shard->rows, sums);
      row_sums.assign(sums.begin(), sums.end());
      row_length = tensor.shard->whole.row_length();
    }
    for (std::size_t row = 0; row < row_sums.size(); ++row) {
      measured.row_means[row] =
          static_cast<double>(row_sums[row] / static_cast<long double>(row_length));
    }
  }
  long double squares = 0;
  long double centred_squares = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const long double value = gradient(i);
    const long double centred = value - mean(i);
    squares += value * value;
    centred_squares += centred * centred;
  }
  GradientSums sums{.squares = static_cast<double>(squares),
                    .centred_squares = static_cast<double>(centred_squares)};
  if (tensor.shard != nullptr) {
    sums = sum_over_parts(request, index, sums);
  }
  measured.scale = gradient_scale(group.standardize, sums, tensor.whole_size(), tensor.dtype,
                                  request.loss_scale);
  return measured;
}

// The update of one tensor whose gradient has been measured and accepted.
template <class R>
class ReferenceUpdate {
 public:
  ReferenceUpdate(const R& rule, const GroupStep& group, const StepRequest& request,
                  const TensorStep& tensor, const Measured& measured)
      : request_(request),
        tensor_(tensor),
        layout_(tensor.layout),
        measured_(measured),
        state_dtype_(state_dtype(tensor.dtype)),
        constants_(
            rule.template constants<double>({.step = tensor.progress->steps,
                                             .learning_rate = group.learning_rate(),
                                             .weight_decay = group.weight_decay(tensor.layout.rank),
                                             .factored = tensor.layout.factored(),
                                             .rows = kIsOrthogonal<R> ? whole().leading : 0,
                                             .columns = kIsOrthogonal<R> ? row_length() : 0})) {
    if constexpr (kIsOrthogonal<R>) {
      orthogonalizes_ = rule.orthogonalizes(layout_.factored());
      newton_schulz_ = rule.newton_schulz();
    }
    if (group.lookahead && (group.progress->steps + 1) % group.lookahead->period == 0) {
      merge_alpha_ = group.lookahead->alpha;
    }
  }

  void run() {
    if constexpr (kIsFactored<R>) {
      if (layout_.factored()) {
        update_factors();
      }
    }
    if constexpr (kHasSums<R>) {
      double totals[kSumCount<R>] = {};
      for (std::int64_t i = 0; i < layout_.size; ++i) {
        double values[kSumCount<R>];
        R::sums(constants_, element(i), state(i), values);
        for (std::size_t k = 0; k < kSumCount<R>; ++k) {
          totals[k] += values[k];
        }
      }
      if (tensor_.shard != nullptr) {
        (*request_.sum_shards)(totals, tensor_.shard->sum_group);
      }
      R::finish(constants_, totals, tensor_.whole_size());
    }
    if constexpr (kHasScalars<R>) {
      ScalarState<R> scalars{};
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        scalars.slot[k] = load_element(scalar_slot(k), state_dtype_, 0);
      }
      R::advance(constants_, scalars);
      for (std::size_t k = 0; k < kScalarSlotCount<R>; ++k) {
        store_element(scalar_slot(k), state_dtype_, 0, scalars.slot[k]);
      }
    }
    if constexpr (kIsOrthogonal<R>) {
      orthogonalize();
    }
    for (std::int64_t i = 0; i < layout_.size; ++i) {
      ElementState<R, double> next = state(i);
      double parameter = R::update(constants_, element(i), next);
      if (merge_alpha_) {
        const double slow = load_element(tensor_.slow, state_dtype_, i);
        parameter = Lookahead::merge(*merge_alpha_, parameter, slow);
        store_element(tensor_.slow, state_dtype_, i, parameter);
      }
      store_working(i, parameter);
      for (std::size_t k = 0; k < kElementSlotCount<R>; ++k) {
        if (tensor_.slots[k] != nullptr) {
          store_slot(k, i, next.slot[k]);
        }
      }
    }
  }

 private:
  std::int64_t row_length() const {
    return whole().leading == 0 ? 0 : whole().size / whole().leading;
  }

  // Computes the second input of all elements.
  void orthogonalize() {
    if (!orthogonalizes_ || whole().size == 0) {
      return;
    }
    // Every process makes the whole matrix orthogonal and keeps its part of the result.
    std::vector<double> matrix(static_cast<std::size_t>(whole().size));
    for (std::int64_t i = 0; i < layout_.size; ++i) {
      matrix[place_in_whole(i)] = R::matrix_input(constants_, element(i), state(i));
    }
    if (tensor_.shard != nullptr) {
      (*request_.sum_shards)(matrix, tensor_.shard->sum_group);
    }
    matrix =
        textbook_newton_schulz(newton_schulz_, whole().leading, row_length(), std::move(matrix));
    orthogonal_.resize(static_cast<std::size_t>(layout_.size));
    for (std::int64_t i = 0; i < layout_.size; ++i) {
      orthogonal_[static_cast<std::size_t>(i)] = matrix[place_in_whole(i)];
    }
  }

  std::size_t place_in_whole(std::int64_t i) const {
    return static_cast<std::size_t>(tensor_.shard != nullptr ? tensor_.shard->elements.in_whole(i)
                                                             : i);
  }

  double working(std::int64_t i) const {
    return tensor_.master != nullptr ? tensor_.master[i]
                                     : load_element(tensor_.parameter, tensor_.dtype, i);
  }

  void store_working(std::int64_t i, double value) const {
    if (tensor_.master != nullptr) {
      tensor_.master[i] = static_cast<float>(value);
    }
    store_element(tensor_.parameter, tensor_.dtype, i, value);
    if (tensor_.low_precision_copy != nullptr) {
      store_element(tensor_.low_precision_copy, tensor_.low_precision_dtype, i, value);
    }
  }

  double gradient(std::int64_t i) const {
    return standardized(load_element(tensor_.gradient, tensor_.gradient_dtype, i),
                        measured_.row_means[static_cast<std::size_t>(row_of(layout_, i))],
                        measured_.scale.factor);
  }

  ElementState<R, double> state(std::int64_t i) const {
    ElementState<R, double> values{};
    for (std::size_t k = 0; k < kElementSlotCount<R>; ++k) {
      if (tensor_.slots[k] != nullptr) {
        values.slot[k] = load_element(tensor_.slots[k],
                                      slot_dtype(R::kSlots[k], tensor_.state, tensor_.dtype), i);
      }
    }
    return values;
  }

  void store_slot(std::size_t k, std::int64_t i, double value) const {
    if (is_rounded(R::kSlots[k], tensor_.state)) {
      static_cast<BFloat16*>(tensor_.slots[k])[i] =
          tensor_.rounding(k)(static_cast<float>(value), tensor_.rounded_element(i));
    } else {
      store_element(tensor_.slots[k], state_dtype_, i, value);
    }
  }

  Element<double> element(std::int64_t i) const {
    Element<double> values{.gradient = gradient(i), .parameter = working(i), .second_input = 0};
    if constexpr (kIsFactored<R>) {
      if (layout_.factored()) {
        const std::int64_t row = i / layout_.columns;
        const std::int64_t matrix = row / layout_.matrix_rows;
        values.second_input =
            R::factor_estimate(load_element(row_slot(), state_dtype_, row),
                               load_element(column_slot(), state_dtype_,
                                            matrix * layout_.columns + i % layout_.columns),
                               mean_of_rows_[static_cast<std::size_t>(matrix)]);
      }
    }
    if constexpr (kTakesCurvature<R>) {
      values.second_input =
          tensor_.curvature == nullptr
              ? values.gradient
              : load_element(tensor_.curvature, tensor_.gradient_dtype, i) / request_.loss_scale;
    }
    if constexpr (kIsOrthogonal<R>) {
      values.second_input = orthogonal_.empty() ? 0 : orthogonal_[static_cast<std::size_t>(i)];
    }
    return values;
  }

  // Blends the means of factor_input over each matrix row and column into the two factor slots.
  void update_factors() {
    std::vector<double> rows(static_cast<std::size_t>(layout_.matrix_row_count()));
    std::vector<double> columns(static_cast<std::size_t>(layout_.matrix_column_count()));
    for (std::int64_t i = 0; i < layout_.size; ++i) {
      const std::int64_t row = i / layout_.columns;
      const std::int64_t column = row / layout_.matrix_rows * layout_.columns + i % layout_.columns;
      const double input = R::factor_input(constants_, gradient(i));
      rows[static_cast<std::size_t>(row)] += input / static_cast<double>(whole().columns);
      columns[static_cast<std::size_t>(column)] += input / static_cast<double>(whole().matrix_rows);
    }
    const ShardLayout* shard = tensor_.shard;
    if (shard != nullptr && shard->cuts_matrix_rows) {
      sum_over_parts(request_, tensor_, shard->matrix_rows, rows);
    }
    if (shard != nullptr && shard->cuts_matrix_columns) {
      sum_over_parts(request_, tensor_, shard->matrix_columns, columns);
    }
    blend(rows, row_slot());
    blend(columns, column_slot());
    mean_of_rows_.assign(static_cast<std::size_t>(layout_.matrices), 0.0);
    // A row that is cut has its slot in several parts, which count it by their shares.
    const double share =
        static_cast<double>(layout_.columns) / static_cast<double>(whole().columns);
    for (std::int64_t row = 0; row < layout_.matrix_row_count(); ++row) {
      mean_of_rows_[static_cast<std::size_t>(row / layout_.matrix_rows)] +=
          load_element(row_slot(), state_dtype_, row) * share /
          static_cast<double>(whole().matrix_rows);
    }
    if (shard != nullptr) {
      sum_over_parts(request_, tensor_, shard->matrices, mean_of_rows_);
    }
  }

  const Layout& whole() const { return tensor_.whole(); }

  void blend(const std::vector<double>& means, void* slot) const {
    for (std::size_t k = 0; k < means.size(); ++k) {
      const auto index = static_cast<std::int64_t>(k);
      const double old = load_element(slot, state_dtype_, index);
      store_element(slot, state_dtype_, index, R::factor_blend(constants_, old, means[k]));
    }
  }

  void* scalar_slot(std::size_t k) const { return tensor_.slots[kFirstScalarSlot<R> + k]; }
  void* row_slot() const { return tensor_.slots[kElementSlotCount<R>]; }
  void* column_slot() const { return tensor_.slots[kElementSlotCount<R> + 1]; }

  const StepRequest& request_;
  const TensorStep& tensor_;
  const Layout& layout_;
  const Measured& measured_;
  Dtype state_dtype_;
  typename R::template Constants<double> constants_;
  std::optional<double> merge_alpha_;  // set in the steps in which LookAhead merges
  std::vector<double> mean_of_rows_;   // one per matrix
  bool orthogonalizes_ = false;
  NewtonSchulz newton_schulz_{};
  std::vector<double> orthogonal_;
};

// Sets the state of a parameter before its first update.
void start_state(const TensorStep& tensor) {
  for (std::int64_t i = 0; i < tensor.layout.size; ++i) {
    const double value = load_element(tensor.parameter, tensor.dtype, i);
    if (tensor.master != nullptr) {
      tensor.master[i] = static_cast<float>(value);
    }
    if (tensor.slow != nullptr) {
      store_element(tensor.slow, state_dtype(tensor.dtype), i, value);
    }
  }
}

// Scales down the gradients of groups that limit the norm of all gradients together.
void clip(const StepRequest& request, std::vector<Measured>& measured) {
  double squares = 0;
  for (const Measured& each : measured) {
    if (each.scale.finite) {
      squares += each.scale.gradient_norm * each.scale.gradient_norm;
    }
  }
  const double total_norm = request.total_norm.value_or(std::sqrt(squares));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const GroupStep& group = request.groups[request.tensors[i].group];
    if (const std::optional<double> limit = group.clip_limit()) {
      measured[i].scale.factor *= clip_factor(*limit, total_norm);
    }
  }
}

void update_tensor(const StepRequest& request, const TensorStep& tensor, const Measured& measured) {
  const GroupStep& group = request.groups[tensor.group];
  if (tensor.progress->steps == 0) {
    start_state(tensor);
  }
  ++tensor.progress->steps;
  std::visit(
      [&]<class R>(const R& rule) {
        ReferenceUpdate<R>(rule, group, request, tensor, measured).run();
      },
      group.rule);
}

class ReferenceBackend final : public HostBackend {
 public:
  std::shared_ptr<void> allocate(std::size_t bytes) override {
    void* memory = std::calloc(bytes == 0 ? 1 : bytes, 1);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return {memory, std::free};
  }

  void convert(void* destination, Dtype destination_dtype, const void* source, Dtype source_dtype,
               std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      store_element(destination, destination_dtype, i, load_element(source, source_dtype, i));
    }
  }

  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      const double from = load_element(blend.from, blend.from_dtype, i);
      const double towards = load_element(blend.towards, state_dtype(to_dtype), i);
      store_element(to, to_dtype, i, from + blend.share * (towards - from));
    }
  }

  std::size_t scratch_bytes() const override { return 0; }

  void step(const StepRequest& request) override {
    std::vector<Measured> measured(request.tensors.size());
    OptimizerProgress& progress = *request.progress;
    std::int64_t first_non_finite = 0;
    for (std::size_t i = 0; i < request.tensors.size(); ++i) {
      const TensorStep& tensor = request.tensors[i];
      if (tensor.gradient == nullptr && tensor.shard == nullptr) {
        continue;
      }
      measured[i] = measure(request, i);
      if (tensor.gradient == nullptr) {
        continue;
      }
      tensor.progress->gradient_norm = measured[i].scale.gradient_norm;
      if (!measured[i].scale.finite && first_non_finite == 0) {
        first_non_finite = static_cast<std::int64_t>(i) + 1;
      }
    }
    if (first_non_finite != 0) {
      progress.first_non_finite = first_non_finite;
      if (request.non_finite == NonFinite::kSkipStep || request.non_finite == NonFinite::kThrow) {
        ++progress.skipped_steps;
        return;
      }
    }
    clip(request, measured);
    for (std::size_t i = 0; i < request.tensors.size(); ++i) {
      const TensorStep& tensor = request.tensors[i];
      if (tensor.gradient == nullptr) {
        continue;
      }
      if (!measured[i].scale.finite) {
        ++tensor.progress->non_finite;
        if (request.non_finite == NonFinite::kSkipTensor) {
          ++progress.skipped_tensors;
          continue;
        }
      }
      update_tensor(request, tensor, measured[i]);
    }
    for (const GroupStep& group : request.groups) {
      ++group.progress->steps;
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace sing
