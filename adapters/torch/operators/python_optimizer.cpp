// One optimizer as Python holds it.
#include "adapters/torch/operators/python_optimizer.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "adapters/torch/operators/torch_backend.hpp"
#include "sing/base/message.hpp"

namespace sing::operators {
namespace {

struct Kept {
  std::mutex mutex;
  std::map<std::int64_t, std::unique_ptr<PythonOptimizer>> all;
  std::int64_t last = 0;
};

// Stands for the gradient of an empty part, which has no address.
constexpr double kEmptyPart = 0;

// Never destroyed: tensors must not be freed after torch's own memory is gone.
Kept& kept() {
  static auto* const kKept = new Kept;
  return *kKept;
}

}  // namespace

PythonOptimizer::PythonOptimizer(std::string where, Options options)
    : where_(std::move(where)), optimizer_(std::move(options), [this](const Device& device) {
        return make_torch_backend(device, [this, device] { return streams_[device.index]; });
      }) {}

void PythonOptimizer::add_group(const std::vector<Tensor>& parameters,
                                const std::vector<std::string>& names,
                                const std::vector<std::int64_t>& copies,
                                const std::vector<std::optional<Shard>>& shards,
                                const Overrides& overrides) {
  SING_CHECK(parameters.size() == names.size(), "[operators] wanted {} names, got {}",
             parameters.size(), names.size());
  SING_CHECK(shards.empty() || shards.size() == names.size(),
             "[operators] wanted {} shards, got {}", names.size(), shards.size());
  std::vector<PlacedParameter> added;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Entry entry{.name = names[i]};
    entry.facts = facts_of_parameter(view_of(parameters[i]), subject("parameter", entry));
    added.push_back({entry.facts.device,
                     {.name = names[i],
                      .data = parameters[i].mutable_data_ptr(),
                      .shape = entry.facts.sizes,
                      .strides = entry.facts.strides,
                      .dtype = entry.facts.dtype}});
    if (!shards.empty()) {
      added.back().parameter.shard = shards[i];
      entry.is_shard = shards[i].has_value();
    }
    entries.push_back(std::move(entry));
  }
  for (const std::int64_t copy : copies) {
    entries.at(static_cast<std::size_t>(copy)).elsewhere = Elsewhere::kAllowed;
  }
  optimizer_.add_group(added, overrides);
  std::ranges::move(entries, std::back_inserter(entries_));
  learning_rates_.emplace_back();
}

const PythonOptimizer::Entry& PythonOptimizer::entry_of(std::int64_t parameter) const {
  SING_CHECK(parameter >= 0 && static_cast<std::size_t>(parameter) < entries_.size(),
             "[operators] wanted a parameter below {}, got {}", entries_.size(), parameter);
  return entries_[static_cast<std::size_t>(parameter)];
}

Subject PythonOptimizer::subject(std::string_view role, const Entry& entry) const {
  return {.where = where_, .role = role, .name = entry.name};
}

void PythonOptimizer::set_curvature(const std::vector<std::int64_t>& parameters,
                                    const std::vector<Tensor>& curvatures) {
  SING_CHECK(parameters.size() == curvatures.size(), "[operators] wanted {} curvatures, got {}",
             parameters.size(), curvatures.size());
  std::vector<Tensor> laid_out;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Entry& entry = entry_of(parameters[k]);
    const TensorView view = view_of(curvatures[k]);
    const auto [optimizer, index] = optimizer_.place_of(static_cast<std::size_t>(parameters[k]));
    SING_CHECK(optimizer.takes_curvature(index), "{}wanted a rule that takes it, got '{}'",
               subject("curvature of", entry).text(), name_of(optimizer_.defaults().rule));
    check_gradient(view, entry.facts, subject("curvature of", entry), entry.elsewhere);
    laid_out.push_back(lies_alike(view, entry.facts)
                           ? curvatures[k]
                           : copied_to_lie_as(entry.facts, curvatures[k]));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].curvature.reset();
    const auto [optimizer, index] = optimizer_.place_of(i);
    optimizer.set_curvature(index, nullptr);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto parameter = static_cast<std::size_t>(parameters[k]);
    const auto [optimizer, index] = optimizer_.place_of(parameter);
    optimizer.set_curvature(index, laid_out[k].const_data_ptr());
    entries_[parameter].curvature = laid_out[k];
    entries_[parameter].curvature_dtype = *view_of(laid_out[k]).dtype;
  }
}

void PythonOptimizer::select(const std::vector<std::int64_t>& parameters) {
  std::vector<std::size_t> selected;
  for (const std::int64_t parameter : parameters) {
    entry_of(parameter);
    selected.push_back(static_cast<std::size_t>(parameter));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    optimizer_.clear_gradient(i);
  }
  selected_ = std::move(selected);
}

// All of them are checked before the first one is set.
void PythonOptimizer::set_gradients(const std::vector<Tensor>& gradients) {
  SING_CHECK(gradients.size() == selected_.size(), "[operators] wanted {} gradients, got {}",
             selected_.size(), gradients.size());
  copies_.clear();
  found_.resize(gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const Entry& entry = entries_[selected_[k]];
    const TensorView view = view_of(gradients[k]);
    check_gradient(view, entry.facts, subject("gradient of", entry), entry.elsewhere);
    SING_CHECK(!entry.curvature || entry.curvature_dtype == *view.dtype,
               "{}wanted the gradient's type {}, got {}", subject("curvature of", entry).text(),
               name_of(*view.dtype), name_of(entry.curvature_dtype));
    const bool is_alike = lies_alike(view, entry.facts);
    if (!is_alike) {
      copies_.push_back(copied_to_lie_as(entry.facts, gradients[k]));
    }
    const void* data = (is_alike ? gradients[k] : copies_.back()).const_data_ptr();
    if (data == nullptr && entry.is_shard) {
      data = &kEmptyPart;  // null would leave the parameter out
    }
    found_[k] = {data, *view.dtype};
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    optimizer_.set_gradient(selected_[k], found_[k].first, found_[k].second);
  }
}

void PythonOptimizer::set_streams(const std::vector<std::int64_t>& streams) {
  const std::vector<Device> devices =
      streams.empty() ? std::vector<Device>{} : optimizer_.devices();
  SING_CHECK(streams.size() == devices.size(), "[operators] wanted {} streams, got {}",
             devices.size(), streams.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].type == DeviceType::kCuda) {
      streams_[devices[i].index] = reinterpret_cast<void*>(static_cast<std::uintptr_t>(streams[i]));
    }
  }
}

void PythonOptimizer::step(const std::vector<Tensor>& gradients, double loss_scale,
                           const std::vector<std::int64_t>& streams) {
  set_gradients(gradients);
  set_streams(streams);
  optimizer_.step(loss_scale);
}

void PythonOptimizer::upload(const std::vector<Tensor>& gradients, double loss_scale,
                             const std::vector<std::int64_t>& streams) {
  set_gradients(gradients);
  set_streams(streams);
  optimizer_.upload(loss_scale);
}

void PythonOptimizer::find_data(const std::vector<Tensor>& parameters) {
  SING_CHECK(parameters.size() == entries_.size(), "[operators] wanted {} parameters, got {}",
             entries_.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    check_unchanged(view_of(parameters[i]), entries_[i].facts, subject("parameter", entries_[i]));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    optimizer_.set_data(i, parameters[i].mutable_data_ptr());
  }
}

void PythonOptimizer::set_learning_rate_source(std::size_t group, std::optional<Tensor> source) {
  SING_CHECK(group < learning_rates_.size(), "[operators] wanted a group below {}, got {}",
             learning_rates_.size(), group);
  if (source) {
    const TensorView view = view_of(*source);
    SING_CHECK(view.dtype == Dtype::kFloat32 && view.device && source->numel() == 1,
               "[{}] wanted lr as a float32 scalar on a device of the parameters, got another "
               "tensor",
               where_);
    optimizer_.set_learning_rate_source(group, *view.device,
                                        static_cast<const float*>(source->const_data_ptr()));
  } else {
    for (const Device& device : optimizer_.devices()) {
      optimizer_.set_learning_rate_source(group, device, nullptr);
    }
  }
  learning_rates_[group] = std::move(source);
}

std::int64_t keep(std::unique_ptr<PythonOptimizer> optimizer) {
  Kept& known = kept();
  const std::lock_guard lock(known.mutex);
  known.all.emplace(++known.last, std::move(optimizer));
  return known.last;
}

PythonOptimizer& find(std::int64_t handle) {
  Kept& known = kept();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(handle);
  SING_CHECK(found != known.all.end(), "[operators] wanted the number of an optimizer, got {}",
             handle);
  return *found->second;
}

void drop(std::int64_t handle) {
  Kept& known = kept();
  std::unique_ptr<PythonOptimizer> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(handle);
  if (found != known.all.end()) {
    dropped = std::move(found->second);
    known.all.erase(found);
  }
}

}  // namespace sing::operators
