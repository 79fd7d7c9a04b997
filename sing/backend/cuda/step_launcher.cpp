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
      float_shard_kernels_(float_shard_kernels()),
      double_shard_kernels_(double_shard_kernels()),
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
    const void* kernel = nullptr;
    if (each.shards == ShardStage::kMeasure) {
      kernel = measure_shards_kernel(each.storage);
    } else if (!each.shards && !each.by_blocks && !each.matrices && !each.clips) {
      kernel = kernels_[static_cast<std::size_t>(each.storage)].step[each.rule];
    }
    if (kernel != nullptr) {
      check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kStagingBytes),
          "shared memory for a step kernel");
    }
  }
}

void StepLauncher::launch(const DeviceTables& tables, StepArguments arguments,
                          const SumShardsOnDevice* sum_shards, cudaStream_t stream) const {
  const std::vector<Launch>& launches = tables.launches();
  arguments.matrices = tables.matrices();
  for (const Launch& each : launches) {
    if (each.shards) {
      launch_shards(each, tables, tables.shard_arguments(arguments), *sum_shards, stream);
    } else if (each.clips) {
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

// NOLINTNEXTLINE(readability-function-size): one case per stage
void StepLauncher::launch_shards(const Launch& launch, const DeviceTables& tables,
                                 ShardArguments arguments, const SumShardsOnDevice& sum_shards,
                                 cudaStream_t stream) const {
  const auto sum = [&](const ShardVector& vector, double* values) {
    for (const ShardVector::Part& part : vector.parts) {
      sum_shards(values + part.begin, part.count, part.sum_group, stream);
    }
  };
  const auto count = static_cast<unsigned int>(launch.end - launch.begin);
  const auto launch_rule = [&](const KernelOfRules ShardKernels::* kernels, dim3 blocks) {
    arguments.begin = launch.begin;
    arguments.end = launch.end;
    const ShardKernels& of_type =
        launch.storage == Storage::kDouble ? double_shard_kernels_ : float_shard_kernels_;
    void* parameters[] = {&arguments};
    check(cudaLaunchKernel((of_type.*kernels)[launch.rule], blocks, dim3(kPassThreads), parameters,
                           0, stream),
          "to launch a rule's kernel for shards");
  };
  const dim3 of_threads((count + kPassThreads - 1) / kPassThreads);
  const dim3 of_factors(count, kFactorBlocks);
  const auto zero = [&](double* values, const ShardVector& vector) {
    if (vector.size > 0) {
      check(cudaMemsetAsync(values, 0, vector.size * sizeof(double), stream),
            "to zero what processes add up");
    }
  };
  const ShardPlan& plan = tables.shards();
  switch (*launch.shards) {
    case ShardStage::kMeasure: {
      arguments.step.item_begin = launch.begin;
      arguments.step.item_end = launch.end;
      const std::int64_t most = std::int64_t{multiprocessors_} * kStepBlocksPerMultiprocessor;
      const std::int64_t wanted = (launch.end - launch.begin + kStepWarps - 1) / kStepWarps;
      void* parameters[] = {&arguments};
      check(cudaLaunchKernel(measure_shards_kernel(launch.storage),
                             dim3(static_cast<unsigned int>(std::min(wanted, most))),
                             dim3(kStepThreads), parameters, kStagingBytes, stream),
            "to launch the measuring of shards");
      break;
    }
    case ShardStage::kRows:
      zero(arguments.rows, plan.rows);
      put_shard_rows(arguments, stream);
      sum(plan.rows, arguments.rows);
      take_shard_rows(arguments, stream);
      break;
    case ShardStage::kSums:
      put_shard_sums(arguments, stream);
      sum(plan.sums, arguments.sums);
      break;
    case ShardStage::kResults:
      launch_rule(&ShardKernels::results, of_threads);
      break;
    case ShardStage::kFactorSums:
      zero(arguments.factors, plan.factors);
      zero(arguments.late_means, plan.late_means);
      launch_rule(&ShardKernels::factor_sums, of_factors);
      break;
    case ShardStage::kPutFactors:
      launch_rule(&ShardKernels::put_factors, of_factors);
      break;
    case ShardStage::kFactors:
      sum(plan.factors, arguments.factors);
      break;
    case ShardStage::kTakeFactors:
      launch_rule(&ShardKernels::take_factors, of_factors);
      break;
    case ShardStage::kFactorMeans:
      launch_rule(&ShardKernels::factor_means, of_factors);
      break;
    case ShardStage::kLateMeans:
      sum(plan.late_means, arguments.late_means);
      break;
    case ShardStage::kTakeLateMeans:
      launch_rule(&ShardKernels::late_means, of_factors);
      break;
    case ShardStage::kRuleSums:
      put_shard_rule_sums(arguments, stream);
      sum(plan.rule_sums, arguments.rule_sums);
      break;
    case ShardStage::kRuleResults:
      launch_rule(&ShardKernels::rule_sums, of_threads);
      break;
  }
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
