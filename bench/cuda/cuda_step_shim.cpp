// Defines the C functions that bench/cuda/cuda_step_bench.py calls: SING-AdamW with LookAhead on
// tensors that torch owns.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "sing/backend/cuda/step_tuning.hpp"

namespace {

using sing::TensorProgress;

struct Problem {
  std::unique_ptr<sing::Backend> backend;
  std::vector<std::shared_ptr<void>> memory;
  sing::GroupStep group;
  std::vector<sing::TensorStep> tensors;
  sing::OptimizerProgress* progress = nullptr;
  sing::NonFinite non_finite = sing::NonFinite::kSkipTensor;

  void* allocate(std::size_t bytes) {
    memory.push_back(backend->allocate(bytes));
    return memory.back().get();
  }
  sing::StepRequest request() const {
    return {.groups = {&group, 1},
            .tensors = tensors,
            .progress = progress,
            .non_finite = non_finite,
            .loss_scale = 1,
            .version = 1};
  }
};

}  // namespace

extern "C" {

// These two structs are mirrored by ctypes structures.
struct SingBenchOptions {
  void* stream;
  std::int64_t chunk_elements, tile_elements, small_elements, window_bytes, beyond_bytes,
      beyond_large_bytes;
  std::int64_t non_finite;  // value of a NonFinite
};

struct SingBenchTensor {
  void* parameter;
  const void* gradient;
  std::int64_t rank;
  std::int64_t shape[4];
};

// Returns null after a failure and prints its message to stderr.
void* sing_bench_create(const SingBenchOptions* options, const SingBenchTensor* tensors,
                        std::int64_t count) {
  try {
    auto problem = std::make_unique<Problem>();
    problem->backend =
        sing::cuda::make_tuned_cuda_backend({.device = 0, .stream = options->stream},
                                            {.chunk_elements = options->chunk_elements,
                                             .tile_elements = options->tile_elements,
                                             .small_elements = options->small_elements,
                                             .window_bytes = options->window_bytes,
                                             .beyond_bytes = options->beyond_bytes,
                                             .beyond_large_bytes = options->beyond_large_bytes});
    problem->non_finite = static_cast<sing::NonFinite>(options->non_finite);
    problem->progress =
        static_cast<sing::OptimizerProgress*>(problem->allocate(sizeof(sing::OptimizerProgress)));
    problem->group.rule =
        sing::AdamW{.learning_rate = 1e-3, .weight_decay = 1e-2, .softplus_beta = 50};
    problem->group.lookahead = sing::Lookahead{};
    problem->group.progress =
        static_cast<sing::GroupProgress*>(problem->allocate(sizeof(sing::GroupProgress)));
    auto* counters = static_cast<TensorProgress*>(
        problem->allocate(sizeof(TensorProgress) * static_cast<std::size_t>(count)));
    // One allocation holds all state; each array begins at a multiple of 256 bytes.
    std::size_t total = 0;
    std::vector<std::size_t> offsets;
    for (std::int64_t i = 0; i < count; ++i) {
      const SingBenchTensor& each = tensors[i];
      sing::TensorStep& tensor = problem->tensors.emplace_back();
      tensor.layout = sing::make_layout({each.shape, static_cast<std::size_t>(each.rank)}, 0);
      tensor.parameter = each.parameter;
      tensor.gradient = each.gradient;
      tensor.progress = counters + i;
      offsets.push_back(total);
      total += (static_cast<std::size_t>(tensor.layout.size) * 4 + 255) / 256 * 256 * 3;
    }
    auto* state = static_cast<std::byte*>(problem->allocate(total));
    for (std::size_t i = 0; i < problem->tensors.size(); ++i) {
      sing::TensorStep& tensor = problem->tensors[i];
      const std::size_t bytes =
          (static_cast<std::size_t>(tensor.layout.size) * 4 + 255) / 256 * 256;
      tensor.slots[0] = state + offsets[i];
      tensor.slots[1] = state + offsets[i] + bytes;
      tensor.slow = state + offsets[i] + 2 * bytes;
    }
    return problem.release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

// Returns 0, or 1 after a failure, and then prints its message to stderr.
int sing_bench_step(void* handle) {
  try {
    auto* problem = static_cast<Problem*>(handle);
    problem->backend->step(problem->request());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

std::int64_t sing_bench_scratch_bytes(void* handle) {
  return static_cast<std::int64_t>(static_cast<Problem*>(handle)->backend->scratch_bytes());
}

void sing_bench_destroy(void* handle) { delete static_cast<Problem*>(handle); }

}  // extern "C"
