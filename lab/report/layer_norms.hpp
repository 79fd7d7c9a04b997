// Computes the gradient norms of layers over time from those of their tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

struct LayerNorms {
  std::vector<std::string> layers;  // rows, in the model's order
  std::vector<std::int64_t> steps;  // first step of each column
  std::vector<double> values;       // row by row; run::kAbsent where nothing was recorded

  double at(std::size_t layer, std::size_t column) const {
    return values[layer * steps.size() + column];
  }
};

// A layer is a parameter's name up to its last dot: the norm of block.fc1 is the root of the summed
// squares of block.fc1.weight and block.fc1.bias. Records without norms are left out. With more
// than `most_columns` records, neighbors are averaged; the average is not finite if one of them is
// not.
LayerNorms layer_norms(const std::vector<run::StepRecord>& steps, std::size_t most_columns);

}  // namespace sing::lab::report
