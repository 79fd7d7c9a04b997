// One step in progress: workers take the plan's items in order and wait only for earlier ones.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "sing/backend/cpu/item_queue.hpp"
#include "sing/backend/cpu/step_plan.hpp"

namespace sing::cpu {

// Room for the constants of any rule.
struct alignas(64) ConstantsStorage {
  std::byte bytes[192];
};

// The constants a worker made last: most tensors of a group share them.
struct CachedConstants {
  explicit CachedConstants(int of_worker) : worker(of_worker) {}

  int worker;
  const Rule* rule = nullptr;
  std::optional<StepScalars> scalars;
  Dtype dtype = Dtype::kFloat32;
  ConstantsStorage storage;
};

// What the chunks of a large tensor share during a step.
struct LargeTensorRun {
  TensorPass pass;  // pass.tensor is null if the tensor is skipped
  ConstantsStorage constants;
  std::atomic<std::int64_t> remaining[4];  // chunks left of measure, factor, sum, apply
  std::atomic<int> open_pass;              // passes up to this one may run
};

// Kept from step to step with its plan.
class StepRun {
 public:
  StepRun(StepPlan plan, const Kernels& kernels, const Multiply& multiply);

  const StepPlan& plan() const { return plan_; }
  std::size_t bytes() const;

  // Runs a step on `workers` threads of the executor.
  void step(const StepRequest& request, int workers, const Executor& executor);

 private:
  void reset(const StepRequest& request);
  void run_items(const std::vector<Item>& items, int workers, const Executor& executor);
  bool is_pass_open(const Item& item) const;
  void run_item(const Item& item, CachedConstants& cache);
  void run_small(const Item& item, CachedConstants& cache);
  void run_chunk(int pass_index, std::size_t tensor, std::int64_t chunk, CachedConstants& cache);
  void finish_pass(int pass_index, std::size_t tensor, CachedConstants& cache);

  void measure_chunk(std::size_t tensor, std::int64_t chunk);
  // Of a tensor that the update measures.
  void begin_unmeasured(std::size_t tensor);
  void finish_measure(std::size_t tensor);
  // False: the tensor is skipped. Otherwise counts its step and fills `pass`.
  bool begin_update(std::size_t tensor, CachedConstants& cache, TensorPass& pass);
  void begin_large_update(std::size_t tensor, CachedConstants& cache);
  void update_small(std::size_t tensor, CachedConstants& cache);
  void apply_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk);
  void orthogonalize(TensorPass& pass, std::size_t tensor, int worker);
  void factor_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk);
  void finish_factor(const TensorPass& pass, std::size_t tensor);
  void sum_chunk(const TensorPass& pass, std::size_t tensor, std::int64_t chunk);
  void finish_sum(const TensorPass& pass, std::size_t tensor, void* constants);
  // The scalars of a rule that keeps some; `constants` are this tensor's own.
  void advance(const TensorPass& pass, std::size_t tensor, void* constants);

  // Limits the norm of all gradients together, for the groups that ask for it.
  void clip_measured();
  // Counts non-finite tensors; false if the policy gives the step up.
  bool accept_measured();
  void advance_groups();

  bool has_gradient(std::size_t tensor) const {
    return request_->tensors[tensor].gradient != nullptr;
  }
  const GroupStep& group_of(std::size_t tensor) const {
    return request_->groups[request_->tensors[tensor].group];
  }
  const RealKernels& kernels_of(std::size_t tensor) const {
    return kernels_.of(request_->tensors[tensor].dtype);
  }
  const RealKernels::OfRule& rule_kernels_of(std::size_t tensor) const {
    return kernels_of(tensor).rules[group_of(tensor).rule.index()];
  }
  const Chunks& chunks_of(int pass_index, std::size_t tensor) const;

  StepPlan plan_;
  const Kernels& kernels_;
  const StepRequest* request_ = nullptr;
  std::vector<GradientScale> scales_;  // one a tensor
  std::unique_ptr<LargeTensorRun[]> large_;
  std::vector<std::uint32_t> large_index_;  // of each tensor in large_
  ItemQueue queue_;
  const Multiply& multiply_;                        // the caller's, or empty
  std::vector<std::vector<std::byte>> workspaces_;  // of each worker, for matrices
};

}  // namespace sing::cpu
