// One step in progress: workers take the plan's items in order and wait only for earlier ones.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sing/backend/cpu/column_queue.hpp"
#include "sing/backend/cpu/matrix_exchange.hpp"
#include "sing/backend/cpu/shard_stages.hpp"
#include "sing/backend/cpu/step_plan.hpp"
#include "sing/backend/cpu/tensor_update.hpp"

namespace sing::cpu {

// A worker is one of the threads that run a step; this is what it keeps to itself.
struct Worker {
  ConstantsCache constants = {};
  std::span<std::byte> workspace;  // for matrices; empty if no rule makes one orthogonal
};

// The progress of a large tensor, whose chunks several workers run at the same time.
struct LargeTensorRun {
  std::optional<TensorUpdate> update;                   // empty: the tensor is skipped
  std::atomic<std::int64_t> chunks_left[kPassCount]{};  // one per pass
  std::atomic<Pass> open_pass{};                        // this pass and earlier ones may run
};

// Carries out a plan, once per step.
class StepRun {
 public:
  StepRun(StepPlan plan, const Kernels& kernels, const Multiply& multiply);

  const StepPlan& plan() const { return plan_; }
  std::size_t bytes() const;

  // Runs a step on `workers` threads of the executor. If the executor throws or leaves out tasks,
  // the calling thread completes the step; then the executor's exception is thrown.
  void step(const StepRequest& request, int workers, const Executor& executor);

 private:
  void prepare(const StepRequest& request, int workers);
  void run(const StepRequest& request, int workers, const Executor& executor);
  void run_items(const std::vector<Item>& items, int workers, const Executor& executor);
  bool is_open(const Item& item) const;
  void run_item(const Item& item, Worker& worker);

  void run_small_tensor(std::size_t tensor, ItemKind kind, Worker& worker);
  void update_small_tensor(std::size_t tensor, Worker& worker);

  void begin_large_update(std::size_t tensor, Worker& worker);
  void run_chunk(const Item& item, Worker& worker);
  void finish_pass(Pass pass, std::size_t tensor, Worker& worker);
  // Finishes the passes from `pass` on that have no chunks, and opens the next one.
  void open_pass(Pass pass, std::size_t tensor);

  // Measures the whole tensors that shards are parts of, after the measure pass over the parts.
  void measure_shards();
  // Makes the matrices orthogonal that shards are parts of, between the sum and the apply pass.
  void orthogonalize_shards(int workers, const Executor& executor);

  // Limits the norm of all gradients together, for the groups that ask for it.
  void clip_measured();
  // Counts the gradients that are not finite; false if the policy gives the step up.
  bool accept_measured();

  bool has_gradient(std::size_t tensor) const {
    return request_->tensors[tensor].gradient != nullptr;
  }
  TensorJob job(std::size_t tensor) const;
  LargeTensorRun& large(std::size_t tensor) const {
    return large_[plan_.tensors[tensor].large_index];
  }

  StepPlan plan_;
  const Kernels& kernels_;
  const Multiply& multiply_;  // the caller's, or empty
  const StepRequest* request_ = nullptr;
  std::vector<GradientScale> scales_;  // one per tensor
  std::unique_ptr<LargeTensorRun[]> large_;
  std::vector<ShardJob> shards_;           // those of this step
  std::optional<TensorUpdate> no_update_;  // stands for shards without a gradient
  PackedSums packed_;
  MatrixExchange matrices_;
  ColumnQueue queue_;
  std::vector<std::vector<std::byte>> workspaces_;  // one per worker
  std::exception_ptr executor_failure_;             // rethrown when the step is complete
};

}  // namespace sing::cpu
