// The interface between the optimizer, which prepares a step, and the backends, which run it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sing/base/device.hpp"
#include "sing/base/dtype.hpp"
#include "sing/base/error.hpp"
#include "sing/base/layout.hpp"
#include "sing/base/shard.hpp"
#include "sing/rule/lookahead.hpp"
#include "sing/rule/rules.hpp"
#include "sing/rule/standardize.hpp"
#include "sing/rule/state_type.hpp"
#include "sing/rule/stochastic_rounding.hpp"

namespace sing {

// The policy for gradients that are not finite.
enum class NonFinite : std::int32_t {
  kSkipTensor,   // the step leaves the tensor out, as without a gradient
  kSkipStep,     // the step changes nothing, not even counters
  kThrow,        // as kSkipStep, and throws an error that names the tensor
  kPassThrough,  // the step applies the gradient as it is
};

constexpr auto enum_names(NonFinite) {
  return std::to_array<EnumName<NonFinite>>({{NonFinite::kSkipTensor, "skip_tensor"},
                                             {NonFinite::kSkipStep, "skip_step"},
                                             {NonFinite::kThrow, "throw"},
                                             {NonFinite::kPassThrough, "pass_through"}});
}

// Counters that a step advances. They are in backend memory, so that a captured CUDA graph advances
// them without the host.
struct TensorProgress {
  std::int64_t steps = 0;       // number of the parameter's updates
  std::int64_t non_finite = 0;  // number of steps in which its gradient was not finite
  double gradient_norm = 0;     // norm of the last measured gradient, loss scale removed
};

struct GroupProgress {
  std::int64_t steps =
      0;  // number of the group's steps without skipped ones; LookAhead counts them
};

struct OptimizerProgress {
  std::int64_t skipped_steps = 0;
  std::int64_t skipped_tensors = 0;
  // 1 + index of the first non-finite tensor of the last step that had one; 0 if there was none
  // since the host last cleared the field.
  std::int64_t first_non_finite = 0;
};

// The options of a group in one step.
struct GroupStep {
  Standardize standardize;
  Rule rule;
  std::optional<Lookahead> lookahead;
  bool decay_vectors = false;
  std::optional<double> clip_norm = std::nullopt;
  double learning_rate_factor = 1;
  // Backend memory that each step and each replay reads instead of the rule's learning rate, or
  // null.
  const float* learning_rate_source = nullptr;
  GroupProgress* progress = nullptr;  // backend memory

  // Weight decay of a tensor of this rank, decoupled or not.
  double weight_decay(std::int64_t rank) const {
    return rank >= 2 || decay_vectors ? weight_decay_of(rule) : 0;
  }
  // The bound of the norm of all gradients together; none where the gradients are not clipped.
  std::optional<double> clip_limit() const {
    return standardize.keeps_scale() ? clip_norm : std::nullopt;
  }
  // Only for backends in host memory; others cannot read the source here.
  double learning_rate() const {
    const double rate = learning_rate_source != nullptr ? static_cast<double>(*learning_rate_source)
                                                        : learning_rate_of(rule);
    return rate * learning_rate_factor;
  }
};

inline constexpr std::size_t kMaxSlots = 4;

// Replaces the values by their sums over the processes of a shard's sum_group, each of which calls
// it with as many values. The result must be the same on all of them. An exception gives the step
// up.
using SumShards = std::function<void(std::span<double> values, std::int32_t sum_group)>;

// The same for `count` values in the memory of a CUDA device. It enqueues the sum on `stream`, a
// cudaStream_t, and waits for nothing, so that a step can be captured in a CUDA graph. In each step
// of a plan it gets the same addresses.
using SumShardsOnDevice =
    std::function<void(double* values, std::size_t count, std::int32_t sum_group, void* stream)>;

// The messages that a process sends to the processes of a sum group, itself among them, and those
// that it receives: one after the other, in the order of Shard::parts. A message may be empty.
struct PartMessages {
  std::span<const std::byte> sent;
  std::span<const std::size_t> sent_bytes;  // one per message
  std::span<std::byte> received;
  std::span<const std::size_t> received_bytes;
};

// Exchanges messages; all processes of the sum group call it. An exception gives the step up.
using ExchangeParts = std::function<void(const PartMessages& messages, std::int32_t sum_group)>;

// One parameter and all memory that its step uses. Arrays marked "state type" hold
// state_dtype(dtype), slots slot_dtype(). All arrays have the layout of the parameter.
struct TensorStep {
  std::string_view name = {};  // for messages
  Layout layout;
  const ShardLayout* shard = nullptr;  // null: the parameter is a whole tensor
  Dtype dtype = Dtype::kFloat32;
  Dtype gradient_dtype = Dtype::kFloat32;
  std::size_t group = 0;
  void* parameter = nullptr;
  // Null if this step leaves the tensor out; that of an empty part is any other address.
  const void* gradient = nullptr;
  const void* curvature = nullptr;  // has the gradient's dtype; if null, the gradient is used
  // In the order of the rule's list; null if unused.
  std::array<void*, kMaxSlots> slots{};
  StateType state = StateType::kFloat32;
  // The tensor and its first element's number in StochasticRounding, for state in bfloat16.
  std::uint64_t rounding_seed = 0;
  std::int64_t first_element = 0;
  void* slow = nullptr;                // state type; null without LookAhead
  float* master = nullptr;             // full-precision copy of a 16-bit parameter, or null
  void* low_precision_copy = nullptr;  // 16-bit copy of a float32 parameter, or null
  Dtype low_precision_dtype = Dtype::kBFloat16;
  TensorProgress* progress = nullptr;  // backend memory

  // The layout of the tensor that the parameter is, or is a part of.
  const Layout& whole() const { return shard != nullptr ? shard->whole : layout; }
  std::int64_t whole_size() const { return whole().size; }

  // Rounds a slot in the step that `progress` has counted. Only for backends in host memory.
  SING_HOST_DEVICE StochasticRounding rounding(std::size_t slot) const {
    return {rounding_seed, progress->steps, slot};
  }
  SING_HOST_DEVICE std::uint32_t rounded_element(std::int64_t index) const {
    return static_cast<std::uint32_t>(first_element + index);
  }
};

struct StepRequest {
  std::span<const GroupStep> groups;
  std::span<const TensorStep> tensors;
  OptimizerProgress* progress = nullptr;  // backend memory
  NonFinite non_finite = NonFinite::kSkipTensor;
  double loss_scale = 1;
  // The norm of all gradients together, loss scale removed, where the caller knows it; otherwise
  // the step computes that of its finite gradients. Only groups that clip use it.
  std::optional<double> total_norm = std::nullopt;
  // Not null if a tensor is a shard, the first in host memory and the second on a device.
  const SumShards* sum_shards = nullptr;
  const SumShardsOnDevice* sum_shards_on_device = nullptr;
  // Not null if a shard's rule makes whole matrices orthogonal.
  const ExchangeParts* exchange_parts = nullptr;
  // Changes whenever tensors, their layouts or their memory change. Gradients may appear, disappear
  // and move without a change. Backends compare it to keep their work plan (plan_key.hpp).
  std::uint64_t version = 0;
};

// Returns whether a tensor with this gradient is updated, in a step that is not skipped.
inline bool takes_part(const StepRequest& request, const GradientScale& scale) {
  return scale.finite || request.non_finite != NonFinite::kSkipTensor;
}

inline bool clips(const StepRequest& request) {
  bool any = false;
  for (const GroupStep& group : request.groups) {
    any = any || group.clip_limit().has_value();
  }
  return any;
}

inline bool has_shards(const StepRequest& request) {
  return (request.sum_shards != nullptr || request.sum_shards_on_device != nullptr) &&
         std::ranges::any_of(request.tensors,
                             [](const TensorStep& tensor) { return tensor.shard != nullptr; });
}

// Returns whether a step needs the statistics of every tensor before its first write.
inline bool measures_everything_first(const StepRequest& request) {
  return clips(request) || has_shards(request) || request.non_finite == NonFinite::kSkipStep ||
         request.non_finite == NonFinite::kThrow;
}

// The weights from + share · (towards − from).
struct Blend {
  const void* from;
  Dtype from_dtype;
  const void* towards;
  double share;
};

// C ← alpha · A B + beta · C for row-major matrices in backend memory, where A is rows × inner and
// B is inner × columns; each may be stored transposed. With `count` above 1 there are that many
// products: the matrices A follow each other in memory, and so do the matrices B and C.
struct MatrixProduct {
  Dtype dtype;  // float32 or float64
  std::int64_t rows, columns, inner;
  const void* a;
  bool a_transposed;
  const void* b;
  bool b_transposed;
  void* c;
  double alpha, beta;
  // The result is symmetric, and C is symmetric before if beta is not 0. One triangle may be
  // computed and mirrored.
  bool is_symmetric = false;
  std::int64_t count = 1;
};

// Computes one or `count` products, on the backend's stream if it has one.
using Multiply = std::function<void(const MatrixProduct&)>;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Device device() const = 0;

  // Zeroed memory, which is freed with the last copy of the pointer. The pointer may outlive the
  // backend.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void read(void* host, const void* memory, std::size_t bytes) const = 0;
  virtual void write(void* memory, const void* host, std::size_t bytes) const = 0;

  // Copies and converts `count` elements in backend memory. float64 converts to float64 only.
  virtual void convert(void* destination, Dtype destination_dtype, const void* source,
                       Dtype source_dtype, std::int64_t count) = 0;

  // to ← from + share · (towards − from), computed in the state type of `to`, which is also the
  // type of `towards`.
  virtual void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) = 0;

  // Returns what a caller can do instead of giving steps a shard under this rule, to complete a
  // message; empty if steps take it. `factored`: the tensor has at least two axes.
  virtual std::string_view instead_of_shard(const Rule& /*rule*/, bool /*factored*/) const {
    return {};
  }

  // Takes one step. The caller has checked all arguments.
  virtual void step(const StepRequest& request) = 0;

  // Uploads changed options to the device without taking a step, as a captured CUDA graph needs
  // between replays. A backend that reads the request itself has nothing to do.
  virtual void upload(const StepRequest& /*request*/) {}

  // True if the step has finished when step() returns. Otherwise read() waits for it.
  virtual bool synchronous() const = 0;

  // Bytes that the backend holds for its last plan, without the memory of allocate().
  virtual std::size_t scratch_bytes() const = 0;
};

// Runs task(0) … task(count − 1), concurrently or one after the other, and returns when all have
// returned. If an executor throws, none of its tasks may still be running; the thread that called
// step() then completes the step and throws the exception again.
using Executor = std::function<void(int count, const std::function<void(int)>& task)>;

// Returns zeroed memory on the backend's device, aligned to at least 16 bytes. The state and the
// counters of an optimizer are allocated with it, so that another library's allocator can own them.
using Allocator = std::function<std::shared_ptr<void>(std::size_t bytes)>;

enum class InstructionSet { kBest, kBaseline, kAvx2, kAvx512 };

constexpr auto enum_names(InstructionSet) {
  return std::to_array<EnumName<InstructionSet>>({{InstructionSet::kBest, "best"},
                                                  {InstructionSet::kBaseline, "baseline"},
                                                  {InstructionSet::kAvx2, "avx2"},
                                                  {InstructionSet::kAvx512, "avx512"}});
}

struct CpuResources {
  int threads = 0;         // 0 uses all cores of the machine
  Executor executor = {};  // if empty, the library's own thread pool
  InstructionSet instruction_set = InstructionSet::kBest;
  Allocator allocator = {};  // if empty, the library's own
  // If empty, the library's own loops. Several threads call it concurrently, for one product each.
  // It must not throw.
  Multiply multiply = {};
};

// Throws std::invalid_argument if this machine does not have the instruction set.
std::unique_ptr<Backend> make_cpu_backend(const CpuResources& resources);
bool is_supported(InstructionSet instruction_set);

// The oracle of the tests: double precision, one element at a time, in CPU memory.
std::unique_ptr<Backend> make_reference_backend();

struct CudaResources {
  int device = 0;
  void* stream = nullptr;  // a cudaStream_t
  // If set, called for the stream before each piece of work, instead of `stream`. A new stream
  // waits for the work on the previous one.
  std::function<void*()> current_stream = {};
  Allocator allocator = {};  // if empty, the library's own
  Multiply multiply = {};    // if empty, cuBLAS, which is loaded when it is first needed
};

// Throws CudaError if the library was built without CUDA or there is no device.
std::unique_ptr<Backend> make_cuda_backend(const CudaResources& resources);
bool is_cuda_available();

}  // namespace sing
