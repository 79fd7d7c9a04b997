// The C functions about optimizers.
#include "sing/base/message.hpp"
#include "sing/c_api/executor_bridge.hpp"
#include "sing/c_api/guard.hpp"
#include "sing/c_api/handles.hpp"
#include "sing/c_api/option_text.hpp"
#include "sing/c_api/versioned.hpp"

namespace sing::c_api {
namespace {

constexpr std::size_t kBackendRequired = SING_SIZE_THROUGH(sing_backend, threads);
constexpr std::size_t kParameterRequired = SING_SIZE_THROUGH(sing_parameter, dtype);
constexpr std::size_t kShardRequired = SING_SIZE_THROUGH(sing_shard, sum_group);
constexpr std::size_t kCountsRequired = SING_SIZE_THROUGH(sing_counts, skipped_tensors);

// A field that is added after padding would be read from bytes that older callers never set.
static_assert(SING_SIZE_THROUGH(sing_backend, stream) == sizeof(sing_backend));
static_assert(SING_SIZE_THROUGH(sing_parameter, shard) ==  // NOLINT: the size of the pointer
              sizeof(sing_parameter));
static_assert(SING_SIZE_THROUGH(sing_shard, own_part) == sizeof(sing_shard));
static_assert(kCountsRequired == sizeof(sing_counts));

Dtype dtype_from(sing_dtype dtype, Dtype otherwise, std::string_view where) {
  switch (dtype) {
    case SING_DTYPE_DEFAULT:
      return otherwise;
    case SING_FLOAT32:
      return Dtype::kFloat32;
    case SING_FLOAT64:
      return Dtype::kFloat64;
    case SING_BFLOAT16:
      return Dtype::kBFloat16;
    case SING_FLOAT16:
      return Dtype::kFloat16;
    default:
      throw std::invalid_argument(fmt::format("[{}] wanted a sing_dtype, got {}", where, dtype));
  }
}

InstructionSet instruction_set_from(sing_instruction_set given) {
  switch (given) {
    case SING_INSTRUCTION_SET_BEST:
      return InstructionSet::kBest;
    case SING_INSTRUCTION_SET_BASELINE:
      return InstructionSet::kBaseline;
    case SING_INSTRUCTION_SET_AVX2:
      return InstructionSet::kAvx2;
    case SING_INSTRUCTION_SET_AVX512:
      return InstructionSet::kAvx512;
    default:
      throw std::invalid_argument(
          fmt::format("[optimizer_create] wanted a sing_instruction_set, got {}", given));
  }
}

std::shared_ptr<Backend> make_backend(const sing_backend* given) {
  const sing_backend backend =
      given == nullptr ? sing_backend{}
                       : read_struct(given, kBackendRequired, "optimizer_create: backend");
  switch (backend.kind) {
    case SING_BACKEND_CPU: {
      SING_CHECK(backend.threads >= 0, "[optimizer_create] wanted threads of at least 0, got {}",
                 backend.threads);
      CpuResources resources{.threads = backend.threads,
                             .executor = nullptr,
                             .instruction_set = instruction_set_from(backend.instruction_set)};
      if (backend.executor != nullptr) {
        resources.executor = bridge_executor(backend.executor, backend.executor_context);
      }
      return make_cpu_backend(resources);
    }
    case SING_BACKEND_REFERENCE:
      return make_reference_backend();
    case SING_BACKEND_CUDA:
      return make_cuda_backend({.device = backend.device, .stream = backend.stream});
    default:
      throw std::invalid_argument(
          fmt::format("[optimizer_create] wanted a sing_backend_kind, got {}", backend.kind));
  }
}

Shard shard_from(const sing_shard& given, std::size_t rank, const std::string& where) {
  SING_CHECK(rank == 0 || (given.whole_shape != nullptr && given.offset != nullptr),
             "[{}] wanted a shard with {} extents and offsets, got a null pointer", where, rank);
  SING_CHECK(given.cut_axis_count >= 0 && static_cast<std::size_t>(given.cut_axis_count) <= rank &&
                 (given.cut_axis_count == 0 || given.cut_axes != nullptr),
             "[{}] wanted at most {} cut axes, got {} at {}", where, rank, given.cut_axis_count,
             static_cast<const void*>(given.cut_axes));
  SING_CHECK(given.part_count >= 0 && given.own_part >= 0,
             "[{}] wanted a part_count and an own_part of at least 0, got {} and {}", where,
             given.part_count, given.own_part);
  const auto parts = static_cast<std::size_t>(given.part_count);
  SING_CHECK(parts * rank == 0 || (given.part_offsets != nullptr && given.part_shapes != nullptr),
             "[{}] wanted offsets and shapes of {} parts, got a null pointer", where, parts);
  Shard shard{.whole_shape = {given.whole_shape, given.whole_shape + rank},
              .offset = {given.offset, given.offset + rank},
              .cut_axes = {given.cut_axes, given.cut_axes + given.cut_axis_count},
              .sum_group = given.sum_group,
              .own_part = static_cast<std::size_t>(given.own_part)};
  for (std::size_t part = 0; part < parts; ++part) {
    const std::int64_t* offset = given.part_offsets + part * rank;
    const std::int64_t* shape = given.part_shapes + part * rank;
    shard.parts.push_back({.offset = {offset, offset + rank}, .shape = {shape, shape + rank}});
  }
  return shard;
}

Parameter parameter_from(const sing_parameter& given, std::size_t index) {
  const std::string where = fmt::format("optimizer_add_group: parameter {}", index);
  SING_CHECK(given.rank >= 0 && given.rank <= SING_MAX_RANK,
             "[{}] wanted a rank from 0 to {}, got {}", where, SING_MAX_RANK, given.rank);
  SING_CHECK(given.rank == 0 || given.shape != nullptr,
             "[{}] wanted a shape of {} extents, got a null pointer", where, given.rank);
  const Dtype dtype = dtype_from(given.dtype, Dtype::kFloat32, where);
  Parameter parameter{
      .name = given.name == nullptr ? "" : given.name,
      .data = given.data,
      .shape = {},
      .dtype = dtype,
      .gradient = given.gradient,
      .gradient_dtype = dtype_from(given.gradient_dtype, dtype, where),
      .low_precision_copy = given.low_precision_copy,
      .low_precision_dtype = dtype_from(given.low_precision_dtype, Dtype::kBFloat16, where)};
  if (given.rank > 0) {
    parameter.shape.assign(given.shape, given.shape + given.rank);
  }
  if (given.shard != nullptr) {
    parameter.shard = shard_from(read_struct(given.shard, kShardRequired, where + ": shard"),
                                 parameter.shape.size(), where);
  }
  return parameter;
}

// The stride of the array is the struct's size in the caller's version, which may differ from ours.
std::vector<Parameter> parameters_from(const sing_parameter* given, std::size_t count) {
  std::vector<Parameter> parameters;
  if (count == 0) {
    return parameters;
  }
  const std::size_t stride = required(given, "optimizer_add_group", "parameters").struct_size;
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = fmt::format("optimizer_add_group: parameter {}", i);
    const auto* each = reinterpret_cast<const sing_parameter*>(bytes + i * stride);
    SING_CHECK(each->struct_size == stride,
               "[{}] wanted the struct_size of parameter 0, {}, got {}", where, stride,
               each->struct_size);
    parameters.push_back(parameter_from(read_struct(each, kParameterRequired, where), i));
  }
  return parameters;
}

void check_count(std::size_t given, std::size_t wanted, std::string_view where) {
  SING_CHECK(given == wanted, "[{}] wanted one value per parameter, {} in all, got {}", where,
             wanted, given);
}

// The body of a C function that acts on an optimizer; `function` is its name without the prefix.
template <class Handle, class Action>
sing_status act(Handle* handle, std::string_view function, Action&& action) {
  return guarded([&] { action(required(handle, function, "an optimizer").optimizer); });
}

// The body of a C function that writes one value of an optimizer to `result`.
template <class Result, class Read>
sing_status get(const sing_optimizer* handle, std::string_view function, Result* result,
                Read&& read) {
  return act(handle, function, [&](const Optimizer& optimizer) {
    required(result, function, "a place for the result") = read(optimizer);
  });
}

}  // namespace
}  // namespace sing::c_api

using namespace sing::c_api;  // NOLINT: this file is that namespace's interface in C

sing_status sing_optimizer_create(const sing_options* options, const sing_backend* backend,
                                  sing_optimizer** optimizer) {
  return guarded([&] {
    required(optimizer, "optimizer_create", "a place for the optimizer");
    sing::Options defaults;
    if (options != nullptr) {
      for (const auto& [name, value] : options->overrides) {
        sing::set_option(defaults, name, value);
      }
    }
    *optimizer = new sing_optimizer{sing::Optimizer(defaults, make_backend(backend))};
  });
}

void sing_optimizer_destroy(sing_optimizer* optimizer) { delete optimizer; }

sing_status sing_optimizer_add_group(sing_optimizer* optimizer, const sing_parameter* parameters,
                                     size_t count, const sing_options* overrides, size_t* group) {
  return act(optimizer, "optimizer_add_group", [&](sing::Optimizer& owner) {
    const std::size_t index =
        owner.add_group(parameters_from(parameters, count),
                        overrides == nullptr ? sing::Overrides{} : overrides->overrides);
    if (group != nullptr) {
      *group = index;
    }
  });
}

sing_status sing_optimizer_group_count(const sing_optimizer* optimizer, size_t* count) {
  return get(optimizer, "optimizer_group_count", count,
             [](const sing::Optimizer& owner) { return owner.group_count(); });
}

sing_status sing_optimizer_parameter_count(const sing_optimizer* optimizer, size_t* count) {
  return get(optimizer, "optimizer_parameter_count", count,
             [](const sing::Optimizer& owner) { return owner.parameter_count(); });
}

sing_status sing_optimizer_parameter_name(const sing_optimizer* optimizer, size_t parameter,
                                          const char** name) {
  return get(optimizer, "optimizer_parameter_name", name,
             [&](const sing::Optimizer& owner) { return owner.parameter_name(parameter).c_str(); });
}

sing_status sing_optimizer_find_parameter(const sing_optimizer* optimizer, const char* name,
                                          size_t* parameter) {
  return get(optimizer, "optimizer_find_parameter", parameter, [&](const sing::Optimizer& owner) {
    return owner.find_parameter(&required(name, "optimizer_find_parameter", "a parameter's name"));
  });
}

sing_status sing_optimizer_set_gradient(sing_optimizer* optimizer, size_t parameter,
                                        const void* gradient, sing_dtype dtype) {
  return act(optimizer, "optimizer_set_gradient", [&](sing::Optimizer& owner) {
    if (dtype == SING_DTYPE_DEFAULT) {
      owner.set_gradient(parameter, gradient);
    } else {
      owner.set_gradient(parameter, gradient,
                         dtype_from(dtype, sing::Dtype::kFloat32, "optimizer_set_gradient"));
    }
  });
}

sing_status sing_optimizer_set_curvature(sing_optimizer* optimizer, size_t parameter,
                                         const void* curvature) {
  return act(optimizer, "optimizer_set_curvature",
             [&](sing::Optimizer& owner) { owner.set_curvature(parameter, curvature); });
}

sing_status sing_optimizer_set_gradients(sing_optimizer* optimizer, const void* const* gradients,
                                         size_t count) {
  return act(optimizer, "optimizer_set_gradients", [&](sing::Optimizer& owner) {
    check_count(count, owner.parameter_count(), "optimizer_set_gradients");
    if (count > 0) {
      required(gradients, "optimizer_set_gradients", "gradients");
    }
    for (std::size_t i = 0; i < count; ++i) {
      owner.set_gradient(i, gradients[i]);
    }
  });
}

sing_status sing_optimizer_set_sum_shards(sing_optimizer* optimizer, sing_sum_shards sum_shards,
                                          void* context) {
  return act(optimizer, "optimizer_set_sum_shards", [&](sing::Optimizer& owner) {
    if (sum_shards == nullptr) {
      owner.set_sum_shards({});
      return;
    }
    owner.set_sum_shards([=](std::span<double> values, std::int32_t sum_group) {
      const std::int32_t failure = sum_shards(context, values.data(), values.size(), sum_group);
      if (failure != 0) {
        throw sing::Error(
            fmt::format("[optimizer_step] wanted 0 from sum_shards, got {}", failure));
      }
    });
  });
}

sing_status sing_optimizer_set_sum_shards_on_device(sing_optimizer* optimizer,
                                                    sing_sum_shards_on_device sum_shards,
                                                    void* context) {
  return act(optimizer, "optimizer_set_sum_shards_on_device", [&](sing::Optimizer& owner) {
    if (sum_shards == nullptr) {
      owner.set_sum_shards_on_device({});
      return;
    }
    owner.set_sum_shards_on_device(
        [=](double* values, std::size_t count, std::int32_t sum_group, void* stream) {
          const std::int32_t failure = sum_shards(context, values, count, sum_group, stream);
          if (failure != 0) {
            throw sing::Error(fmt::format(
                "[optimizer_step] wanted 0 from sum_shards_on_device, got {}", failure));
          }
        });
  });
}

sing_status sing_optimizer_set_exchange_parts(sing_optimizer* optimizer,
                                              sing_exchange_parts exchange_parts, void* context) {
  return act(optimizer, "optimizer_set_exchange_parts", [&](sing::Optimizer& owner) {
    if (exchange_parts == nullptr) {
      owner.set_exchange_parts({});
      return;
    }
    owner.set_exchange_parts([=](const sing::PartMessages& messages, std::int32_t sum_group) {
      const std::int32_t failure = exchange_parts(
          context, messages.sent.data(), messages.sent_bytes.data(), messages.received.data(),
          messages.received_bytes.data(), messages.sent_bytes.size(), sum_group);
      if (failure != 0) {
        throw sing::Error(
            fmt::format("[optimizer_step] wanted 0 from exchange_parts, got {}", failure));
      }
    });
  });
}

sing_status sing_optimizer_step(sing_optimizer* optimizer, double loss_scale) {
  return act(optimizer, "optimizer_step", [&](sing::Optimizer& owner) { owner.step(loss_scale); });
}

sing_status sing_optimizer_learning_rate(const sing_optimizer* optimizer, size_t group,
                                         double* learning_rate) {
  return get(optimizer, "optimizer_learning_rate", learning_rate,
             [&](const sing::Optimizer& owner) {
               return sing::learning_rate_of(owner.options(group).rule);
             });
}

sing_status sing_optimizer_set_learning_rate(sing_optimizer* optimizer, size_t group,
                                             double learning_rate) {
  return act(optimizer, "optimizer_set_learning_rate", [&](sing::Optimizer& owner) {
    if (group == SING_ALL_GROUPS) {
      owner.set_learning_rate(learning_rate);
    } else {
      owner.set_learning_rate(group, learning_rate);
    }
  });
}

sing_status sing_optimizer_set_learning_rate_factor(sing_optimizer* optimizer, double factor) {
  return act(optimizer, "optimizer_set_learning_rate_factor",
             [&](sing::Optimizer& owner) { owner.set_learning_rate_factor(factor); });
}

sing_status sing_optimizer_option(const sing_optimizer* optimizer, size_t group, const char* name,
                                  const char** text) {
  return get(optimizer, "optimizer_option", text, [&](const sing::Optimizer& owner) {
    thread_local std::string kept;
    required(name, "optimizer_option", "an option's name");
    kept = plain_text(sing::get_option(owner.options(group), name));
    return kept.c_str();
  });
}

sing_status sing_optimizer_set_option(sing_optimizer* optimizer, size_t group, const char* name,
                                      const char* text) {
  return act(optimizer, "optimizer_set_option", [&](sing::Optimizer& owner) {
    required(name, "optimizer_set_option", "an option's name");
    required(text, "optimizer_set_option", "a value");
    owner.set_option(group, name, std::string(text));
  });
}

sing_status sing_optimizer_gradient_norms(const sing_optimizer* optimizer, double* norms,
                                          size_t count) {
  return act(optimizer, "optimizer_gradient_norms", [&](const sing::Optimizer& owner) {
    check_count(count, owner.parameter_count(), "optimizer_gradient_norms");
    if (count > 0) {
      required(norms, "optimizer_gradient_norms", "a place for the norms");
    }
    const std::vector<double> measured = owner.gradient_norms();
    std::copy(measured.begin(), measured.end(), norms);
  });
}

sing_status sing_optimizer_counts(sing_optimizer* optimizer, sing_counts* counts) {
  return act(optimizer, "optimizer_counts", [&](sing::Optimizer& owner) {
    check_struct_size<sing_counts>(
        required(counts, "optimizer_counts", "counts to fill in").struct_size, kCountsRequired,
        "optimizer_counts");
    const sing::OptimizerProgress progress = owner.status();
    write_struct(counts,
                 {.struct_size = 0,
                  .skipped_steps = progress.skipped_steps,
                  .skipped_tensors = progress.skipped_tensors},
                 kCountsRequired, "optimizer_counts");
  });
}

sing_status sing_optimizer_state_bytes(const sing_optimizer* optimizer, size_t* bytes) {
  return get(optimizer, "optimizer_state_bytes", bytes,
             [](const sing::Optimizer& owner) { return owner.state_bytes(); });
}

sing_status sing_optimizer_use_slow_weights(sing_optimizer* optimizer) {
  return act(optimizer, "optimizer_use_slow_weights",
             [](sing::Optimizer& owner) { owner.use_slow_weights(); });
}

sing_status sing_optimizer_use_fast_weights(sing_optimizer* optimizer) {
  return act(optimizer, "optimizer_use_fast_weights",
             [](sing::Optimizer& owner) { owner.use_fast_weights(); });
}

sing_status sing_optimizer_save(const sing_optimizer* optimizer, const char* path) {
  return act(optimizer, "optimizer_save", [&](const sing::Optimizer& owner) {
    owner.save(&required(path, "optimizer_save", "a path"));
  });
}

sing_status sing_optimizer_load(sing_optimizer* optimizer, const char* path) {
  return act(optimizer, "optimizer_load", [&](sing::Optimizer& owner) {
    owner.load(&required(path, "optimizer_load", "a path"));
  });
}
