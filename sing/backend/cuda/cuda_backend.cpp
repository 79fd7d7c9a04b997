// The CUDA backend: memory, streams and launches. What the kernels do is in step_kernel.cuh.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sing/backend/cuda/cuda_tuning.hpp"
#include "sing/backend/cuda/device_guard.hpp"
#include "sing/backend/cuda/kernel/convert.hpp"
#include "sing/backend/cuda/kernel/step_kernels.hpp"
#include "sing/backend/cuda/matrix/cublas.hpp"
#include "sing/backend/cuda/matrix/shift_squares.hpp"
#include "sing/backend/cuda/plan/device_tables.hpp"
#include "sing/backend/plan_key.hpp"
#include "sing/base/message.hpp"

namespace sing::cuda {
namespace {

void check_types(const StepRequest& request) {
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const TensorStep& tensor = request.tensors[i];
    const bool both_double =
        tensor.dtype == Dtype::kFloat64 && tensor.gradient_dtype == Dtype::kFloat64;
    const bool none_double =
        tensor.dtype != Dtype::kFloat64 && tensor.gradient_dtype != Dtype::kFloat64;
    SING_CHECK(both_double || none_double,
               "[cuda step] wanted a float64 gradient for a float64 parameter and no other, tensor "
               "{} has {} with a gradient of {}",
               i, name_of(tensor.dtype), name_of(tensor.gradient_dtype));
  }
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaResources& resources, const Tuning& tuning)
      : device_(resources.device),
        stream_(static_cast<cudaStream_t>(resources.stream)),
        current_stream_(resources.current_stream),
        allocator_(resources.allocator),
        multiply_(resources.multiply),
        tuning_(tuning) {
    SING_CHECK(tuning.chunk_elements > 0 && tuning.chunk_elements <= kMaxWholeRow,
               "[cuda] wanted chunk_elements from 1 to {}, got {}", kMaxWholeRow,
               tuning.chunk_elements);
    SING_CHECK(
        tuning.tile_elements > 0 && tuning.tile_elements % 4 == 0 &&
            tuning.tile_elements <= kMaxWholeRow && tuning.whole_elements <= kMaxWholeRow,
        "[cuda] wanted tile_elements a multiple of 4 and whole_elements up to {}, got {} and {}",
        kMaxWholeRow, tuning.tile_elements, tuning.whole_elements);
    SING_CHECK(
        tuning.least_tile_elements > 0 && tuning.least_tile_elements % 4 == 0 &&
            tuning.tiles_left > 0,
        "[cuda] wanted least_tile_elements a multiple of 4 and tiles_left above 0, got {} and {}",
        tuning.least_tile_elements, tuning.tiles_left);
    SING_CHECK(std::min({tuning.window_bytes, tuning.beyond_bytes, tuning.beyond_large_bytes,
                         tuning.matrix_bytes}) >= 0,
               "[cuda] wanted window_bytes, beyond_bytes, beyond_large_bytes and matrix_bytes of 0 "
               "or more, got {}, {}, {} and {}",
               tuning.window_bytes, tuning.beyond_bytes, tuning.beyond_large_bytes,
               tuning.matrix_bytes);
    const DeviceGuard guard(device_);
    kernels_ = {full_step_kernels(), full_narrow_step_kernels(), narrow_full_step_kernels(),
                narrow_step_kernels(), double_step_kernels()};
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device_),
          "reading the number of multiprocessors");
    check(cudaEventCreateWithFlags(&handover_, cudaEventDisableTiming), "making an event");
    if (current_stream_) {
      stream_ = static_cast<cudaStream_t>(current_stream_());
    }
  }

  ~CudaBackend() override {
    // Steps may still be running on tables that are about to be freed.
    int previous = 0;
    if (cudaGetDevice(&previous) == cudaSuccess && cudaSetDevice(device_) == cudaSuccess) {
      cudaStreamSynchronize(stream_);
      retired_.clear();
      tables_.reset();
      cublas_.reset();
      cudaEventDestroy(handover_);
      cudaSetDevice(previous);
    }
  }

  Device device() const override {
    return {.type = DeviceType::kCuda, .index = static_cast<std::int32_t>(device_)};
  }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    const DeviceGuard guard(device_);
    if (allocator_) {
      return allocator_(bytes);
    }
    DeviceBuffer buffer = DeviceBuffer::zeroed(bytes);
    return {buffer.release(), [](void* memory) { cudaFree(memory); }};
  }

  void read(void* host, const void* memory, std::size_t bytes) const override {
    copy(host, memory, bytes, cudaMemcpyDeviceToHost);
  }

  void write(void* memory, const void* host, std::size_t bytes) const override {
    copy(memory, host, bytes, cudaMemcpyHostToDevice);
  }

  void convert(void* destination, Dtype destination_dtype, const void* source, Dtype source_dtype,
               std::int64_t count) override {
    const DeviceGuard guard(device_);
    follow_stream();
    cuda::convert(destination, destination_dtype, source, source_dtype, count, stream_);
  }

  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    const DeviceGuard guard(device_);
    follow_stream();
    cuda::blend(to, to_dtype, blend, count, stream_);
  }

  void step(const StepRequest& request) override {
    const DeviceGuard guard(device_);
    follow_stream();
    if (is_capturing(stream_)) {
      check_types(request);
      check_capture(request);
      launch(tables_->capture(request));
    } else {
      prepare(request);
      const StepArguments arguments = tables_->upload(request, stream_);
      try {
        launch(arguments);
      } catch (...) {
        tables_->forget_step(stream_);
        throw;
      }
    }
  }

  void upload(const StepRequest& request) override {
    const DeviceGuard guard(device_);
    follow_stream();
    SING_CHECK(!is_capturing(stream_), "[cuda upload] wanted a stream that is not captured");
    SING_CHECK(!tables_ || !tables_->captured() || key_->fits(request),
               "[cuda upload] wanted the tensors, rules, centralization, normalization and policy "
               "a graph was captured with, got others: capture again");
    prepare(request);
    tables_->upload(request, stream_);
  }

  bool synchronous() const override { return false; }
  std::size_t scratch_bytes() const override {
    return (tables_ ? tables_->bytes() : 0) + (cublas_ ? cublas_->bytes() : 0);
  }

 private:
  static bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "asking whether a graph is captured");
    return status != cudaStreamCaptureStatusNone;
  }

  // A captured stream cannot wait for work outside its graph: whoever captures has synchronized.
  void follow_stream() const {
    if (!current_stream_) {
      return;
    }
    auto* const wanted = static_cast<cudaStream_t>(current_stream_());
    if (wanted == stream_) {
      return;
    }
    if (!is_capturing(wanted) && !is_capturing(stream_)) {
      check(cudaEventRecord(handover_, stream_), "leaving a stream");
      check(cudaStreamWaitEvent(wanted, handover_, 0), "taking up another stream");
    }
    stream_ = wanted;
  }

  void check_capture(const StepRequest& request) const {
    SING_CHECK(tables_ && key_->fits(request),
               "[cuda step] wanted a step or upload with these tensors before they are captured in "
               "a graph, had none");
    for (std::size_t i = 0; i < request.tensors.size(); ++i) {
      SING_CHECK(request.tensors[i].gradient != nullptr || request.tensors[i].layout.size == 0,
                 "[cuda step] wanted a gradient for every tensor while a graph is captured, tensor "
                 "{} '{}' has none",
                 i, request.tensors[i].name);
    }
  }

  // Makes plan and tables anew where the request needs others. Nothing changes if that fails.
  void prepare(const StepRequest& request) {
    check_types(request);
    if (tables_ && key_->fits(request)) {
      return;
    }
    PlanKey key(request, AbsentGradients::kPlanned);
    WorkPlan plan = make_work_plan(request, tuning_);
    if (plan.matrix_bytes > 0 && !multiply_ && !cublas_) {
      cublas_.emplace();
    }
    allow_staging(plan);
    DeviceTables tables(std::move(plan), request.groups.size(), stream_);
    check(cudaStreamSynchronize(stream_), "waiting for the last step");
    if (tables_ && tables_->captured()) {
      // A graph captured with them may be replayed.
      retired_.push_back(std::move(*tables_));
    }
    tables_.emplace(std::move(tables));
    key_ = std::move(key);
  }

  // A kernel has to be told before it is launched with more than 48 KiB of shared memory.
  void allow_staging(const WorkPlan& plan) const {
    for (const Launch& each : plan.launches) {
      if (!each.by_blocks && !each.matrices) {
        check(cudaFuncSetAttribute(kernels_[static_cast<std::size_t>(each.storage)].step[each.rule],
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, kStagingBytes),
              "asking for shared memory");
      }
    }
  }

  // Gives where the results lie.
  template <class Real>
  const void* orthogonalize(const MatrixLaunch& launch) const {
    auto* matrices = reinterpret_cast<Real*>(tables_->matrices());
    const auto multiply = [&](const MatrixProduct& product) {
      multiply_ ? multiply_(product) : cublas_->multiply(product, stream_);
    };
    const auto shift = [&](auto... arguments) { shift_squares(arguments..., stream_); };
    return newton_schulz(launch.polynomial, launch.shape, matrices,
                         matrices + launch.shape.elements(), MatrixWork{multiply, shift});
  }

  void launch(StepArguments arguments) const {
    const std::vector<Launch>& launches = tables_->launches();
    arguments.matrices = tables_->matrices();
    for (const Launch& each : launches) {
      if (each.matrices) {
        arguments.orthogonal = each.storage == Storage::kDouble
                                   ? orthogonalize<double>(*each.matrices)
                                   : orthogonalize<float>(*each.matrices);
        continue;
      }
      arguments.item_begin = each.begin;
      arguments.item_end = each.end;
      arguments.first_begun = each.first_begun;
      arguments.begun_count = each.begun_count;
      arguments.ends_step = &each == &launches.back();
      const StepKernels& kernels = kernels_[static_cast<std::size_t>(each.storage)];
      const std::int64_t items = each.end - each.begin;
      const std::int64_t wanted = each.by_blocks ? items : (items + kStepWarps - 1) / kStepWarps;
      const std::int64_t most =
          std::int64_t{multiprocessors_} *
          (each.by_blocks ? kPassBlocksPerMultiprocessor : kStepBlocksPerMultiprocessor);
      const auto blocks = static_cast<unsigned int>(std::clamp<std::int64_t>(wanted, 1, most));
      void* parameters[] = {&arguments};
      check(cudaLaunchKernel(
                (each.by_blocks ? kernels.pass : kernels.step)[each.rule], dim3(blocks),
                dim3(static_cast<unsigned int>(each.by_blocks ? kPassThreads : kStepThreads)),
                parameters, each.by_blocks ? 0 : kStagingBytes, stream_),
            "launching a step");
      check(cudaGetLastError(), "launching a step");
      arguments.orthogonal = nullptr;
    }
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    const DeviceGuard guard(device_);
    follow_stream();
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copying");
    check(cudaStreamSynchronize(stream_), "copying");
  }

  int device_;
  mutable cudaStream_t stream_;
  std::function<void*()> current_stream_;  // empty: always stream_
  Allocator allocator_;
  Multiply multiply_;  // the caller's, or empty
  std::optional<Cublas> cublas_;
  cudaEvent_t handover_ = nullptr;  // from stream to stream
  Tuning tuning_;
  std::array<StepKernels, kStorageCount> kernels_{};  // in the order of Storage
  int multiprocessors_ = 0;
  std::optional<PlanKey> key_;  // of the plan in tables_
  std::optional<DeviceTables> tables_;
  std::vector<DeviceTables> retired_;
};

}  // namespace

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const Tuning& tuning) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for devices");
  SING_CHECK(resources.device >= 0 && resources.device < count,
             "[cuda] wanted a device below {}, got {}", count, resources.device);
  return std::make_unique<CudaBackend>(resources, tuning);
}

}  // namespace sing::cuda

namespace sing {

std::unique_ptr<Backend> make_cuda_backend(const CudaResources& resources) {
  return cuda::make_tuned_cuda_backend(resources, {});
}

bool is_cuda_available() {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return found;
}

}  // namespace sing
