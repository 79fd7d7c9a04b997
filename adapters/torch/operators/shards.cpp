// Shards as JSON text, and functions by their addresses.
#include "adapters/torch/operators/shards.hpp"

#include <nlohmann/json.hpp>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"

namespace sing::operators {
namespace {

constexpr const char* kSumFailed =
    "[operators] wanted the sum over the processes, got an error of the caller";

}  // namespace

SumShards sum_by(std::int64_t address) {
  if (address == 0) {
    return {};
  }
  const auto function = reinterpret_cast<SumFunction>(static_cast<std::uintptr_t>(address));
  return [function](std::span<double> values, std::int32_t sum_group) {
    if (function(values.data(), values.size(), sum_group) != 0) {
      throw Error(kSumFailed);
    }
  };
}

SumShardsOnDevice sum_on_device_by(std::int64_t address) {
  if (address == 0) {
    return {};
  }
  const auto function = reinterpret_cast<SumOnDeviceFunction>(static_cast<std::uintptr_t>(address));
  return [function](double* values, std::size_t count, std::int32_t sum_group, void* stream) {
    if (function(values, count, sum_group, stream) != 0) {
      throw Error(kSumFailed);
    }
  };
}

ExchangeParts exchange_by(std::int64_t address) {
  if (address == 0) {
    return {};
  }
  const auto function = reinterpret_cast<ExchangeFunction>(static_cast<std::uintptr_t>(address));
  return [function](const PartMessages& messages, std::int32_t sum_group) {
    if (function(messages.sent.data(), messages.sent_bytes.data(), messages.received.data(),
                 messages.received_bytes.data(), messages.sent_bytes.size(), sum_group) != 0) {
      throw Error(
          "[operators] wanted the parts of the other processes, got an error of the caller");
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
      Shard shard{.whole_shape = each.at("whole_shape"),
                  .offset = each.at("offset"),
                  .cut_axes = each.at("cut_axes"),
                  .sum_group = each.at("sum_group")};
      if (each.contains("parts")) {
        for (const nlohmann::json& part : each.at("parts")) {
          shard.parts.push_back({.offset = part.at(0), .shape = part.at(1)});
        }
        shard.own_part = each.at("own_part");
      }
      shards.push_back(std::move(shard));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(
        fmt::format("[operators] wanted a JSON list of shards, got other text: {}", error.what()));
  }
  return shards;
}

}  // namespace sing::operators
