// The records of shards, which are parts of tensors that several processes hold together
// (sing/base/shard.hpp), and the vectors that the processes add up.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/device_records.hpp"

namespace sing::cuda {

// Values per shard in the vector of gradient sums: Σ g², Σ (g − row mean)², the number of processes
// with a gradient, and the number of processes.
inline constexpr std::int64_t kShardSums = 4;

// Describes a shard to the kernels, besides its TensorRecord. Places are indices into the vectors
// of ShardArguments.
struct ShardRecord {
  std::int64_t tensor;            // position in the plan
  std::int64_t whole_size;        // elements of the whole tensor
  std::int64_t whole_row_length;  // of a centralized row that is cut; 0 if none is
  std::int64_t row_place;         // of the part's first row
  std::int64_t sum_place;         // of kShardSums values
  std::int64_t rule_sum_place;    // of rule_sum_count values
  std::int64_t rule_sum_count;
};

// Describes a shard with factored moments to their kernels. A row or column of a matrix is cut if
// several parts have elements of it.
struct FactorRecord {
  std::int64_t tensor;
  std::int64_t rank;        // of the tensor
  std::int64_t axes;        // first of the numbers in ShardArguments::axes
  std::int64_t whole_rows;  // of a matrix
  std::int64_t whole_columns;
  std::int64_t row_sums, column_sums;  // places of the part's own sums
  // Where the whole tensor's rows, columns and matrices begin in the vectors. The sum of a matrix's
  // row factors goes into `factors`, or into `late_means` where rows and columns are cut, because
  // there the row factors are known only after `factors` has been added up.
  std::int64_t row_place, column_place, mean_place, late_mean_place;
  bool cuts_rows, cuts_columns;
};

// The argument of the kernels for shards.
struct ShardArguments {
  StepArguments step;
  const ShardRecord* records;
  std::int64_t begin, end;  // the records that a launch works on
  GradientSums* parts;      // one per tensor of the plan: the sums over this process's part
  double* rows;             // sums of cut rows
  double* sums;
  double* rule_sums;
  const FactorRecord* factor_records;
  // For each factored shard the axes of its matrix rows, matrix columns and matrices: extent in the
  // part, extent in the whole, offset.
  const std::int64_t* axes;
  double* part_factors;  // sums of the part's rows and columns
  double* factors;       // sums of cut rows and columns, and of the row factors of matrices
  double* late_means;
};

}  // namespace sing::cuda
