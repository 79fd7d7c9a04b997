// One optimizer of the library as Python holds it.
#include "adapters/torch/operators/session.hpp"

#include <map>
#include <mutex>
#include <thread>

#include "adapters/torch/operators/torch_product.hpp"
#include "sing/base/message.hpp"

namespace sing::operators {
namespace {

struct Sessions {
  std::mutex mutex;
  std::map<std::int64_t, std::unique_ptr<Session>> all;
  std::int64_t last = 0;
};

// Never destroyed: tensors must not be freed after torch's own memory is gone.
Sessions& sessions() {
  static auto* const kSessions = new Sessions;
  return *kSessions;
}

}  // namespace

Session::Session(const Device& device, Options options)
    : device_(device),
      optimizer_(std::move(options), make_torch_backend(device, [this] { return stream_; })) {}

std::shared_ptr<Backend> make_torch_backend(const Device& device,
                                            std::function<void*()> current_stream) {
  const Allocator allocator = [device](std::size_t bytes) { return allocate_bytes(device, bytes); };
  if (device.type == DeviceType::kCpu) {
    // More tasks than torch has threads do no harm, and torch's number may be raised later.
    return make_cpu_backend(
        {.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
         .executor = run_on_torch_threads,
         // The library's own memory has large pages, torch's has not.
         .allocator = can_own_library_memory() ? Allocator{} : allocator,
         .multiply = multiply_by_torch});
  }
  return make_cuda_backend({.device = device.index,
                            .current_stream = std::move(current_stream),
                            .allocator = allocator});
}

void Session::add_group(const std::vector<Tensor>& parameters,
                        const std::vector<Tensor>& memory_views,
                        const std::vector<std::string>& names, const Overrides& overrides) {
  SING_CHECK(parameters.size() == names.size() && memory_views.size() == names.size(),
             "[operators] wanted as many names as parameters");
  std::vector<Parameter> added;
  std::vector<Place> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Place place{.who = fmt::format("[sing] parameter '{}': ", names[i])};
    place.facts = facts_of(parameters[i], place.who);
    place.dtype = dtype_of(place.facts.dtype, place.who);
    place.gradient_dtype = place.dtype;
    SING_CHECK(place.facts.device == device_, "{}wanted a tensor on {}, got one on {}", place.who,
               name_of(device_), name_of(place.facts.device));
    SING_CHECK(memory_views[i].is_contiguous(), "{}wanted memory without gaps", place.who);
    added.push_back({.name = names[i],
                     .data = memory_views[i].mutable_data_ptr(),
                     .shape = facts_of(memory_views[i], place.who).sizes,
                     .dtype = place.dtype});
    places.push_back(std::move(place));
  }
  const std::size_t before = optimizer_.parameter_count();
  optimizer_.add_group(std::move(added), overrides);
  SING_CHECK(optimizer_.parameter_count() == before + places.size(),
             "[sing] a tensor was given twice: two parameters of a group have the same memory");
  places_.insert(places_.end(), std::make_move_iterator(places.begin()),
                 std::make_move_iterator(places.end()));
  sources_.emplace_back();
}

void Session::check_parameters(const std::vector<std::int64_t>& parameters) const {
  for (const std::int64_t parameter : parameters) {
    SING_CHECK(parameter >= 0 && static_cast<std::size_t>(parameter) < places_.size(),
               "[operators] no parameter {}", parameter);
  }
}

void Session::set_curvature(const std::vector<std::int64_t>& parameters,
                            const std::vector<Tensor>& curvatures) {
  check_parameters(parameters);
  SING_CHECK(parameters.size() == curvatures.size(),
             "[operators] wanted as many curvatures as parameters");
  std::vector<Dtype> dtypes;
  std::vector<Tensor> laid_out;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto index = static_cast<std::size_t>(parameters[k]);
    const Place& place = places_[index];
    SING_CHECK(optimizer_.takes_curvature(index), "{}its rule takes no curvature", place.who);
    const GradientFacts facts = check_gradient(curvatures[k], place.facts, place.who);
    dtypes.push_back(dtype_of(facts.dtype, place.who));
    laid_out.push_back(facts.is_alike ? curvatures[k]
                                      : copied_to_layout(curvatures[k], place.facts));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].curvature.reset();
    optimizer_.set_curvature(i, nullptr);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto index = static_cast<std::size_t>(parameters[k]);
    places_[index].curvature = laid_out[k];
    places_[index].curvature_dtype = dtypes[k];
    optimizer_.set_curvature(index, laid_out[k].const_data_ptr());
  }
}

void Session::select(const std::vector<std::int64_t>& parameters) {
  check_parameters(parameters);
  std::vector<std::size_t> selected;
  for (const std::int64_t parameter : parameters) {
    selected.push_back(static_cast<std::size_t>(parameter));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    optimizer_.set_gradient(i, nullptr);
  }
  selected_ = std::move(selected);
}

// All of them are checked before the first one is set.
void Session::set_gradients(const std::vector<Tensor>& gradients) {
  SING_CHECK(gradients.size() == selected_.size(), "[operators] wanted {} gradients, got {}",
             selected_.size(), gradients.size());
  kept_.clear();
  found_.resize(gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const Place& place = places_[selected_[k]];
    const GradientFacts facts = check_gradient(gradients[k], place.facts, place.who);
    const Dtype dtype = dtype_of(facts.dtype, place.who);
    SING_CHECK((dtype == Dtype::kFloat64) == (place.dtype == Dtype::kFloat64),
               "{}a {} parameter cannot take a {} gradient", place.who, name_of(place.dtype),
               name_of(dtype));
    SING_CHECK(!place.curvature || place.curvature_dtype == dtype,
               "{}wanted a curvature of the gradient's type {}, got {}", place.who, name_of(dtype),
               name_of(place.curvature_dtype));
    if (!facts.is_alike) {
      kept_.push_back(copied_to_layout(gradients[k], place.facts));
    }
    found_[k] = {(facts.is_alike ? gradients[k] : kept_.back()).const_data_ptr(), dtype};
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    Place& place = places_[selected_[k]];
    const auto& [pointer, dtype] = found_[k];
    if (dtype == place.gradient_dtype) {
      optimizer_.set_gradient(selected_[k], pointer);
    } else {
      optimizer_.set_gradient(selected_[k], pointer, dtype);
      place.gradient_dtype = dtype;
    }
  }
}

void Session::step(const std::vector<Tensor>& gradients, double loss_scale, void* stream) {
  set_gradients(gradients);
  stream_ = stream;
  optimizer_.step(loss_scale);
}

void Session::upload(const std::vector<Tensor>& gradients, double loss_scale, void* stream) {
  set_gradients(gradients);
  stream_ = stream;
  optimizer_.upload(loss_scale);
}

void Session::find_data(const std::vector<Tensor>& parameters) {
  SING_CHECK(parameters.size() == places_.size(), "[operators] wanted all parameters");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Place& place = places_[i];
    const TensorFacts facts = facts_of(parameters[i], place.who);
    SING_CHECK(facts.sizes == place.facts.sizes && facts.strides == place.facts.strides &&
                   facts.dtype == place.facts.dtype && facts.device == device_,
               "{}shape, layout, type and device must stay as they were", place.who);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    optimizer_.set_data(i, parameters[i].mutable_data_ptr());
  }
}

void Session::set_learning_rate_source(std::size_t group, std::optional<Tensor> source) {
  SING_CHECK(group < sources_.size(), "[operators] no group {}", group);
  const float* pointer = nullptr;
  if (source) {
    const TensorFacts facts = facts_of(*source, "[sing] lr: ");
    SING_CHECK(facts.dtype == aoti_torch_dtype_float32() && facts.device == device_ &&
                   source->numel() == 1,
               "[sing] wanted lr as a float32 scalar on {}", name_of(device_));
    pointer = static_cast<const float*>(source->const_data_ptr());
  }
  optimizer_.set_learning_rate_source(group, pointer);
  sources_[group] = std::move(source);
}

std::int64_t keep_session(std::unique_ptr<Session> session) {
  Sessions& known = sessions();
  const std::lock_guard lock(known.mutex);
  known.all.emplace(++known.last, std::move(session));
  return known.last;
}

Session& find_session(std::int64_t handle) {
  Sessions& known = sessions();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(handle);
  SING_CHECK(found != known.all.end(), "[operators] no optimizer {}", handle);
  return *found->second;
}

void drop_session(std::int64_t handle) {
  Sessions& known = sessions();
  std::unique_ptr<Session> dropped;
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(handle);
  if (found != known.all.end()) {
    dropped = std::move(found->second);
    known.all.erase(found);
  }
}

}  // namespace sing::operators
