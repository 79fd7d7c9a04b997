// Grid sizes, shared memory and the order of a step's launches.
#include "sing/backend/cuda/step_launcher.hpp"

#include <algorithm>
#include <utility>

#include "sing/backend/cuda/kernel/clip.hpp"
#include "sing/backend/cuda/matrix/shift_squares.hpp"

namespace sing::cuda {

StepLauncher::StepLauncher(int device, Multiply multiply)
    : kernels_{full_step_kernels(), full_narrow_step_kernels(), narrow_full_step_kernels(),
               narrow_step_kernels(), double_step_kernels()},
      multiply_(std::move(multiply)) {
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
        "to read the number of multiprocessors");
}

void StepLauncher::prepare(const WorkPlan& plan) {
  if (plan.matrix_bytes > 0 && !multiply_ && !cublas_) {
    cublas_.emplace();
  }
  // A kernel with more than 48 KiB of shared memory needs this attribute before its launch.
  for (const Launch& each : plan.launches) {
    if (!each.by_blocks && !each.matrices && !each.clips) {
      check(cudaFuncSetAttribute(kernels_[static_cast<std::size_t>(each.storage)].step[each.rule],
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kStagingBytes),
            "shared memory for a step kernel");
    }
  }
}

void StepLauncher::launch(const DeviceTables& tables, StepArguments arguments,
                          cudaStream_t stream) const {
  const std::vector<Launch>& launches = tables.launches();
  arguments.matrices = tables.matrices();
  for (const Launch& each : launches) {
    if (each.clips) {
      clip_results(arguments, stream);
    } else if (each.matrices) {
      arguments.orthogonal = each.storage == Storage::kDouble
                                 ? orthogonalize<double>(*each.matrices, tables.matrices(), stream)
                                 : orthogonalize<float>(*each.matrices, tables.matrices(), stream);
    } else {
      arguments.ends_step = &each == &launches.back();
      launch_kernel(each, arguments, stream);
      arguments.orthogonal = nullptr;
    }
  }
}

void StepLauncher::launch_kernel(const Launch& launch, StepArguments& arguments,
                                 cudaStream_t stream) const {
  arguments.item_begin = launch.begin;
  arguments.item_end = launch.end;
  arguments.first_prepared = launch.first_prepared;
  arguments.prepared_count = launch.prepared_count;
  const StepKernels& kernels = kernels_[static_cast<std::size_t>(launch.storage)];
  const void* kernel = (launch.by_blocks ? kernels.pass : kernels.step)[launch.rule];
  const std::int64_t items = launch.end - launch.begin;
  const std::int64_t wanted = launch.by_blocks ? items : (items + kStepWarps - 1) / kStepWarps;
  const std::int64_t most =
      std::int64_t{multiprocessors_} *
      (launch.by_blocks ? kPassBlocksPerMultiprocessor : kStepBlocksPerMultiprocessor);
  const auto blocks = static_cast<unsigned int>(std::clamp<std::int64_t>(wanted, 1, most));
  const auto threads = static_cast<unsigned int>(launch.by_blocks ? kPassThreads : kStepThreads);
  void* parameters[] = {&arguments};
  check(cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), parameters,
                         launch.by_blocks ? 0 : kStagingBytes, stream),
        "to launch a step");
  check(cudaGetLastError(), "to launch a step");
}

// Returns where the results are.
template <class Real>
const void* StepLauncher::orthogonalize(const MatrixLaunch& launch, std::byte* memory,
                                        cudaStream_t stream) const {
  auto* matrices = reinterpret_cast<Real*>(memory);
  const auto multiply = [&](const MatrixProduct& product) {
    multiply_ ? multiply_(product) : cublas_->multiply(product, stream);
  };
  const auto shift = [&](auto... arguments) { shift_squares(arguments..., stream); };
  return newton_schulz(launch.polynomial, launch.shape, matrices,
                       matrices + launch.shape.elements(), MatrixWork{multiply, shift});
}

}  // namespace sing::cuda
