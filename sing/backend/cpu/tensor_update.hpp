// The update of one tensor in one step: the rule's own passes over it and the apply pass.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "sing/backend/cpu/tensor_job.hpp"

namespace sing::cpu {

// Room for the constants of any rule.
struct alignas(64) ConstantsStorage {
  std::byte bytes[192];
};

// The sums over a tensor that a rule declares.
struct RuleSums {
  std::size_t count = 0;
  std::array<double, 4> values{};
};

// The constants that a worker computed last: most tensors of a group have the same.
class ConstantsCache {
 public:
  const ConstantsStorage& get(const Rule& rule, Dtype parameter, const StepScalars& scalars);

 private:
  const Rule* rule_ = nullptr;
  std::optional<StepScalars> scalars_;
  Dtype state_dtype_ = Dtype::kFloat32;
  ConstantsStorage storage_;
};

// Its passes come in the order of Pass. The chunks of a pass may be run in any order and at the
// same time; finish() follows the last of them.
class TensorUpdate {
 public:
  // Counts the step of the tensor, whose gradient has been accepted.
  TensorUpdate(const TensorJob& job, const GradientScale& scale, ConstantsCache& cache);
  // The arguments of the kernels point into the object.
  TensorUpdate(const TensorUpdate&) = delete;
  TensorUpdate& operator=(const TensorUpdate&) = delete;

  // Any pass but Pass::kMeasure.
  void run_chunk(Pass pass, std::int64_t chunk);
  // Also called for a pass that has no chunks. Shards have the functions below instead.
  void finish(Pass pass);

  // Adds up the chunks' sums of a shard after the factor pass, in the plan's matrix_row_sums and
  // matrix_column_sums.
  void collect_factors();
  // Blend the sums of whole rows and whole columns, in the same places, into the slots.
  void blend_rows();
  void blend_columns();
  // The sum of the part's row slots of one matrix, and the mean over the whole one.
  double sum_of_row_slots(std::int64_t matrix) const;
  void set_mean_of_rows(std::int64_t matrix, double mean);

  // Returns the rule's sums over a shard after the sum pass; most rules have none. The next
  // function takes the sums over the whole tensor.
  RuleSums collect_sums() const;
  void finish_sums(const RuleSums& sums);

  // Between the sum pass and the apply pass, for tensors that the rule makes orthogonal: the first
  // writes the matrix, or this process's part of it; the second takes a whole matrix, followed by
  // room for the iterations, and returns the orthogonal one; the third takes that, or a part. An
  // empty `multiply` stands for the library's own loops.
  void write_matrix(void* matrix) const;
  const void* orthogonalize(const Multiply& multiply, void* matrix) const;
  void use_orthogonal(const void* matrix) { arguments_.orthogonal = matrix; }
  // Where a matrix lies in a worker's memory.
  static void* matrix_in(std::span<std::byte> workspace);

 private:
  void factor_chunk(std::int64_t chunk);
  void finish_factor();
  void blend(std::size_t slot, const double* sums, std::int64_t count, std::int64_t addends);
  void sum_chunk(std::int64_t chunk);
  void advance_scalars();
  void apply_chunk(std::int64_t chunk);

  // Says whether a loop only reads the slots or changes them too.
  enum class SlotAccess { kReads, kChanges };
  // Calls loop(arguments, elements) once for the whole range, or for its parts in order.
  template <class Loop>
  void run_loop(IndexRange elements, SlotAccess access, Loop loop) const;

  // Calls visit.template operator()<R, Real>(rule).
  template <class Visit>
  void visit(Visit visit) const;

  TensorJob job_;
  ConstantsStorage constants_;  // the rule may complete them from the tensor's sums
  UpdateArguments arguments_;
};

}  // namespace sing::cpu
