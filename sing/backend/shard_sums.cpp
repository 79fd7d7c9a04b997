// Packs, exchanges and unpacks the sums of sharded tensors.
#include "sing/backend/shard_sums.hpp"

#include "sing/base/message.hpp"

namespace sing {

void PackedSums::clear() {
  for (auto& [group, values] : values_) {
    values.clear();
  }
}

PackedSums::Place PackedSums::reserve(std::int32_t group, std::int64_t count) {
  std::vector<double>& values = values_[group];
  const std::size_t begin = values.size();
  values.resize(begin + static_cast<std::size_t>(count));
  return {group, begin, static_cast<std::size_t>(count)};
}

std::span<double> PackedSums::at(const Place& place) {
  return std::span(values_.at(place.group)).subspan(place.begin, place.count);
}

void PackedSums::sum(const SumShards& sum_shards) {
  for (auto& [group, values] : values_) {
    if (!values.empty()) {
      sum_shards(values, group);
    }
  }
}

void sum_gradient_sums(const StepRequest& request, PackedSums& packed,
                       std::span<GradientSums> sums) {
  // Values per shard: Σ g², Σ (g − row mean)², the number of processes with a gradient, and the
  // number of processes.
  constexpr std::int64_t kValues = 4;
  packed.clear();
  std::vector<PackedSums::Place> places;
  for (const TensorStep& tensor : request.tensors) {
    if (tensor.shard == nullptr) {
      continue;
    }
    const GradientSums& part = sums[places.size()];
    places.push_back(packed.reserve(tensor.shard->sum_group, kValues));
    const std::span<double> values = packed.at(places.back());
    if (tensor.gradient != nullptr) {
      values[0] = part.squares;
      values[1] = part.centred_squares;
      values[2] = 1;
    }
    values[3] = 1;
  }
  packed.sum(*request.sum_shards);
  std::size_t shard = 0;
  for (const TensorStep& tensor : request.tensors) {
    if (tensor.shard == nullptr) {
      continue;
    }
    const std::span<const double> values = packed.at(places[shard]);
    SING_CHECK(values[2] == 0 || values[2] == values[3],
               "[optimizer] parameter '{}': wanted a gradient of every part or of none, got one of "
               "{} of {} parts",
               tensor.name, values[2], values[3]);
    sums[shard++] = {.squares = values[0], .centred_squares = values[1]};
  }
}

}  // namespace sing
