// Packs the sums that processes with parts of tensors exchange in a step, so that each group of
// processes exchanges one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

// Values that groups of processes add up, one vector per group. It keeps its memory from step to
// step.
class PackedSums {
 public:
  struct Place {
    std::int32_t group = 0;
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  void clear();
  // Appends zeros to the group's vector.
  Place reserve(std::int32_t group, std::int64_t count);
  // Valid until the next reserve().
  std::span<double> at(const Place& place);
  // Adds up the vector of each group that has one, in the order of the groups' numbers.
  void sum(const SumShards& sum_shards);

 private:
  std::map<std::int32_t, std::vector<double>> values_;
};

// Replaces the sums of the parts by those of the whole tensors, for every shard of the request in
// order. The vectors have places for tensors without a gradient too, so that all processes have
// vectors of the same length. Throws std::invalid_argument if only some processes have a gradient
// of a tensor.
void sum_gradient_sums(const StepRequest& request, PackedSums& packed,
                       std::span<GradientSums> sums);

}  // namespace sing
