// The records that host and device share during a step: tensors, options, work items, results.
// docs/architecture.md has a drawing and a glossary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

// Threads per block of a step kernel, and resident blocks per multiprocessor: this leaves 144
// registers per thread. With 80 registers the hot loops spilled. One warp more per block makes
// GPT-2's step 0.4 % slower, one warp less 0.7 %.
inline constexpr int kStepThreads = 224;
inline constexpr int kStepWarps = kStepThreads / 32;
inline constexpr int kStepBlocksPerMultiprocessor = 2;
// The same for pass kernels, which need fewer registers.
inline constexpr int kPassThreads = 256;
inline constexpr int kPassWarps = kPassThreads / 32;
inline constexpr int kPassBlocksPerMultiprocessor = 3;
// A staged word is 16 bytes of shared memory that one lane fills by an asynchronous copy from
// global memory. Two blocks with this many words per lane fit into a multiprocessor of every
// architecture this is built for.
inline constexpr int kStagedWords = 20;
inline constexpr int kStagingBytes = kStepThreads * kStagedWords * 16;
// The measure pass asks L2 to retain gradients of up to this many bytes for the apply pass.
inline constexpr std::int64_t kMaxRetainedBytes = 16LL << 20;
// Rows up to this length are measured whole, by one warp; longer ones in parts.
inline constexpr std::int64_t kMaxWholeRow = 16384;
// A family is a run of this many chunks of a tensor (fewer at its end), whose sums are added up by
// the warp that measured the last of them.
inline constexpr std::int64_t kFamilyChunks = 1024;

// An item loads its records with 16-byte reads, all at once (read_record): field-by-field loads
// took a quarter of an item's time. Hence the alignment.

// The rows of a tensor, as both passes need them. Tensors that are not cut along rows (rank 0 and
// 1, strided) count as one row.
struct alignas(16) TensorRows {
  void* row_means;          // state type, one per row
  std::int64_t row_length;  // in elements
  std::int64_t outer;       // as in Layout; above 1: rows are strided
  // ⌈2³² / row_length⌉ for rows shorter than the tensor's largest tile, otherwise 0.
  std::uint32_t row_reciprocal;
  bool centralizes;
};

// How to measure a tensor. A chunk is what one warp measures at a time: a run of whole rows, or a
// part of one row where chunks_per_row > 1.
struct TensorChunks : TensorRows {
  std::int64_t size;
  std::int64_t rows;  // as in Layout
  std::int64_t chunk_elements;
  std::int64_t chunk_rows;  // 0 where a chunk is a part of a row
  std::int64_t chunks;
  std::int64_t chunks_per_row;
  std::int64_t first_partial;  // index into StepArguments::partials
  std::int64_t first_family;   // index into StepArguments::family_sums
};

// The arrays that an update reads and writes.
struct alignas(16) TensorArrays {
  void* parameter;
  void* slots[kMaxSlots];
  void* slow;
  void* master;
  void* low_precision_copy;
  Dtype dtype;
  Dtype low_precision_dtype;
};

// Everything the plan knows about one tensor; uploaded with the plan.
struct TensorRecord : TensorChunks, TensorArrays {
  std::int64_t index;  // in the request
  std::int64_t inner;  // as in Layout
  // A rule keeps factors or makes matrices orthogonal, never both. The kernels were measured with
  // records of 256 bytes.
  union {
    std::int64_t matrices;      // as in Layout, for factors
    std::int64_t matrix_begin;  // first element of the tensor's matrix in its batch
  };
  std::int64_t matrix_rows, columns;
  std::int64_t rank;
  std::int64_t leading;  // length of the first axis
  std::int64_t group;
  TensorProgress* progress;
  void* matrix_means;  // state type, one per matrix; null for rules without factors
};
static_assert(sizeof(TensorRecord) == 256);

// The part of a tensor that may change from step to step without a new plan.
struct alignas(16) GradientRecord {
  const void* data;  // null: the tensor is skipped
  std::int64_t dtype;
  const void* curvature;  // same type as data; null: the gradient takes its place
};

template <class... Each>
constexpr std::size_t largest_size(std::variant<Each...>*) {
  std::size_t largest = 0;
  ((largest = sizeof(Each) > largest ? sizeof(Each) : largest), ...);
  return largest;
}
inline constexpr std::size_t kRuleBytes = largest_size(static_cast<Rule*>(nullptr));

// The options of a parameter group.
struct GroupRecord {
  alignas(8) std::byte rule[kRuleBytes];  // the rule that the launched kernel is compiled for
  Standardize standardize;
  double learning_rate;               // includes the schedule's factor
  const float* learning_rate_source;  // device memory that replaces learning_rate, or null
  double learning_rate_factor;        // the schedule's, for a rate from the source
  double weight_decay_vectors;        // rank ≤ 1
  double weight_decay_matrices;       // rank ≥ 2
  std::int64_t lookahead_period;      // 0: no LookAhead
  double lookahead_alpha;
  double clip_norm;  // 0: gradients are not clipped
  GroupProgress* progress;
};

// The options that all groups share.
struct OptimizerRecord {
  OptimizerProgress* progress;
  double loss_scale;
  double total_norm;  // for clipping; below 0: the step computes it
  std::int64_t group_count;
  NonFinite non_finite;
};

enum class WorkKind : std::uint16_t {
  kMeasure,          // one chunk
  kApply,            // one tile, after its tensor is measured
  kMeasureAndApply,  // a small tensor: one chunk and one tile
  kStridedMeans,     // means of kStridedTile strided rows
  kFactorRows,       // kFactorRowTile matrix rows
  kFactorColumns,    // factor_column_tile() columns, counted over all matrices
  kMatrixMeans,      // means of the row factors of matrix_tile() matrices
  kSums,             // one chunk of a rule's own sums
  kMatrixInput,      // one chunk of a matrix that a rule makes orthogonal
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

// A work item is one entry of the queue: what a worker does at a time. Workers are warps in step
// kernels and blocks in pass kernels. A tile is a run of elements that one warp updates; it may
// begin and end anywhere in a row.
struct WorkItem {
  std::uint32_t tensor;  // position in the plan
  WorkKind kind;
  std::uint16_t elements;  // length of a tile
  std::int64_t index;      // number of the chunk, or first element of the tile
};
static_assert(sizeof(WorkItem) == 16);
// WorkItem::tensor of the item that marks the end of the queue.
inline constexpr std::uint32_t kNoTensor = 0xffffffffU;

// The contribution of one chunk or one family to its tensor's sums. A rule's own sums, up to four
// per chunk, use the same memory in a later launch.
struct ChunkSums {
  double squares;
  double centred_squares;
  double mean;  // the mean of a part of a row, where rows are split
  double unused;
};

// The outcome of the measure pass for one tensor. It is written and read as one 16-byte word, so
// a reader that sees the generation of its step sees the other fields too.
struct alignas(16) MeasureResult {
  unsigned int generation;  // the step that wrote it
  std::uint16_t updates;    // 0: the gradient is not finite and the policy skips the tensor
  std::uint16_t finite;
  double factor;  // multiplies the centered gradient
};
static_assert(sizeof(MeasureResult) == 16);

// Counters of the queue, zeroed when they are allocated. Every launch leaves `next` and the low
// half of `exited` at 0; every step leaves all but `generation` at 0.
struct QueueState {
  unsigned long long next;    // the next ticket
  unsigned long long exited;  // low 32 bits: workers that left; high: non-finite tensors
  // Steps taken, the skipped ones included. Flags and results are tagged with it, so that no step
  // has to clear those of the step before.
  unsigned int generation;
  unsigned long long non_finite_code;  // ~index of the first non-finite tensor; 0: none
  unsigned long long skipped_tensors;
};

// One non-finite tensor in QueueState::exited.
inline constexpr unsigned long long kOneNonFinite = 1ULL << 32;

// Memory per tensor for its PreparedConstants (tensor_constants.cuh).
inline constexpr std::size_t kPreparedBytes = 256;

// The argument of every step and pass kernel.
struct StepArguments {
  const TensorRecord* tensors;
  const GradientRecord* gradients;
  const GroupRecord* groups;
  const OptimizerRecord* optimizer;
  const WorkItem* items;
  ChunkSums* partials;            // one per chunk
  ChunkSums* family_sums;         // one per family
  unsigned int* family_done;      // measured chunks of each family; the last one wraps it to 0
  unsigned int* tensor_done;      // families, chunks or sums done of each tensor; wraps likewise
  unsigned int* prepared;         // per tensor: claimed_in() or prepared_in() of a generation
  MeasureResult* results;         // one per tensor
  std::byte* prepared_constants;  // kPreparedBytes per tensor
  QueueState* queue;
  std::int64_t tensor_count;
  void* matrices;          // output of kMatrixInput items
  const void* orthogonal;  // the orthogonal matrices that this launch applies, or null
  std::int64_t item_begin, item_end;
  std::int64_t first_prepared, prepared_count;  // tensors whose constants this launch prepares
  bool ends_step;
};

}  // namespace sing::cuda
