// Shards as JSON text, and a function by its address.
#include "adapters/torch/operators/shards.hpp"

#include <nlohmann/json.hpp>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"

namespace sing::operators {

SumShards sum_by(std::int64_t address) {
  if (address == 0) {
    return {};
  }
  const auto function = reinterpret_cast<SumFunction>(static_cast<std::uintptr_t>(address));
  return [function](std::span<double> values, std::int32_t sum_group) {
    if (function(values.data(), values.size(), sum_group) != 0) {
      throw Error("[operators] wanted the sum over the processes, got an error of the caller");
    }
  };
}

std::vector<std::optional<Shard>> shards_of(const std::string& text) {
  std::vector<std::optional<Shard>> shards;
  try {
    for (const nlohmann::json& each : nlohmann::json::parse(text)) {
      if (each.is_null()) {
        shards.emplace_back();
        continue;
      }
      shards.push_back(Shard{.whole_shape = each.at("whole_shape"),
                             .offset = each.at("offset"),
                             .cut_axes = each.at("cut_axes"),
                             .sum_group = each.at("sum_group")});
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(
        fmt::format("[operators] wanted a JSON list of shards: {}", error.what()));
  }
  return shards;
}

}  // namespace sing::operators
