// Standardizing is a step of the rule `gradient`; its parameters are the destinations.
#include "sing/optim/standardizer.hpp"

#include <unordered_map>

#include "sing/base/message.hpp"

namespace sing {
namespace {

std::string name_in_list(const StandardizeTensor& tensor, std::size_t index) {
  return tensor.name.empty() ? std::to_string(index) : tensor.name;
}

// The index of each tensor among the distinct ones; two tensors are the same if their memory is.
std::vector<std::size_t> find_slots(std::span<const StandardizeTensor> tensors) {
  std::vector<std::size_t> slots;
  std::unordered_map<const void*, std::size_t> first;  // by destination
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const StandardizeTensor& tensor = tensors[i];
    if (count_elements(tensor.shape) == 0) {
      slots.push_back(count++);
      continue;
    }
    SING_CHECK(tensor.gradient != nullptr && tensor.destination != nullptr,
               "[standardize] '{}': wanted a gradient and a destination, got a null pointer",
               name_in_list(tensor, i));
    const auto [found, is_new] = first.emplace(tensor.destination, i);
    if (is_new) {
      slots.push_back(count++);
      continue;
    }
    const StandardizeTensor& earlier = tensors[found->second];
    SING_CHECK(
        earlier.gradient == tensor.gradient && earlier.shape == tensor.shape &&
            earlier.strides == tensor.strides && earlier.dtype == tensor.dtype &&
            earlier.shard == tensor.shard,
        "[standardize] '{}': wanted the same gradient, shape, strides, type and shard as '{}', "
        "which has the same destination, got others",
        name_in_list(tensor, i), name_in_list(earlier, found->second));
    slots.push_back(slots[found->second]);
  }
  return slots;
}

}  // namespace

Standardizer::Standardizer(const Standardize& options, std::shared_ptr<Backend> backend,
                           NonFinite non_finite)
    : backend_(backend != nullptr ? std::move(backend) : make_cpu_backend({})) {
  options_.standardize = options;
  options_.rule = Gradient{};
  options_.lookahead.reset();
  options_.non_finite = non_finite;
  validate(options_);
}

bool Standardizer::fits(std::span<const StandardizeTensor> tensors,
                        const std::vector<std::size_t>& slots) const {
  if (!optimizer_ || slots != slots_) {
    return false;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (slots[i] != next) {
      continue;  // a repeated listing
    }
    const StandardizeTensor& known = tensors_[next++];
    if (known.shape != tensors[i].shape || known.strides != tensors[i].strides ||
        known.dtype != tensors[i].dtype || known.shard != tensors[i].shard ||
        known.name != name_in_list(tensors[i], i)) {
      return false;
    }
  }
  return true;
}

void Standardizer::set_sum_shards(SumShards sum_shards) {
  sum_shards_ = std::move(sum_shards);
  if (optimizer_) {
    optimizer_->set_sum_shards(sum_shards_);
  }
}

void Standardizer::set_sum_shards_on_device(SumShardsOnDevice sum_shards) {
  sum_shards_on_device_ = std::move(sum_shards);
  if (optimizer_) {
    optimizer_->set_sum_shards_on_device(sum_shards_on_device_);
  }
}

void Standardizer::run(std::span<const StandardizeTensor> tensors, double loss_scale) {
  std::vector<std::size_t> slots = find_slots(tensors);
  if (!fits(tensors, slots)) {
    std::vector<StandardizeTensor> kept;
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (slots[i] == kept.size()) {
        StandardizeTensor& tensor = kept.emplace_back(tensors[i]);
        tensor.name = name_in_list(tensor, i);
        parameters.push_back({.name = tensor.name,
                              .data = tensor.destination,
                              .shape = tensor.shape,
                              .strides = tensor.strides,
                              .shard = tensor.shard,
                              .dtype = tensor.dtype,
                              .gradient = tensor.gradient});
      }
    }
    optimizer_.emplace(std::move(parameters), options_, backend_);
    optimizer_->set_sum_shards(sum_shards_);
    optimizer_->set_sum_shards_on_device(sum_shards_on_device_);
    tensors_ = std::move(kept);
    slots_ = std::move(slots);
  } else {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      optimizer_->set_data(slots_[i], tensors[i].destination);
      optimizer_->set_gradient(slots_[i], tensors[i].gradient);
    }
  }
  optimizer_->step(loss_scale);
}

std::vector<double> Standardizer::gradient_norms() const {
  std::vector<double> norms;
  if (optimizer_) {
    const std::vector<double> each = optimizer_->gradient_norms();
    for (const std::size_t slot : slots_) {
      norms.push_back(each[slot]);
    }
  }
  return norms;
}

OptimizerProgress Standardizer::status() {
  return optimizer_ ? optimizer_->status() : OptimizerProgress{};
}

std::vector<double> standardize(std::span<const StandardizeTensor> tensors,
                                const Standardize& options, std::shared_ptr<Backend> backend,
                                NonFinite non_finite, double loss_scale) {
  Standardizer standardizer(options, std::move(backend), non_finite);
  standardizer.run(tensors, loss_scale);
  standardizer.status();
  return standardizer.gradient_norms();
}

}  // namespace sing
