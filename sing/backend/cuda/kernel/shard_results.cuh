// The kernels for shards that depend on the rule: they end the measure pass and the sum pass with
// sums of whole tensors.
#pragma once

#include "sing/backend/cuda/kernel/apply.cuh"
#include "sing/backend/cuda/kernel/shard_factors.cuh"
#include "sing/backend/cuda/kernel/shard_kernels.hpp"

namespace sing::cuda {

// Does for a shard what publish_result() does for a whole tensor. The host does not wait for the
// sums, so it cannot refuse a gradient that only some processes have: such a gradient counts as one
// that is not finite, on all processes that share the tensor.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    shard_results(const __grid_constant__ ShardArguments shards) {
  const StepArguments& step = shards.step;
  const std::int64_t at = shards.begin + std::int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (at >= shards.end) {
    return;
  }
  const ShardRecord& shard = shards.records[at];
  const double* const found = shards.sums + shard.sum_place;
  const bool has_gradient = step.gradients[shard.tensor].data != nullptr;
  const bool is_partial = found[2] != 0 && found[2] != found[3];
  if (!has_gradient && !is_partial) {
    return;
  }
  const TensorRecord& tensor = step.tensors[shard.tensor];
  const GradientScale scale = gradient_scale(
      step.groups[tensor.group].standardize, {.squares = found[0], .centred_squares = found[1]},
      shard.whole_size, tensor.dtype, step.optimizer->loss_scale);
  const bool finite = scale.finite && !is_partial;
  if (!finite) {
    atomicMax(&step.queue->non_finite_code, ~static_cast<unsigned long long>(tensor.index));
    atomicAdd(&step.queue->exited, kOneNonFinite);
  }
  tensor.progress->gradient_norm = scale.gradient_norm;
  if (!has_gradient) {
    // No tile counts it (advance_counters).
    if (!skips_steps(step.optimizer->non_finite)) {
      tensor.progress->non_finite += 1;
      atomicAdd(&step.queue->skipped_tensors, 1ULL);
    }
    return;
  }
  const bool updates =
      finite || (step.optimizer->non_finite == NonFinite::kPassThrough && !is_partial);
  const unsigned int generation = __ldcg(&step.queue->generation) + 1;  // this step's
  prepare_if_unclaimed<R, Real>(step, shard.tensor, generation);
  if constexpr (!kHasSums<R> && kHasScalars<R>) {
    advance<R, Real>(tensor, *prepared_of<R, Real>(step, shard.tensor));
  }
  store_result(&step.results[shard.tensor],
               {.generation = generation,
                .updates = static_cast<std::uint16_t>(updates ? 1 : 0),
                .finite = static_cast<std::uint16_t>(finite ? 1 : 0),
                .factor = static_cast<double>(static_cast<Real>(scale.factor))});
}

// The sum pass has completed the constants with the sums of the part alone, so they are prepared
// again.
template <class R, class Real>
__global__ void __launch_bounds__(kPassThreads)
    shard_rule_sums(const __grid_constant__ ShardArguments shards) {
  const StepArguments& step = shards.step;
  const std::int64_t at = shards.begin + std::int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (at >= shards.end) {
    return;
  }
  const ShardRecord& shard = shards.records[at];
  if (step.gradients[shard.tensor].data == nullptr || step_is_skipped(step) ||
      load_result(&step.results[shard.tensor]).updates == 0) {
    return;
  }
  double sums[kSumCount<R>];
  for (std::size_t k = 0; k < kSumCount<R>; ++k) {
    sums[k] = shards.rule_sums[shard.rule_sum_place + static_cast<std::int64_t>(k)];
  }
  prepare_constants<R, Real>(step, shard.tensor);
  PreparedConstants<R, Real>& prepared = *prepared_of<R, Real>(step, shard.tensor);
  R::finish(prepared.rule, sums, shard.whole_size);
  advance<R, Real>(step.tensors[shard.tensor], prepared);
}

template <class Real>
ShardKernels make_shard_kernels() {
  ShardKernels kernels{};
  std::size_t next = 0;
  for_each_rule_type([&]<class R>() {
    kernels.results[next] = reinterpret_cast<const void*>(&shard_results<R, Real>);
    if constexpr (kHasSums<R>) {
      kernels.rule_sums[next] = reinterpret_cast<const void*>(&shard_rule_sums<R, Real>);
    }
    if constexpr (kIsFactored<R>) {
      kernels.factor_sums[next] = reinterpret_cast<const void*>(&shard_factor_sums<R, Real>);
      kernels.put_factors[next] = reinterpret_cast<const void*>(&put_shard_factors<R, Real>);
      kernels.take_factors[next] = reinterpret_cast<const void*>(&take_shard_factors<R, Real>);
      kernels.factor_means[next] = reinterpret_cast<const void*>(&shard_factor_means<R, Real>);
      kernels.late_means[next] = reinterpret_cast<const void*>(&take_late_means<R, Real>);
    }
    ++next;
  });
  return kernels;
}

}  // namespace sing::cuda
