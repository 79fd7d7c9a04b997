// Keeps the weights of the last evaluations of a run, and averages them.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

#include "lab/run/run_directory.hpp"

namespace sing::lab::loop {

// The name by which `sing eval --checkpoint` asks for the average.
inline constexpr const char* kAverage = "average";

// Saves the weights of an evaluation and removes those of all but the last `count` evaluations. A
// resumed run writes the same files again. Throws FileError.
void keep_weights(const run::RunDirectory& directory, const ::torch::nn::Module& module,
                  std::int64_t step, std::int64_t count);

// Sets the module's tensors to the means of the kept ones, computed in double and rounded once;
// tensors of whole numbers are those of the last evaluation. Throws FileError, and
// std::invalid_argument if no weights were kept.
void load_average(const run::RunDirectory& directory, ::torch::nn::Module& module);

}  // namespace sing::lab::loop
