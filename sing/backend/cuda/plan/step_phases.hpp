// The work on tensors that one kernel serves, in phases that each need the ones before them.
#pragma once

#include <optional>
#include <vector>

#include "sing/backend/cuda/cuda_tuning.hpp"
#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/newton_schulz.hpp"

namespace sing::cuda {

// Tensors by their places in the plan.
struct PlacedTensors {
  const StepRequest& request;
  const std::vector<TensorRecord>& records;
  const std::vector<std::size_t>& order;  // place → index in the request
};

// Matrices made orthogonal together, between the launches that write and read them.
struct MatrixLaunch {
  NewtonSchulz polynomial;
  Matrices shape;
};

struct AlikeMatrices {
  MatrixLaunch launch;
  std::vector<std::uint32_t> places;
};

// Those of one kernel.
struct Batch {
  std::size_t rule;
  std::vector<std::uint32_t> whole;  // of one chunk each, small enough for one warp
  std::vector<std::uint32_t> large;
  std::vector<AlikeMatrices> matrices;  // which are among the above
};

struct Phase {
  bool by_blocks;  // items for blocks, not for warps
  std::vector<WorkItem> items;
  std::optional<MatrixLaunch> matrices = {};  // instead of items
};

// `reading` ones write no parameter. Either may have phases without work.
struct Phases {
  std::vector<Phase> reading, writing;
};

Phases make_phases(const PlacedTensors& tensors, const Batch& batch, const Tuning& tuning);

}  // namespace sing::cuda
