// The contents of a state file (docs/state_files.md): options, counters and arrays of an optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sing/io/safetensors.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter_store.hpp"
#include "sing/optim/state_store.hpp"

namespace sing {

struct SavedParameter {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  TensorProgress progress;
};

struct SavedGroup {
  Options options;
  GroupProgress progress;
  std::vector<SavedParameter> parameters;
};

// The contents of a state file except for its tensors.
struct SavedOptimizer {
  double learning_rate_factor = 1;
  OptimizerProgress progress;
  std::vector<SavedGroup> groups;
};

// The file's metadata.
std::map<std::string, std::string> to_metadata(const SavedOptimizer& saved);

// The same from a file, with valid options and counters of at least 0. Throws
// std::invalid_argument.
SavedOptimizer from_metadata(const std::map<std::string, std::string>& metadata);

// The counters that the file has for each parameter of `parameters`, in their order. Throws
// std::invalid_argument unless both list the same parameters, in the same groups, of the same
// shapes and types.
std::vector<TensorProgress> match_parameters(const SavedOptimizer& saved,
                                             const ParameterStore& parameters);

// The name of a parameter's array in the file.
std::string tensor_name(const Parameter& parameter, const StateShape& shape);

// The arrays of a state file.
struct SavedArrays {
  std::vector<TensorBytes> tensors;
  std::vector<std::vector<std::byte>> host_copies;  // of the arrays that are not in host memory
};

// The arrays of the parameters that have had an update. `options` are those of each group.
SavedArrays collect_arrays(const Backend& backend, const ParameterStore& parameters,
                           std::span<const Options> options, const StateStore& state,
                           std::span<const TensorProgress> progress);

// Reads the same arrays from a file into new memory; a parameter without an update gets none.
// Throws std::invalid_argument unless the file has exactly these arrays, of the right types and
// shapes.
std::vector<std::optional<StateMemory>> read_arrays(const SafetensorsReader& reader,
                                                    const Backend& backend,
                                                    const ParameterStore& parameters,
                                                    std::span<const Options> options,
                                                    const StateStore& state,
                                                    std::span<const TensorProgress> progress);

}  // namespace sing
