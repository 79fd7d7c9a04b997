// Swapping the fast weights for those of evaluation.
#include "sing/optim/weight_swap.hpp"

#include "sing/base/message.hpp"

namespace sing {
namespace {

// The average that the rule keeps, as a blend of the parameter and one of its slots; none if the
// rule keeps none or the tensor has no state.
std::optional<Blend> average_of(const Rule& rule, const TensorStep& tensor) {
  return std::visit(
      [&]<class R>(const R& each) -> std::optional<Blend> {
        if constexpr (kHasEvaluationSlot<R>) {
          const void* const slot = tensor.slots[R::kEvaluationSlot];
          if (slot == nullptr) {
            return std::nullopt;
          }
          const bool has_master = tensor.master != nullptr;
          return Blend{.from = has_master ? tensor.master : tensor.parameter,
                       .from_dtype = has_master ? Dtype::kFloat32 : tensor.dtype,
                       .towards = slot,
                       .share = each.evaluation_share()};
        } else {
          return std::nullopt;
        }
      },
      rule);
}

}  // namespace

void WeightSwap::use_slow(std::span<const GroupStep> groups, std::span<const TensorStep> tensors,
                          std::span<const TensorProgress> progress) {
  SING_CHECK(!slow_in_use_, "[optimizer] wanted fast weights in use, got slow weights already");
  // The fast weights are copied instead of swapped into the slow array: a 16-bit parameter cannot
  // hold the slow weights exactly, and both must come back as they were.
  std::vector<std::shared_ptr<void>> kept(tensors.size());
  std::vector<std::optional<Blend>> averages(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorStep& tensor = tensors[i];
    averages[i] = average_of(groups[tensor.group].rule, tensor);
    if (progress[i].steps > 0 && (tensor.slow != nullptr || averages[i])) {
      kept[i] =
          backend_->allocate(static_cast<std::size_t>(tensor.layout.size) * size_of(tensor.dtype));
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorStep& tensor = tensors[i];
    if (kept[i] == nullptr) {
      continue;
    }
    backend_->convert(kept[i].get(), tensor.dtype, tensor.parameter, tensor.dtype,
                      tensor.layout.size);
    if (tensor.slow != nullptr) {
      write(tensor, tensor.slow, state_dtype(tensor.dtype));
    } else {
      write_average(tensor, *averages[i]);
    }
  }
  fast_weights_ = std::move(kept);
  slow_in_use_ = true;
}

void WeightSwap::use_fast(std::span<const TensorStep> tensors) {
  SING_CHECK(slow_in_use_, "[optimizer] wanted slow weights in use, got fast weights already");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (fast_weights_[i] != nullptr) {
      write(tensors[i], fast_weights_[i].get(), tensors[i].dtype);
    }
  }
  fast_weights_.clear();
  slow_in_use_ = false;
}

void WeightSwap::write(const TensorStep& tensor, const void* weights, Dtype dtype) {
  backend_->convert(tensor.parameter, tensor.dtype, weights, dtype, tensor.layout.size);
  if (tensor.low_precision_copy != nullptr) {
    backend_->convert(tensor.low_precision_copy, tensor.low_precision_dtype, weights, dtype,
                      tensor.layout.size);
  }
}

// The 16-bit copy is written first: the average is computed from the parameter.
void WeightSwap::write_average(const TensorStep& tensor, const Blend& average) {
  if (tensor.low_precision_copy != nullptr) {
    backend_->blend(tensor.low_precision_copy, tensor.low_precision_dtype, average,
                    tensor.layout.size);
  }
  backend_->blend(tensor.parameter, tensor.dtype, average, tensor.layout.size);
}

}  // namespace sing
