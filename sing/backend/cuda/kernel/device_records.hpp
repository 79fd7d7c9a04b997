// What a step's kernels read and write beside the tensors: plain records, the same on host and
// device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

// Threads of a step kernel's block, and blocks of it on a multiprocessor: up to 144 registers a
// thread. With 80 the hot loops kept some of their state in memory. One warp more a block makes
// GPT-2's step 0.4 % slower, one less 0.7 %.
inline constexpr int kStepThreads = 224;
inline constexpr int kStepWarps = kStepThreads / 32;
inline constexpr int kStepBlocksPerMultiprocessor = 2;
// Of the kernels between measure and apply, which need fewer registers.
inline constexpr int kPassThreads = 256;
inline constexpr int kPassWarps = kPassThreads / 32;
inline constexpr int kPassBlocksPerMultiprocessor = 3;
// Shared memory of a step kernel's block: words of 16 bytes that each lane has on their way. Two
// blocks of it fit a multiprocessor of every architecture this is built for.
inline constexpr int kStagedWords = 20;
inline constexpr int kStagingBytes = kStepThreads * kStagedWords * 16;
// Gradients of up to this many bytes are held in the second-level cache until their second reading,
// as far as it can.
inline constexpr std::int64_t kMostHeldBytes = 16LL << 20;
// Rows up to this length are measured whole, by one warp; longer ones in parts.
inline constexpr std::int64_t kMaxWholeRow = 16384;
// Chunks whose sums are added up together, by the warp that measured the last of them.
inline constexpr std::int64_t kFamily = 1024;

// The records that an item begins with are read whole, in words of 16 bytes: one after the other,
// as they are needed, their readings took a quarter of an item's time.

// A tensor's rows: what measuring and applying want to know of them. Tensors that are not cut along
// rows (rank 0 and 1, strided) count as one row of length `span` = size.
struct alignas(16) TensorRows {
  void* row_means;  // state type, one a row
  std::int64_t span;
  std::int64_t outer;  // as in Layout
  // ⌈2³² / span⌉ for spans that are shorter than the tensor's largest tile, 0 for others.
  std::uint32_t row_magic;
  bool centralizes;
};

// How a tensor is measured. A chunk is a run of whole rows, or a part of one row where
// chunks_per_row > 1.
struct TensorChunks : TensorRows {
  std::int64_t size;
  std::int64_t rows;  // as in Layout
  std::int64_t chunk_elements;
  std::int64_t chunk_rows;  // 0 where a chunk is a part of one
  std::int64_t chunks;
  std::int64_t chunks_per_row;
  std::int64_t first_partial;
  std::int64_t first_family;  // of kFamily chunks
};

// What an update reads and writes.
struct alignas(16) TensorArrays {
  void* parameter;
  void* slots[kMaxSlots];
  void* slow;
  void* master;
  void* low_precision_copy;
  Dtype dtype;
  Dtype low_precision_dtype;
};

// One tensor as the plan sees it; uploaded with the plan.
struct TensorRecord : TensorChunks, TensorArrays {
  std::int64_t index;  // in the request
  std::int64_t inner;  // as in Layout
  // A rule keeps factors or makes matrices orthogonal, never both. A record of 256 bytes is what
  // the kernels were measured with.
  union {
    std::int64_t matrices;      // as in Layout, for factors
    std::int64_t matrix_begin;  // of the tensor, among those made orthogonal together; in elements
  };
  std::int64_t matrix_rows, columns;
  std::int64_t rank;
  std::int64_t leading;  // the first axis
  std::int64_t group;
  TensorProgress* progress;
  void* matrix_means;  // state type, one a matrix; null for rules without factors
};
static_assert(sizeof(TensorRecord) == 256);

// What may change from step to step without a new plan.
struct alignas(16) GradientRecord {
  const void* data;  // null: the tensor sits the step out
  std::int64_t dtype;
  const void* curvature;  // of the same type; null: the gradient
};

template <class... Each>
constexpr std::size_t largest_size(std::variant<Each...>*) {
  std::size_t largest = 0;
  ((largest = sizeof(Each) > largest ? sizeof(Each) : largest), ...);
  return largest;
}
inline constexpr std::size_t kRuleBytes = largest_size(static_cast<Rule*>(nullptr));

struct GroupRecord {
  alignas(8) std::byte rule[kRuleBytes];  // the alternative that the batch's kernel is made for
  Standardize standardize;
  double learning_rate;                                // with the schedule's factor
  const float* learning_rate_source;                   // device memory in its place, or null
  double learning_rate_factor;                         // of the schedule, for the source
  double weight_decay_vectors, weight_decay_matrices;  // of rank ≤ 1 and of rank ≥ 2
  std::int64_t lookahead_period;                       // 0: none
  double lookahead_alpha;
  GroupProgress* progress;
};

struct StepRecord {
  OptimizerProgress* progress;
  double loss_scale;
  std::int64_t group_count;
  NonFinite non_finite;
};

enum class Work : std::uint16_t {
  kMeasure,        // one chunk
  kApply,          // one tile, after its tensor is measured
  kWhole,          // a tensor of one chunk, measured and applied
  kStridedMeans,   // means of kStridedTile rows that are not contiguous
  kFactorRows,     // kFactorRowTile matrix rows
  kFactorColumns,  // factor_column_tile() columns, counted over all matrices
  kMatrixMeans,    // means of the row factors of matrix_tile() matrices
  kSums,           // one chunk of a rule's own sums
  kMatrixInput,    // one chunk of what a rule wants orthogonal
  kClip,           // the factor of one tensor, by the norm of all of them together
};

inline constexpr std::int64_t kStridedTile = 32;
inline constexpr std::int64_t kFactorRowTile = 64;
// Up to this many matrix rows, one thread sums a column of a matrix on its own.
inline constexpr std::int64_t kFewMatrixRows = 64;
constexpr std::int64_t factor_column_tile(std::int64_t matrix_rows) {
  return matrix_rows <= kFewMatrixRows ? 512 : 32;
}
constexpr std::int64_t matrix_tile(std::int64_t matrix_rows) {
  return matrix_rows <= kFewMatrixRows ? 512 : 1;
}

// One entry of the queue. A tile is a run of elements that one warp updates, wherever rows begin.
struct WorkItem {
  std::uint32_t tensor;
  Work work;
  std::uint16_t elements;  // of a tile
  std::int64_t index;      // of the chunk; of a tile's first element
};
static_assert(sizeof(WorkItem) == 16);
// The tensor of an item that there is none of.
inline constexpr std::uint32_t kNoTensor = 0xffffffffU;

// What one chunk contributes to its tensor. Later a rule's own sums, up to four, take its place.
struct ChunkSums {
  double squares;
  double centred_squares;
  double mean;  // of a part of a row, where rows are split
  double unused;
};

// What a tensor's sums decide. One word, written and read as such: whoever sees the epoch sees the
// rest, without a fence.
struct alignas(16) Verdict {
  unsigned int epoch;     // the one that the step makes
  std::uint16_t updates;  // 0: the gradient is not finite and the policy skips the tensor
  std::uint16_t finite;
  double factor;  // of the centred gradient
};
static_assert(sizeof(Verdict) == 16);

// Zeroed when made. Every launch leaves `next` and the parties of `exited` at 0, every step the
// rest but epoch.
struct QueueState {
  unsigned long long next;
  unsigned long long exited;           // parties; from kNotFinite on, tensors that are not finite
  unsigned int epoch;                  // steps taken
  unsigned long long non_finite_code;  // ~index of the first non-finite tensor, 0: none
  unsigned long long skipped_tensors;
};

inline constexpr unsigned long long kNotFinite = 1ULL << 32;

inline constexpr std::size_t kBeginningBytes = 256;

struct StepArguments {
  const TensorRecord* tensors;
  const GradientRecord* gradients;
  const GroupRecord* groups;
  const StepRecord* step;
  const WorkItem* items;
  ChunkSums* partials;        // one a chunk
  ChunkSums* family_sums;     // one a family of chunks
  unsigned int* family_done;  // chunks measured of each family; wraps to 0 with the last one
  unsigned int* tensor_done;  // families, chunks or sums done of each tensor; wraps likewise
  unsigned int* begun;        // one a tensor: who begins its conclusion and whether that is done
  Verdict* verdicts;          // one a tensor
  std::byte* beginnings;      // kBeginningBytes a tensor
  double* squares;            // of each tensor's standardized gradient; 0 where it is skipped
  QueueState* queue;
  std::int64_t tensor_count;
  void* matrices;          // where the launch at hand writes what is to be made orthogonal
  const void* orthogonal;  // what came of them; null for launches without
  std::int64_t item_begin, item_end;
  std::int64_t first_begun, begun_count;  // tensors whose conclusions the launch at hand begins
  bool ends_step;
};

}  // namespace sing::cuda
