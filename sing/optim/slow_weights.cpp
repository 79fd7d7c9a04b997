// The slow weights of LookAhead, or a rule's own average, in place of the parameters, for
// evaluation.
#include "sing/base/message.hpp"
#include "sing/optim/optimizer.hpp"

namespace sing {

std::optional<Blend> Optimizer::average_of(const Record& record) const {
  const Dtype dtype = record.parameter.dtype;
  return std::visit(
      [&]<class R>(const R& rule) -> std::optional<Blend> {
        if constexpr (requires { R::kEvaluationSlot; }) {
          const Memory& memory = *record.memory;
          const bool has_master = memory.master != nullptr;
          return Blend{.from = has_master ? memory.master.get() : record.parameter.data,
                       .from_dtype = has_master ? Dtype::kFloat32 : dtype,
                       .towards = memory.slots[R::kEvaluationSlot].get(),
                       .share = rule.evaluation_share()};
        } else {
          return std::nullopt;
        }
      },
      groups_[record.group].options.rule);
}

void Optimizer::use_slow_weights() {
  SING_CHECK(!slow_weights_in_use_, "[optimizer] slow weights are in use already");
  // Kept as a copy rather than swapped into the slow array: a 16-bit parameter cannot hold the
  // slow weights exactly, and both must come back as they were.
  std::vector<std::shared_ptr<void>> kept(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Record& record = parameters_[i];
    if (record.memory && (record.memory->slow != nullptr || average_of(record))) {
      kept[i] = backend_->allocate(static_cast<std::size_t>(record.layout.size) *
                                   size_of(record.parameter.dtype));
    }
  }
  const std::vector<TensorProgress> progress = tensor_progress();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Record& record = parameters_[i];
    const Parameter& parameter = record.parameter;
    if (kept[i] == nullptr || progress[i].steps == 0) {
      continue;
    }
    backend_->convert(kept[i].get(), parameter.dtype, parameter.data, parameter.dtype,
                      record.layout.size);
    if (record.memory->slow != nullptr) {
      write_weights(record, record.memory->slow.get(), state_dtype(parameter.dtype));
    } else {
      // The 16-bit copy first: the average is made from the parameter that is then replaced.
      const Blend average = *average_of(record);
      if (parameter.low_precision_copy != nullptr) {
        backend_->blend(parameter.low_precision_copy, parameter.low_precision_dtype, average,
                        record.layout.size);
      }
      backend_->blend(parameter.data, parameter.dtype, average, record.layout.size);
    }
    record.fast_weights = std::move(kept[i]);
  }
  slow_weights_in_use_ = true;
}

void Optimizer::use_fast_weights() {
  SING_CHECK(slow_weights_in_use_, "[optimizer] fast weights are in use already");
  for (Record& record : parameters_) {
    if (record.fast_weights != nullptr) {
      write_weights(record, record.fast_weights.get(), record.parameter.dtype);
      record.fast_weights = nullptr;
    }
  }
  slow_weights_in_use_ = false;
}

void Optimizer::write_weights(const Record& record, const void* weights, Dtype dtype) {
  const Parameter& parameter = record.parameter;
  backend_->convert(parameter.data, parameter.dtype, weights, dtype, record.layout.size);
  if (parameter.low_precision_copy != nullptr) {
    backend_->convert(parameter.low_precision_copy, parameter.low_precision_dtype, weights, dtype,
                      record.layout.size);
  }
}

}  // namespace sing
