// Defines the operators torch.ops.sing.*, which the Python package calls. Built with torch's stable
// interface alone, so that one library serves every torch from 2.10 on.
#include <torch/csrc/stable/library.h>

#include <nlohmann/json.hpp>

#include "adapters/torch/operators/json_options.hpp"
#include "adapters/torch/operators/python_optimizer.hpp"
#include "adapters/torch/operators/shards.hpp"
#include "adapters/torch/operators/standardize.hpp"
#include "sing/base/message.hpp"
#include "sing/base/strides.hpp"
#include "sing/io/system_file_error.hpp"

namespace sing::operators {
namespace {

using Tensors = std::vector<Tensor>;

// Versions of torch translate an exception's type in different ways, so the message says whether
// the caller or the system is at fault; the package reads the message.
template <auto Function>
struct Guarded;

template <class Result, class... Arguments, Result (*Function)(Arguments...)>
struct Guarded<Function> {
  static Result call(Arguments... arguments) {
    try {
      return Function(arguments...);
    } catch (const std::invalid_argument& error) {
      throw Error(fmt::format("ValueError: {}", error.what()));
    } catch (const SystemFileError& error) {
      throw Error(fmt::format("OSError {}: {}", error.number, error.what()));
    }
  }
};

std::size_t index_of(std::int64_t value) { return static_cast<std::size_t>(value); }

MultiDeviceOptimizer& optimizer_of(std::int64_t handle) { return find(handle).optimizer(); }

Options parse_options(const std::string& json) {
  Options options;
  for (const auto& [name, value] : overrides_of(json)) {
    set_option(options, name, value);
  }
  validate(options);
  return options;
}

bool has_kernels(const std::string& device_type) {
#ifdef SING_OPERATORS_CUDA
  return device_type == "cpu" || device_type == "cuda";
#else
  return device_type == "cpu";
#endif
}

std::string why_no_cuda() { return SING_WHY_NO_CUDA; }

// Returns whether the kernels work on such a parameter in place; otherwise they need a contiguous
// copy.
bool takes_order(const Tensor& parameter, const std::string& rule) {
  const TensorView view = view_of(parameter);
  return is_dense(view.sizes, view.strides) &&
         sing::takes_order(make_rule(rule), view.sizes, view.strides);
}

void check_options(const std::string& options_json) { parse_options(options_json); }

std::int64_t create(const std::string& where, const std::string& options_json) {
  return keep(std::make_unique<PythonOptimizer>(where, parse_options(options_json)));
}

void destroy(std::int64_t handle) { drop(handle); }

void add_group(std::int64_t handle, const Tensors& parameters,
               const std::vector<std::string>& names, const std::vector<std::int64_t>& copies,
               const std::string& shards_json, const std::string& overrides_json) {
  find(handle).add_group(parameters, names, copies, shards_of(shards_json),
                         overrides_of(overrides_json));
}

// The addresses of a SumFunction and of a SumOnDeviceFunction, or 0.
void set_sum_shards(std::int64_t handle, std::int64_t function, std::int64_t on_device) {
  optimizer_of(handle).set_sum_shards(sum_by(function));
  optimizer_of(handle).set_sum_shards_on_device(sum_on_device_by(on_device));
}

// The address of an ExchangeFunction, or 0.
void set_exchange_parts(std::int64_t handle, std::int64_t function) {
  optimizer_of(handle).set_exchange_parts(exchange_by(function));
}

// Lists the parameters' devices, such as "cpu,cuda:0", in the order in which they were added.
std::string devices(std::int64_t handle) {
  std::string names;
  for (const Device& device : optimizer_of(handle).devices()) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", name_of(device));
  }
  return names;
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
  find(handle).set_learning_rate_source(index_of(group), source);
}

void set_learning_rate_factor(std::int64_t handle, double factor) {
  optimizer_of(handle).set_learning_rate_factor(factor);
}

double learning_rate_factor(std::int64_t handle) {
  return optimizer_of(handle).learning_rate_factor();
}

void set_non_finite(std::int64_t handle, const std::string& policy) {
  NonFinite parsed{};
  assign(parsed, Value(policy), "non_finite");
  optimizer_of(handle).set_non_finite(parsed);
}

void find_data(std::int64_t handle, const Tensors& parameters) {
  find(handle).find_data(parameters);
}

void select(std::int64_t handle, const std::vector<std::int64_t>& parameters) {
  find(handle).select(parameters);
}

void set_curvature(std::int64_t handle, const std::vector<std::int64_t>& parameters,
                   const Tensors& curvatures) {
  find(handle).set_curvature(parameters, curvatures);
}

void step(std::int64_t handle, const Tensors& gradients, double loss_scale,
          const std::vector<std::int64_t>& streams) {
  find(handle).step(gradients, loss_scale, streams);
}

void upload(std::int64_t handle, const Tensors& gradients, double loss_scale,
            const std::vector<std::int64_t>& streams) {
  find(handle).upload(gradients, loss_scale, streams);
}

void create_state(std::int64_t handle, std::int64_t parameter) {
  const auto [optimizer, index] = optimizer_of(handle).place_of(index_of(parameter));
  optimizer.create_state(index);
}

// The arrays of a parameter as bytes, and a JSON list of [slot, type, shape].
std::tuple<Tensors, std::string> state(std::int64_t handle, std::int64_t parameter) {
  const auto [optimizer, index] = optimizer_of(handle).place_of(index_of(parameter));
  const std::size_t prefix = optimizer.parameter_name(index).size() + 1;
  Tensors memory;
  nlohmann::json about = nlohmann::json::array();
  for (const StateTensor& tensor : optimizer.state(index)) {
    memory.push_back(bytes_of(tensor.memory, count_elements(tensor.shape) * size_of(tensor.dtype)));
    about.push_back({tensor.name.substr(prefix), std::string(name_of(tensor.dtype)), tensor.shape});
  }
  return {std::move(memory), about.dump()};
}

// Counters in the library's own memory, as bytes: steps, non_finite, gradient_norm (float64).
Tensor progress(std::int64_t handle, std::int64_t parameter) {
  const auto [optimizer, index] = optimizer_of(handle).place_of(index_of(parameter));
  return bytes_of(optimizer.progress_memory(index), sizeof(TensorProgress));
}

// The same for one of the optimizer's devices: skipped_steps, skipped_tensors, first_non_finite.
Tensor device_progress(std::int64_t handle, std::int64_t device) {
  return bytes_of(optimizer_of(handle).progress_memory(index_of(device)),
                  sizeof(OptimizerProgress));
}

std::int64_t group_steps(std::int64_t handle, std::int64_t group) {
  return optimizer_of(handle).group_steps(index_of(group));
}

void set_group_steps(std::int64_t handle, std::int64_t group, std::int64_t steps) {
  optimizer_of(handle).set_group_steps(index_of(group), steps);
}

std::vector<double> gradient_norms(std::int64_t handle) {
  return optimizer_of(handle).gradient_norms();
}

// Throws a pending NonFiniteError; otherwise returns the numbers of skipped steps and tensors.
std::vector<std::int64_t> status(std::int64_t handle) {
  const OptimizerProgress progress = optimizer_of(handle).status();
  return {progress.skipped_steps, progress.skipped_tensors};
}

void set_skipped(std::int64_t handle, std::int64_t steps, std::int64_t tensors) {
  optimizer_of(handle).set_skipped(steps, tensors);
}

void use_slow_weights(std::int64_t handle) { optimizer_of(handle).use_slow_weights(); }
void use_fast_weights(std::int64_t handle) { optimizer_of(handle).use_fast_weights(); }

void save(std::int64_t handle, const std::string& path) { optimizer_of(handle).save(path); }
void load(std::int64_t handle, const std::string& path) { optimizer_of(handle).load(path); }

double schedule_factor(const std::string& kind, const std::string& options_json,
                       std::int64_t step) {
  Schedule schedule = make_schedule(kind);
  for (const auto& [name, value] : overrides_of(options_json)) {
    set_option(schedule, name, value);
  }
  validate(schedule);
  return schedule.factor(step);
}

}  // namespace
}  // namespace sing::operators

// Every operator with its schema. An operator tells devices apart itself, so one kernel serves all.
#define SING_FOR_EACH_OPERATOR(X)                                                            \
  X(has_kernels, "(str device_type) -> bool")                                                \
  X(why_no_cuda, "() -> str")                                                                \
  X(takes_order, "(Tensor parameter, str rule) -> bool")                                     \
  X(check_options, "(str options_json) -> ()")                                               \
  X(create, "(str where, str options_json) -> int")                                          \
  X(destroy, "(int handle) -> ()")                                                           \
  X(add_group,                                                                               \
    "(int handle, Tensor[] parameters, str[] names, int[] copies, str shards_json, "         \
    "str overrides_json) -> ()")                                                             \
  X(set_sum_shards, "(int handle, int function, int on_device) -> ()")                       \
  X(set_exchange_parts, "(int handle, int function) -> ()")                                  \
  X(devices, "(int handle) -> str")                                                          \
  X(set_options, "(int handle, int group, str overrides_json) -> ()")                        \
  X(options, "(int handle, int group) -> str")                                               \
  X(set_learning_rate, "(int handle, int group, float learning_rate) -> ()")                 \
  X(set_learning_rate_source, "(int handle, int group, Tensor? source) -> ()")               \
  X(set_learning_rate_factor, "(int handle, float factor) -> ()")                            \
  X(learning_rate_factor, "(int handle) -> float")                                           \
  X(set_non_finite, "(int handle, str policy) -> ()")                                        \
  X(find_data, "(int handle, Tensor[] parameters) -> ()")                                    \
  X(select, "(int handle, int[] parameters) -> ()")                                          \
  X(set_curvature, "(int handle, int[] parameters, Tensor[] curvatures) -> ()")              \
  X(step, "(int handle, Tensor[] gradients, float loss_scale, int[] streams) -> ()")         \
  X(upload, "(int handle, Tensor[] gradients, float loss_scale, int[] streams) -> ()")       \
  X(create_state, "(int handle, int parameter) -> ()")                                       \
  X(state, "(int handle, int parameter) -> (Tensor[], str)")                                 \
  X(progress, "(int handle, int parameter) -> Tensor")                                       \
  X(device_progress, "(int handle, int device) -> Tensor")                                   \
  X(group_steps, "(int handle, int group) -> int")                                           \
  X(set_group_steps, "(int handle, int group, int steps) -> ()")                             \
  X(gradient_norms, "(int handle) -> float[]")                                               \
  X(status, "(int handle) -> int[]")                                                         \
  X(set_skipped, "(int handle, int steps, int tensors) -> ()")                               \
  X(use_slow_weights, "(int handle) -> ()")                                                  \
  X(use_fast_weights, "(int handle) -> ()")                                                  \
  X(save, "(int handle, str path) -> ()")                                                    \
  X(load, "(int handle, str path) -> ()")                                                    \
  X(standardize,                                                                             \
    "(Tensor[] gradients, Tensor(a!)[] destinations, str shards_json, int sum_shards, "      \
    "str options_json, float loss_scale, int stream, bool wants_norms) -> (float[], int[])") \
  X(schedule_factor, "(str kind, str options_json, int step) -> float")

#define SING_DEFINE(name, schema) library.def(#name schema);
#define SING_IMPLEMENT(name, schema) \
  library.impl(#name, TORCH_BOX(&Guarded<&sing::operators::name>::call));

STABLE_TORCH_LIBRARY(sing, library){SING_FOR_EACH_OPERATOR(SING_DEFINE)}

STABLE_TORCH_LIBRARY_IMPL(sing, CompositeExplicitAutograd, library) {
  using sing::operators::Guarded;
  SING_FOR_EACH_OPERATOR(SING_IMPLEMENT)
}
