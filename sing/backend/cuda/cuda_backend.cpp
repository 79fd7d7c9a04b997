// The CUDA backend: memory, streams, and when a plan is made. The kernels are in kernel/.
#include <optional>
#include <utility>
#include <vector>

#include "sing/backend/cuda/current_stream.hpp"
#include "sing/backend/cuda/device_guard.hpp"
#include "sing/backend/cuda/kernel/convert.hpp"
#include "sing/backend/cuda/step_launcher.hpp"
#include "sing/backend/cuda/step_tuning.hpp"
#include "sing/backend/plan_key.hpp"
#include "sing/base/message.hpp"

namespace sing::cuda {
namespace {

void check_types(const StepRequest& request) {
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const TensorStep& tensor = request.tensors[i];
    SING_CHECK((tensor.dtype == Dtype::kFloat64) == (tensor.gradient_dtype == Dtype::kFloat64),
               "[cuda step] wanted a float64 gradient for a float64 parameter and no other, got {} "
               "with a gradient of {} for tensor {}",
               name_of(tensor.dtype), name_of(tensor.gradient_dtype), i);
  }
}

// Rejects values that would make the planner loop forever or the kernels read past a tile.
void check_tuning(const StepTuning& tuning) {
  const auto is_tile = [](std::int64_t elements) {
    return elements > 0 && elements % 4 == 0 && elements <= kMaxWholeRow;
  };
  SING_CHECK(tuning.chunk_elements > 0 && tuning.chunk_elements <= kMaxWholeRow &&
                 tuning.small_elements >= 0 && tuning.small_elements <= kMaxWholeRow &&
                 is_tile(tuning.tile_elements) && is_tile(tuning.least_tile_elements) &&
                 tuning.tiles_left > 0,
             "[cuda] wanted chunks, tiles and small tensors of up to {} elements, tiles in "
             "multiples of 4 and tiles_left above 0, got chunks of {}, tiles of {} and {}, small "
             "tensors of {} and tiles_left {}",
             kMaxWholeRow, tuning.chunk_elements, tuning.tile_elements, tuning.least_tile_elements,
             tuning.small_elements, tuning.tiles_left);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaResources& resources, const StepTuning& tuning)
      : device_(resources.device), allocator_(resources.allocator), tuning_(tuning) {
    const DeviceGuard guard(device_);
    launcher_.emplace(device_, resources.multiply);
    stream_.emplace(resources.stream, resources.current_stream);
  }

  // Everything that belongs to the device is freed while the device is current.
  ~CudaBackend() override {
    int previous = 0;
    if (cudaGetDevice(&previous) == cudaSuccess && cudaSetDevice(device_) == cudaSuccess) {
      cudaStreamSynchronize(stream_->last());  // a step may still be using the tables
      retired_.clear();
      tables_.reset();
      launcher_.reset();
      stream_.reset();
      cudaSetDevice(previous);
    }
  }

  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

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
    cuda::convert(destination, destination_dtype, source, source_dtype, count, stream_->next());
  }

  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    const DeviceGuard guard(device_);
    cuda::blend(to, to_dtype, blend, count, stream_->next());
  }

  std::string_view instead_of_shard(const Rule& rule, bool factored) const override {
    return std::visit(
        [&]<class R>(const R& each) -> std::string_view {
          if constexpr (kIsOrthogonal<R>) {
            if (each.orthogonalizes(factored)) {
              return "keep matrices whole for this rule, or their shards in CPU memory";
            }
          }
          return {};
        },
        rule);
  }

  void step(const StepRequest& request) override {
    const DeviceGuard guard(device_);
    cudaStream_t stream = stream_->next();
    if (is_capturing(stream)) {
      check_types(request);
      check_capture(request);
      launcher_->launch(*tables_, tables_->capture(request), request.sum_shards_on_device, stream);
    } else {
      prepare(request, stream);
      const StepArguments arguments = tables_->upload(request, stream);
      try {
        launcher_->launch(*tables_, arguments, request.sum_shards_on_device, stream);
      } catch (...) {
        tables_->forget_step(stream);
        throw;
      }
    }
  }

  void upload(const StepRequest& request) override {
    const DeviceGuard guard(device_);
    cudaStream_t stream = stream_->next();
    SING_CHECK(!is_capturing(stream),
               "[cuda upload] wanted a stream that is not being captured, got one that is");
    SING_CHECK(
        !tables_ || !tables_->captured() || key_->fits(request),
        "[cuda upload] wanted the tensors, rules, centralization, normalization, clipping and "
        "policy a graph was captured with, got others; capture again");
    prepare(request, stream);
    tables_->upload(request, stream);
  }

  bool synchronous() const override { return false; }
  std::size_t scratch_bytes() const override {
    return (tables_ ? tables_->bytes() : 0) + launcher_->bytes();
  }

 private:
  void check_capture(const StepRequest& request) const {
    SING_CHECK(tables_ && key_->fits(request),
               "[cuda step] wanted a step or upload with these tensors before they are captured in "
               "a graph, got none");
    for (std::size_t i = 0; i < request.tensors.size(); ++i) {
      SING_CHECK(request.tensors[i].gradient != nullptr || request.tensors[i].whole_size() == 0,
                 "[cuda step] wanted a gradient for every tensor while a graph is captured, got "
                 "none for tensor {} '{}'",
                 i, request.tensors[i].name);
    }
  }

  // Makes a new plan and new tables if the request does not fit the present ones. Nothing changes
  // if that fails.
  void prepare(const StepRequest& request, cudaStream_t stream) {
    check_types(request);
    if (tables_ && key_->fits(request)) {
      return;
    }
    PlanKey key(request, AbsentGradients::kPlanned);
    WorkPlan plan = make_work_plan(request, tuning_);
    launcher_->prepare(plan);
    DeviceTables tables(std::move(plan), request.groups.size(), stream);
    check(cudaStreamSynchronize(stream), "to wait for the last step");
    if (tables_ && tables_->captured()) {
      retired_.push_back(std::move(*tables_));  // a graph that uses them may be replayed
    }
    tables_.emplace(std::move(tables));
    key_ = std::move(key);
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    const DeviceGuard guard(device_);
    cudaStream_t stream = stream_->next();
    check(cudaMemcpyAsync(to, from, bytes, kind, stream), "to copy memory");
    check(cudaStreamSynchronize(stream), "to copy memory");
  }

  int device_;
  Allocator allocator_;
  StepTuning tuning_;
  std::optional<StepLauncher> launcher_;
  mutable std::optional<CurrentStream> stream_;
  std::optional<PlanKey> key_;  // the key of the plan in tables_
  std::optional<DeviceTables> tables_;
  std::vector<DeviceTables> retired_;  // tables of captured graphs
};

}  // namespace

std::unique_ptr<Backend> make_tuned_cuda_backend(const CudaResources& resources,
                                                 const StepTuning& tuning) {
  check_tuning(tuning);
  int count = 0;
  check(cudaGetDeviceCount(&count), "to find CUDA devices");
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
