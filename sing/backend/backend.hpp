// The interface between a step's composition (optim) and the loops that carry it out.
#pragma once

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
#include "sing/rule/lookahead.hpp"
#include "sing/rule/rules.hpp"
#include "sing/rule/standardize.hpp"

namespace sing {

// The policy for gradients that are not finite.
enum class NonFinite : std::int32_t {
  kSkipTensor,   // the tensor is left as if it had no gradient
  kSkipStep,     // nothing changes, counters included
  kThrow,        // as kSkipStep, and an error names the tensor
  kPassThrough,  // the tensor is updated all the same
};

constexpr auto enum_names(NonFinite) {
  return std::to_array<EnumName<NonFinite>>({{NonFinite::kSkipTensor, "skip_tensor"},
                                             {NonFinite::kSkipStep, "skip_step"},
                                             {NonFinite::kThrow, "throw"},
                                             {NonFinite::kPassThrough, "pass_through"}});
}

// Counters that a step advances. They live in the backend's memory, so that a captured CUDA graph
// advances them without the host.
struct TensorProgress {
  std::int64_t steps = 0;       // updates this parameter has had
  std::int64_t non_finite = 0;  // steps in which its gradient was not finite
  double gradient_norm = 0;     // of the last measured gradient, loss scale removed
};

struct GroupProgress {
  std::int64_t steps = 0;  // of the group, skipped ones not counted; drives LookAhead
};

struct OptimizerProgress {
  std::int64_t skipped_steps = 0;
  std::int64_t skipped_tensors = 0;
  // 1 + index of the first non-finite tensor of the last step that had one, 0 when none since
  // the field was last cleared by the host.
  std::int64_t first_non_finite = 0;
};

// Options of a group as one step sees them.
struct GroupStep {
  Standardize standardize;
  Rule rule;
  std::optional<Lookahead> lookahead;
  bool decay_vectors = false;
  double learning_rate_factor = 1;
  // Backend memory, read at each step (and replay) in place of the rule's learning rate; or null.
  const float* learning_rate_source = nullptr;
  GroupProgress* progress = nullptr;  // backend memory

  // Weight decay, decoupled or L2, of a tensor of this rank.
  double weight_decay(std::int64_t rank) const {
    return rank >= 2 || decay_vectors ? weight_decay_of(rule) : 0;
  }
  // Only for backends in host memory: the source lies in the backend's memory.
  double learning_rate() const {
    const double rate = learning_rate_source != nullptr ? static_cast<double>(*learning_rate_source)
                                                        : learning_rate_of(rule);
    return rate * learning_rate_factor;
  }
};

inline constexpr std::size_t kMaxSlots = 4;

// One parameter and all the memory its step touches. Arrays marked "state type" hold
// state_dtype(dtype); all of them have the layout of the parameter.
struct TensorStep {
  std::string_view name = {};  // for messages
  Layout layout;
  Dtype dtype = Dtype::kFloat32;
  Dtype gradient_dtype = Dtype::kFloat32;
  std::size_t group = 0;
  void* parameter = nullptr;
  const void* gradient = nullptr;   // null: the step leaves the tensor out
  const void* curvature = nullptr;  // of the gradient's type; null: the gradient
  std::array<void*, kMaxSlots>
      slots{};                         // state type, in the order of the rule's list; null: unused
  void* slow = nullptr;                // state type; null without LookAhead
  float* master = nullptr;             // full-precision twin of a 16-bit parameter, or null
  void* low_precision_copy = nullptr;  // 16-bit twin of a float32 parameter, or null
  Dtype low_precision_dtype = Dtype::kBFloat16;
  TensorProgress* progress = nullptr;  // backend memory
};

struct StepRequest {
  std::span<const GroupStep> groups;
  std::span<const TensorStep> tensors;
  OptimizerProgress* progress = nullptr;  // backend memory
  NonFinite non_finite = NonFinite::kSkipTensor;
  double loss_scale = 1;
  // Changes whenever tensors, their layouts or their memory change, except for gradients, which may
  // come, go and move. Backends keep work plans from step to step by it (plan_key.hpp).
  std::uint64_t version = 0;
};

// Whether a tensor with this gradient is updated, in a step that is not given up.
inline bool takes_part(const StepRequest& request, const GradientScale& scale) {
  return scale.finite || request.non_finite != NonFinite::kSkipTensor;
}

// Whether every tensor's statistics must be known before the first write.
inline bool measures_everything_first(const StepRequest& request) {
  bool clips = false;
  for (const GroupStep& group : request.groups) {
    clips = clips || clip_norm_of(group.rule).has_value();
  }
  return clips || request.non_finite == NonFinite::kSkipStep ||
         request.non_finite == NonFinite::kThrow;
}

// Weights on the line from one array to another.
struct Blend {
  const void* from;
  Dtype from_dtype;
  const void* towards;
  double share;
};

// C ← alpha · A B + beta · C for row-major matrices in the backend's memory; A is rows × inner as
// it is or stored transposed, B inner × columns likewise. Or `count` such products, the As one
// after the other in memory, the Bs and the Cs likewise.
struct MatrixProduct {
  Dtype dtype;  // float32 or float64
  std::int64_t rows, columns, inner;
  const void* a;
  bool a_transposed;
  const void* b;
  bool b_transposed;
  void* c;
  double alpha, beta;
  // C comes out symmetric, and is so if beta is not 0: one triangle may be computed and mirrored.
  bool is_symmetric = false;
  std::int64_t count = 1;
};

// Carries out a product, or `count` of them, on the backend's stream where it has one.
using Multiply = std::function<void(const MatrixProduct&)>;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Device device() const = 0;

  // Returns zeroed memory. It may outlive the backend and is freed with the pointer's last copy.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void read(void* host, const void* memory, std::size_t bytes) const = 0;
  virtual void write(void* memory, const void* host, std::size_t bytes) const = 0;

  // Copies `count` elements within the backend's memory, converting; 64-bit with 64-bit only.
  virtual void convert(void* destination, Dtype destination_dtype, const void* source,
                       Dtype source_dtype, std::int64_t count) = 0;

  // to ← from + share · (towards − from), in the state type of `to`, which `towards` has.
  virtual void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) = 0;

  // Takes one step. All arguments were checked by the caller.
  virtual void step(const StepRequest& request) = 0;

  // Copies changed options to the device without taking a step, as a captured CUDA graph needs
  // between replays. A backend that reads the request itself has nothing to copy.
  virtual void upload(const StepRequest& /*request*/) {}

  // True if step() has finished when it returns; otherwise progress is known after a read().
  virtual bool synchronous() const = 0;

  // Bytes that the backend holds for its plan, without the arrays that allocate() returned.
  virtual std::size_t scratch_bytes() const = 0;
};

// Runs task(0) … task(count − 1), possibly at the same time, and returns when all have returned.
// Tasks may be run one after the other.
using Executor = std::function<void(int count, const std::function<void(int)>& task)>;

// Returns zeroed memory on the backend's device, aligned to at least 16 bytes. The state and the
// counters of an optimizer lie in it, so that another library's allocator can own them.
using Allocator = std::function<std::shared_ptr<void>(std::size_t bytes)>;

enum class InstructionSet { kBest, kBaseline, kAvx2, kAvx512 };

constexpr auto enum_names(InstructionSet) {
  return std::to_array<EnumName<InstructionSet>>({{InstructionSet::kBest, "best"},
                                                  {InstructionSet::kBaseline, "baseline"},
                                                  {InstructionSet::kAvx2, "avx2"},
                                                  {InstructionSet::kAvx512, "avx512"}});
}

struct CpuResources {
  int threads = 0;         // 0: as many as the machine has cores
  Executor executor = {};  // empty: the library's own thread pool
  InstructionSet instruction_set = InstructionSet::kBest;
  Allocator allocator = {};  // empty: the library's own
  // Empty: the library's own loops. Called from several threads at a time, for one product each;
  // must not throw.
  Multiply multiply = {};
};

// Throws std::invalid_argument if this machine lacks the instruction set asked for.
std::unique_ptr<Backend> make_cpu_backend(const CpuResources& resources);
bool is_supported(InstructionSet instruction_set);

// The oracle: double, one element at a time, no fusion. CPU memory.
std::unique_ptr<Backend> make_reference_backend();

struct CudaResources {
  int device = 0;
  void* stream = nullptr;  // a cudaStream_t
  // Returns the stream for each piece of work, in place of `stream`; a new stream waits for the
  // work on the one before it. Empty: always `stream`.
  std::function<void*()> current_stream = {};
  Allocator allocator = {};  // empty: the library's own
  Multiply multiply = {};    // empty: cuBLAS, looked for when it is first needed
};

// Throws CudaError if the library was built without CUDA or no device is found.
std::unique_ptr<Backend> make_cuda_backend(const CudaResources& resources);
bool is_cuda_available();

}  // namespace sing
