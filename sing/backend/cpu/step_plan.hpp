// Defines how the work of a step is cut into chunks and in which order workers take them. The cuts
// depend on the tensors' shapes alone, never on threads, so that results have the same bits for any
// number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sing/backend/cpu/kernels.hpp"

namespace sing::cpu {

// Elements in a chunk. A tensor of at most so many is small: one worker does all of its passes.
inline constexpr std::int64_t kChunkElements = std::int64_t{64} * 1024;
// A tensor is cut into at most about this many chunks, so that scratch does not grow with it.
inline constexpr std::int64_t kMaxChunks = 128;
// Gradient bytes of a batch, which are the tensors that are measured before the first of them is
// updated, per column: they should still be in cache then.
inline constexpr std::int64_t kBatchBytesPerColumn = 2 << 20;
// More threads than this share columns: rows that are mostly empty would make a long plan.
inline constexpr int kMaxColumns = 16;

// A pass reads all elements of a tensor once. The passes over a tensor follow one another in this
// order; rules without factored moments or sums skip those two.
enum class Pass : std::uint8_t { kMeasure, kFactor, kSum, kApply };
inline constexpr std::size_t kPassCount = 4;

constexpr Pass next(Pass pass) { return static_cast<Pass>(static_cast<std::uint8_t>(pass) + 1); }

enum class ItemKind : std::uint8_t {
  kChunk,           // one chunk of one pass of a large tensor
  kWholeTensors,    // all passes of consecutive small tensors
  kMeasureTensors,  // their measure pass
  kUpdateTensors,   // their other passes
  kWriteMatrix,     // one matrix of those that are cut: this process's part, for its owner
  kOwnMatrix,       // one matrix that this process owns
  kNothing,         // fills up a row
};

// An item is a piece of work that a worker takes from the plan.
struct Item {
  ItemKind kind;
  Pass pass;             // ItemKind::kChunk
  std::uint32_t tensor;  // the first one, or a number in MatrixExchange
  std::uint32_t end;     // the chunk, or one past the last tensor
};

// A chunk is what a worker does of a pass without a break: `length` consecutive rows or elements of
// the tensor, the last chunk perhaps fewer.
struct Chunks {
  std::int64_t count = 0;
  std::int64_t length = 0;

  IndexRange range(std::int64_t chunk, std::int64_t total) const {
    const std::int64_t begin = chunk * length;
    return {begin, begin + length < total ? begin + length : total};
  }
};

// The result of one chunk of the measure pass.
struct Partial {
  SampleMoments moments;  // for a piece of a row
  GradientSums sums;      // for whole rows, or elements
};

// The chunks of one tensor in each pass, and its scratch memory.
struct TensorPlan {
  bool centralizes = false;
  bool is_small = false;
  bool is_shard = false;            // its sums are completed by other processes
  bool measured_by_update = false;  // nothing waits for its sums: its gradient is read once
  // The rule makes it orthogonal: one worker does all of it, or that part of it which follows the
  // exchange of a shard.
  bool is_orthogonal = false;
  bool is_factored = false;     // the rule keeps row and column means of it
  std::int64_t sum_bytes = 0;   // the rule's sums over one chunk
  std::int64_t real_bytes = 0;  // size of an element of its state
  std::size_t large_index = 0;  // among the large tensors
  // A chunk of the measure pass is a run of rows, of elements of one piece if pieces > 0, or of
  // elements of the tensor if nothing is centralized.
  std::int64_t pieces = 0;  // parts of each row that are measured on their own; 0: whole rows
  // A chunk of the factor pass is a run of matrices, or of rows of one matrix if matrix_parts > 0.
  std::int64_t matrix_parts = 0;
  std::array<Chunks, kPassCount> passes{};

  std::byte* row_means = nullptr;     // Real[rows]
  Partial* partials = nullptr;        // [chunks of measure]
  std::byte* column_sums = nullptr;   // Real[chunks of factor][columns]
  std::byte* mean_of_rows = nullptr;  // Real[matrices]
  double* totals = nullptr;           // [chunks of sum][kSumCount]
  // Sums over the part of a shard with factored moments.
  double* matrix_row_sums = nullptr;     // [matrix rows]
  double* matrix_column_sums = nullptr;  // [matrix columns]

  Chunks& chunks(Pass pass) { return passes[static_cast<std::size_t>(pass)]; }
  const Chunks& chunks(Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
};

// Alignment of a worker's matrices: products of the caller may round differently at other
// addresses.
inline constexpr std::size_t kWorkspaceAlignment = 64;

struct StepPlan {
  std::vector<TensorPlan> tensors;  // default-constructed for tensors without a gradient
  // Items in rows of `columns`, one column per thread (column_queue.hpp). The chunks of a tensor
  // follow one another down a column, because threads that alternate between neighboring chunks
  // keep starting new streams of memory accesses.
  std::size_t columns = 1;
  bool measures_first = false;  // everything is measured before the first update
  std::vector<Item> measure_items;
  // The passes over shards between measure and apply. Each follows an exchange, in which the
  // processes add up the sums of the pass before it.
  std::vector<Item> factor_items;
  std::vector<Item> sum_items;
  std::vector<Item> items;
  std::int64_t elements = 0;
  std::size_t large_tensors = 0;
  std::size_t workspace_bytes = 0;  // each worker's memory for matrices

  std::vector<std::byte> scratch;

  std::size_t bytes() const;
};

StepPlan make_plan(const StepRequest& request, int threads);

}  // namespace sing::cpu
