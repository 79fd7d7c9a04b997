// The end of a tensor's measure pass: its sums become a MeasureResult that its tiles wait for.
#pragma once

#include "sing/backend/cuda/kernel/chunk_reduction.cuh"
#include "sing/backend/cuda/kernel/tensor_constants.cuh"

namespace sing::cuda {

// The inputs of a result besides the sums. They are loaded before the sums are handed in: after the
// fence that follows, each of these loads would go to L2 while the tensor's tiles wait.
struct ResultInputs {
  Standardize standardize;
  double loss_scale;
  std::int64_t size;
  Dtype dtype;
  NonFinite non_finite;
  unsigned int generation;
  unsigned int prepared;  // the tensor's flag

  __device__ __forceinline__ ResultInputs(const StepArguments& step, std::int64_t index,
                                          unsigned int the_generation)
      : standardize(step.groups[step.tensors[index].group].standardize),
        loss_scale(step.optimizer->loss_scale),
        size(step.tensors[index].size),
        dtype(step.tensors[index].dtype),
        non_finite(step.optimizer->non_finite),
        generation(the_generation),
        prepared(load_flag(&step.prepared[index])) {}
};

// Called by one thread. Since it loaded `inputs` it has executed a fence, which orders two things
// before the result: the row means, its own and those of the warps it heard from, and the prepared
// constants if their flag was set. Counters are advanced by the apply pass, so that a skipped step
// changes none.
template <class R, class Real>
__device__ __forceinline__ void publish_result(const StepArguments& step, std::int64_t index,
                                               const ResultInputs& inputs,
                                               const GradientSums& sums) {
  const TensorRecord& tensor = step.tensors[index];
  const GradientScale scale =
      gradient_scale(inputs.standardize, sums, inputs.size, inputs.dtype, inputs.loss_scale);
  if (!scale.finite) {
    // The largest code is the smallest index, in whatever order tensors arrive. The fence orders
    // the code before the count, which the last worker of the launch reads (leave_queue).
    atomicMax(&step.queue->non_finite_code, ~static_cast<unsigned long long>(tensor.index));
    fence_acquire_release();
    atomicAdd(&step.queue->exited, kOneNonFinite);
  }
  const bool updates = scale.finite || inputs.non_finite == NonFinite::kPassThrough;
  if (inputs.prepared != prepared_in(inputs.generation)) {
    // The warp that is to prepare this tensor may not be running yet, and waiting for it could
    // deadlock: this thread does it, unless a running thread has claimed it.
    prepare_if_unclaimed<R, Real>(step, index, inputs.generation);
    while (load_flag(&step.prepared[index]) != prepared_in(inputs.generation)) {
      __nanosleep(32);
    }
    fence_acquire_release();
  }
  if constexpr (!kHasSums<R> && kHasScalars<R>) {
    PreparedConstants<R, Real> advanced = load_prepared<R, Real>(step, index);
    advance<R, Real>(tensor, advanced);
    *prepared_of<R, Real>(step, index) = advanced;
    fence_acquire_release();
  }
  store_result(&step.results[index],
               {.generation = inputs.generation,
                .updates = static_cast<std::uint16_t>(updates ? 1 : 0),
                .finite = static_cast<std::uint16_t>(scale.finite ? 1 : 0),
                .factor = static_cast<double>(static_cast<Real>(scale.factor))});
  tensor.progress->gradient_norm = scale.gradient_norm;  // no warp of this launch reads it
}

}  // namespace sing::cuda
