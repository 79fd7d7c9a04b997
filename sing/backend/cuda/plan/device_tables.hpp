// The tables in device memory that a step's kernels read and write. Only what changed since the
// last step is uploaded.
#pragma once

#include <vector>

#include "sing/backend/cuda/device_buffer.hpp"
#include "sing/backend/cuda/pinned_ring.hpp"
#include "sing/backend/cuda/plan/work_plan.hpp"

namespace sing::cuda {

class DeviceTables {
 public:
  DeviceTables() = default;

  // Allocates all tables and uploads those that the plan fixes.
  DeviceTables(WorkPlan plan, std::size_t group_count, cudaStream_t stream);

  // Uploads options and gradients where they differ from the last upload, and returns the kernels'
  // argument.
  StepArguments upload(const StepRequest& request, cudaStream_t stream);

  // The same for a step that is being captured in a graph. The options must be the ones uploaded
  // last, because the graph reads them from the shared table, so that later uploads reach it. The
  // addresses of gradients belong to the graph and get a table of their own.
  StepArguments capture(const StepRequest& request);

  // Clears the scratch memory after a step of which not all kernels could be launched.
  void forget_step(cudaStream_t stream) noexcept {
    cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), stream);
  }

  const std::vector<Launch>& launches() const { return plan_.launches; }
  const ShardPlan& shards() const { return plan_.shards; }
  // The argument of the kernels for shards: all of them, or those of one launch.
  ShardArguments shard_arguments(const StepArguments& step) const;
  std::byte* matrices() const { return matrices_.data(); }
  std::size_t bytes() const {
    return fixed_.bytes() + changing_.bytes() + scratch_.bytes() + matrices_.bytes() +
           shards_.bytes() + graph_gradients_.size() * gradient_bytes();
  }
  bool captured() const { return !graph_gradients_.empty(); }

 private:
  bool options_differ(const StepRequest& request);
  bool gradients_differ(const StepRequest& request) const;
  std::vector<GradientRecord> encode_gradients(const StepRequest& request) const;
  void encode_options(const StepRequest& request, std::byte* host) const;
  StepArguments arguments(const std::byte* gradients) const;
  std::size_t gradient_bytes() const { return gradients_.size() * sizeof(GradientRecord); }

  WorkPlan plan_;
  std::size_t group_count_ = 0;
  DeviceBuffer fixed_;     // tensors, items
  DeviceBuffer changing_;  // gradients, groups, step; zero at first, as gradients_ is
  DeviceBuffer scratch_;   // queue, sums, counters, flags, results, prepared constants, means
  DeviceBuffer matrices_;  // one batch at a time
  DeviceBuffer shards_;    // records, sums of parts, vectors; of no bytes without shards
  PinnedRing ring_;
  std::vector<GradientRecord> gradients_;      // as on the device
  std::vector<double> options_;                // as on the device, one number per field
  std::vector<double> wanted_options_;         // the request's, in the same form
  std::vector<DeviceBuffer> graph_gradients_;  // one per captured step
};

}  // namespace sing::cuda
