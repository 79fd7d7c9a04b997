// The operators torch.ops.sing.*: what the Python package calls. Built with torch's stable
// interface alone, so that one library serves every torch from 2.10 on.
#include <torch/csrc/stable/library.h>

#include <nlohmann/json.hpp>

#include "adapters/torch/operators/json_options.hpp"
#include "adapters/torch/operators/session.hpp"
#include "adapters/torch/operators/standardize.hpp"
#include "sing/base/message.hpp"

namespace sing::operators {
namespace {

using Tensors = std::vector<Tensor>;

// What the stable interface makes of an exception's type differs from torch to torch, so the text
// says which are the caller's mistakes; the package reads it.
template <auto Function>
struct Guarded;

template <class Result, class... Arguments, Result (*Function)(Arguments...)>
struct Guarded<Function> {
  static Result call(Arguments... arguments) {
    try {
      return Function(arguments...);
    } catch (const std::invalid_argument& error) {
      throw Error(fmt::format("ValueError: {}", error.what()));
    }
  }
};

Device device_of(const std::string& type, std::int64_t index) {
  SING_CHECK(type == "cpu" || type == "cuda", "[operators] no kernels for device '{}'", type);
  return {.type = type == "cpu" ? DeviceType::kCpu : DeviceType::kCuda,
          .index = static_cast<std::int32_t>(index)};
}

Optimizer& optimizer_of(std::int64_t handle) { return find_session(handle).optimizer(); }

std::size_t index_of(std::int64_t value) { return static_cast<std::size_t>(value); }

void* stream_of(std::int64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

bool has_kernels(const std::string& device_type) {
#ifdef SING_OPERATORS_CUDA
  return device_type == "cpu" || device_type == "cuda";
#else
  return device_type == "cpu";
#endif
}

std::int64_t create(const std::string& device_type, std::int64_t device_index,
                    const std::string& options_json) {
  Options options;
  for (const auto& [name, value] : overrides_of(options_json)) {
    set_option(options, name, value);
  }
  validate(options);
  return keep_session(
      std::make_unique<Session>(device_of(device_type, device_index), std::move(options)));
}

void destroy(std::int64_t handle) { drop_session(handle); }

void add_group(std::int64_t handle, const Tensors& parameters, const Tensors& memory_views,
               const std::vector<std::string>& names, const std::string& overrides_json) {
  find_session(handle).add_group(parameters, memory_views, names, overrides_of(overrides_json));
}

void set_options(std::int64_t handle, std::int64_t group, const std::string& overrides_json) {
  optimizer_of(handle).set_options(index_of(group), overrides_of(overrides_json));
}

std::string options(std::int64_t handle, std::int64_t group) {
  return json_of(list_options(optimizer_of(handle).options(index_of(group))));
}

void set_learning_rate(std::int64_t handle, std::int64_t group, double learning_rate) {
  optimizer_of(handle).set_learning_rate(index_of(group), learning_rate);
}

void set_learning_rate_source(std::int64_t handle, std::int64_t group,
                              const std::optional<Tensor>& source) {
  find_session(handle).set_learning_rate_source(index_of(group), source);
}

void set_learning_rate_factor(std::int64_t handle, double factor) {
  optimizer_of(handle).set_learning_rate_factor(factor);
}

void set_non_finite(std::int64_t handle, const std::string& policy) {
  NonFinite parsed{};
  assign(parsed, Value(policy), "non_finite");
  optimizer_of(handle).set_non_finite(parsed);
}

void find_data(std::int64_t handle, const Tensors& parameters) {
  find_session(handle).find_data(parameters);
}

void select(std::int64_t handle, const std::vector<std::int64_t>& parameters) {
  find_session(handle).select(parameters);
}

void set_curvature(std::int64_t handle, const std::vector<std::int64_t>& parameters,
                   const Tensors& curvatures) {
  find_session(handle).set_curvature(parameters, curvatures);
}

void step(std::int64_t handle, const Tensors& gradients, double loss_scale, std::int64_t stream) {
  find_session(handle).step(gradients, loss_scale, stream_of(stream));
}

void upload(std::int64_t handle, const Tensors& gradients, double loss_scale, std::int64_t stream) {
  find_session(handle).upload(gradients, loss_scale, stream_of(stream));
}

void create_state(std::int64_t handle, std::int64_t parameter) {
  optimizer_of(handle).create_state(index_of(parameter));
}

// The arrays of a parameter as bytes, and a JSON list of [slot, type, shape].
std::tuple<Tensors, std::string> state(std::int64_t handle, std::int64_t parameter) {
  const Optimizer& optimizer = optimizer_of(handle);
  const std::size_t prefix = optimizer.parameter_name(index_of(parameter)).size() + 1;
  Tensors memory;
  nlohmann::json about = nlohmann::json::array();
  for (const StateTensor& tensor : optimizer.state(index_of(parameter))) {
    memory.push_back(bytes_of(tensor.memory, count_elements(tensor.shape) * size_of(tensor.dtype)));
    about.push_back({tensor.name.substr(prefix), std::string(name_of(tensor.dtype)), tensor.shape});
  }
  return {std::move(memory), about.dump()};
}

// Counters in the library's own memory, as bytes: steps, non_finite, gradient_norm (float64).
Tensor progress(std::int64_t handle, std::int64_t parameter) {
  return bytes_of(optimizer_of(handle).progress_memory(index_of(parameter)),
                  sizeof(TensorProgress));
}

Tensor group_progress(std::int64_t handle, std::int64_t group) {
  return bytes_of(optimizer_of(handle).group_progress_memory(index_of(group)),
                  sizeof(GroupProgress));
}

// skipped_steps, skipped_tensors, first_non_finite.
Tensor optimizer_progress(std::int64_t handle) {
  return bytes_of(optimizer_of(handle).optimizer_progress_memory(), sizeof(OptimizerProgress));
}

std::vector<double> gradient_norms(std::int64_t handle) {
  return optimizer_of(handle).gradient_norms();
}

// Throws what a step on a device has found non-finite; else skipped steps and tensors.
std::vector<std::int64_t> status(std::int64_t handle) {
  const OptimizerProgress progress = optimizer_of(handle).status();
  return {progress.skipped_steps, progress.skipped_tensors};
}

void use_slow_weights(std::int64_t handle) { optimizer_of(handle).use_slow_weights(); }
void use_fast_weights(std::int64_t handle) { optimizer_of(handle).use_fast_weights(); }

void save(std::int64_t handle, const std::string& path) { optimizer_of(handle).save(path); }
void load(std::int64_t handle, const std::string& path) { optimizer_of(handle).load(path); }
Tensor save_bytes(std::int64_t handle) { return tensor_of(optimizer_of(handle).save_bytes()); }
void load_bytes(std::int64_t handle, const Tensor& bytes) {
  optimizer_of(handle).load_bytes(view_of(bytes));
}

// Factors of steps 0 … steps − 1.
std::vector<double> schedule_factors(const std::string& kind, const std::string& options_json,
                                     std::int64_t steps) {
  Schedule schedule = make_schedule(kind);
  for (const auto& [name, value] : overrides_of(options_json)) {
    set_option(schedule, name, value);
  }
  validate(schedule);
  std::vector<double> factors;
  for (std::int64_t step = 0; step < steps; ++step) {
    factors.push_back(schedule.factor(step));
  }
  return factors;
}

}  // namespace
}  // namespace sing::operators

STABLE_TORCH_LIBRARY(sing, library) {
  library.def("has_kernels(str device_type) -> bool");
  library.def("create(str device_type, int device_index, str options_json) -> int");
  library.def("destroy(int handle) -> ()");
  library.def(
      "add_group(int handle, Tensor[] parameters, Tensor[] memory_views, str[] names, "
      "str overrides_json) -> ()");
  library.def("set_options(int handle, int group, str overrides_json) -> ()");
  library.def("options(int handle, int group) -> str");
  library.def("set_learning_rate(int handle, int group, float learning_rate) -> ()");
  library.def("set_learning_rate_source(int handle, int group, Tensor? source) -> ()");
  library.def("set_learning_rate_factor(int handle, float factor) -> ()");
  library.def("set_non_finite(int handle, str policy) -> ()");
  library.def("find_data(int handle, Tensor[] parameters) -> ()");
  library.def("select(int handle, int[] parameters) -> ()");
  library.def("set_curvature(int handle, int[] parameters, Tensor[] curvatures) -> ()");
  library.def("step(int handle, Tensor[] gradients, float loss_scale, int stream) -> ()");
  library.def("upload(int handle, Tensor[] gradients, float loss_scale, int stream) -> ()");
  library.def("create_state(int handle, int parameter) -> ()");
  library.def("state(int handle, int parameter) -> (Tensor[], str)");
  library.def("progress(int handle, int parameter) -> Tensor");
  library.def("group_progress(int handle, int group) -> Tensor");
  library.def("optimizer_progress(int handle) -> Tensor");
  library.def("gradient_norms(int handle) -> float[]");
  library.def("status(int handle) -> int[]");
  library.def("use_slow_weights(int handle) -> ()");
  library.def("use_fast_weights(int handle) -> ()");
  library.def("save(int handle, str path) -> ()");
  library.def("load(int handle, str path) -> ()");
  library.def("save_bytes(int handle) -> Tensor");
  library.def("load_bytes(int handle, Tensor bytes) -> ()");
  library.def(
      "standardize(Tensor[] gradients, Tensor(a!)[] destinations, str options_json, "
      "float loss_scale, int stream, bool wants_norms) -> float[]");
  library.def("schedule_factors(str kind, str options_json, int steps) -> float[]");
}

// Devices are told apart inside; one kernel for all of them.
STABLE_TORCH_LIBRARY_IMPL(sing, CompositeExplicitAutograd, library) {
  using namespace sing::operators;
  library.impl("has_kernels", TORCH_BOX(&Guarded<&sing::operators::has_kernels>::call));
  library.impl("create", TORCH_BOX(&Guarded<&sing::operators::create>::call));
  library.impl("destroy", TORCH_BOX(&Guarded<&sing::operators::destroy>::call));
  library.impl("add_group", TORCH_BOX(&Guarded<&sing::operators::add_group>::call));
  library.impl("set_options", TORCH_BOX(&Guarded<&sing::operators::set_options>::call));
  library.impl("options", TORCH_BOX(&Guarded<&sing::operators::options>::call));
  library.impl("set_learning_rate", TORCH_BOX(&Guarded<&sing::operators::set_learning_rate>::call));
  library.impl("set_learning_rate_source",
               TORCH_BOX(&Guarded<&sing::operators::set_learning_rate_source>::call));
  library.impl("set_learning_rate_factor",
               TORCH_BOX(&Guarded<&sing::operators::set_learning_rate_factor>::call));
  library.impl("set_non_finite", TORCH_BOX(&Guarded<&sing::operators::set_non_finite>::call));
  library.impl("find_data", TORCH_BOX(&Guarded<&sing::operators::find_data>::call));
  library.impl("select", TORCH_BOX(&Guarded<&sing::operators::select>::call));
  library.impl("set_curvature", TORCH_BOX(&Guarded<&sing::operators::set_curvature>::call));
  library.impl("step", TORCH_BOX(&Guarded<&sing::operators::step>::call));
  library.impl("upload", TORCH_BOX(&Guarded<&sing::operators::upload>::call));
  library.impl("create_state", TORCH_BOX(&Guarded<&sing::operators::create_state>::call));
  library.impl("state", TORCH_BOX(&Guarded<&sing::operators::state>::call));
  library.impl("progress", TORCH_BOX(&Guarded<&sing::operators::progress>::call));
  library.impl("group_progress", TORCH_BOX(&Guarded<&sing::operators::group_progress>::call));
  library.impl("optimizer_progress",
               TORCH_BOX(&Guarded<&sing::operators::optimizer_progress>::call));
  library.impl("gradient_norms", TORCH_BOX(&Guarded<&sing::operators::gradient_norms>::call));
  library.impl("status", TORCH_BOX(&Guarded<&sing::operators::status>::call));
  library.impl("use_slow_weights", TORCH_BOX(&Guarded<&sing::operators::use_slow_weights>::call));
  library.impl("use_fast_weights", TORCH_BOX(&Guarded<&sing::operators::use_fast_weights>::call));
  library.impl("save", TORCH_BOX(&Guarded<&sing::operators::save>::call));
  library.impl("load", TORCH_BOX(&Guarded<&sing::operators::load>::call));
  library.impl("save_bytes", TORCH_BOX(&Guarded<&sing::operators::save_bytes>::call));
  library.impl("load_bytes", TORCH_BOX(&Guarded<&sing::operators::load_bytes>::call));
  library.impl("standardize", TORCH_BOX(&Guarded<&sing::operators::standardize>::call));
  library.impl("schedule_factors", TORCH_BOX(&Guarded<&sing::operators::schedule_factors>::call));
}
