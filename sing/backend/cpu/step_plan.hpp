// How the work of a step is cut into items and in which order they are taken. The cuts depend only
// on the tensors' shapes, never on threads, so that results have the same bits for any number of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu {

// Elements a tensor may have to be worked on by one thread in one go, and a chunk of a larger one.
inline constexpr std::int64_t kChunk = std::int64_t{64} * 1024;
// A tensor is cut into at most about this many chunks, so that scratch does not grow with it.
inline constexpr std::int64_t kMaxChunks = 128;
// Gradient bytes of the tensors that are measured before the first of them is applied: they should
// still be in cache.
inline constexpr std::int64_t kGroupBytesPerColumn = 2 << 20;
// More threads than this share columns: rows that are mostly empty would make a long plan.
inline constexpr int kMaxColumns = 16;

enum class Work : std::uint8_t {
  kWholeTensors,    // all passes of a run of small tensors
  kMeasureTensors,  // the same, measure only
  kUpdateTensors,   // the same, all passes but measure
  kMeasure,         // one chunk of one pass of a large tensor
  kFactor,
  kSum,
  kApply,
  kNothing,  // fills up a row
};

struct Item {
  Work work;
  std::uint32_t tensor;  // first tensor
  std::uint32_t end;     // chunk, or one past the last tensor
};

// A pass over a large tensor: `count` chunks of `length` rows or elements.
struct Chunks {
  std::int64_t count = 0;
  std::int64_t length = 0;

  Range range(std::int64_t chunk, std::int64_t total) const {
    const std::int64_t begin = chunk * length;
    return {begin, begin + length < total ? begin + length : total};
  }
};

// What one chunk of the measure pass leaves behind.
struct Partial {
  Moments moments;    // of a piece of a row
  GradientSums sums;  // of whole rows
};

struct TensorPlan {
  bool centralizes = false;
  bool is_small = false;
  bool measured_by_update = false;  // nothing waits for its sums: its gradient is read once
  bool own_constants = false;       // the rule completes them for each tensor
  bool is_orthogonal = false;       // the rule makes it orthogonal: one worker does all of it
  std::int64_t pieces = 0;          // of each row; 0: rows are measured whole
  Chunks measure;                   // of rows, of elements of a row (pieces > 0), or of elements
  std::int64_t matrix_parts = 0;    // of each matrix; 0: matrices are factored whole
  Chunks factor;                    // of matrices, or of rows of a matrix (matrix_parts > 0)
  Chunks sum;
  Chunks apply;

  // Scratch of this tensor.
  std::byte* row_means = nullptr;     // Real[rows]
  Partial* partials = nullptr;        // [measure.count]
  std::byte* column_sums = nullptr;   // Real[factor.count][columns]
  std::byte* mean_of_rows = nullptr;  // Real[matrices]
  double* totals = nullptr;           // [sum.count][kSumCount]
};

// Of a worker's matrices: the caller's products may round otherwise where memory lies otherwise.
inline constexpr std::size_t kWorkspaceAlignment = 64;

struct StepPlan {
  std::vector<TensorPlan> tensors;  // those without a gradient are empty
  // Rows of `columns` items, one column a thread (item_queue.hpp). The chunks of a tensor follow
  // one another down a column: threads that take turns at neighbouring chunks keep starting new
  // streams.
  std::size_t columns = 1;
  std::vector<Item> measure_items;  // empty unless everything is measured before the first update
  std::vector<Item> items;
  std::int64_t elements = 0;
  std::size_t large_tensors = 0;
  std::size_t workspace_bytes = 0;  // of each worker, for matrices

  std::vector<std::byte> scratch;

  std::size_t bytes() const;
};

StepPlan make_plan(const StepRequest& request, int threads);

}  // namespace sing::cpu
