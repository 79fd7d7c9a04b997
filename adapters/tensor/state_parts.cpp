// Splits a state file into parts, and merges parts into one file.
#include "adapters/tensor/state_parts.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace sing {
namespace {

using Json = nlohmann::ordered_json;

// The tensors of a file that is being made, with their bytes.
struct FileTensors {
  std::vector<TensorEntry> entries = {};
  std::vector<std::vector<std::byte>> bytes = {};

  void take(const SafetensorsReader& reader, const TensorEntry& entry) {
    entries.push_back(entry);
    reader.read(entry, bytes.emplace_back(*byte_size_of(entry)).data());
  }

  std::string format(const std::map<std::string, std::string>& metadata) const {
    std::vector<TensorBytes> tensors;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      tensors.push_back({entries[i], bytes[i].data()});
    }
    return format_safetensors(metadata, tensors);
  }
};

std::string_view parameter_of(std::string_view tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

// Adds another part's parameters and its counts of skipped steps and tensors.
void merge(Json& all, const Json& part) {
  for (const char* count : {"skipped_steps", "skipped_tensors"}) {
    all[count] = all[count].get<std::int64_t>() + part[count].get<std::int64_t>();
  }
  for (std::size_t group = 0; group < all["groups"].size(); ++group) {
    for (const Json& parameter : part["groups"][group]["parameters"]) {
      all["groups"][group]["parameters"].push_back(parameter);
    }
  }
}

}  // namespace

std::string merge_state(std::span<const std::string> parts) {
  std::map<std::string, std::string> metadata;
  Json all;
  FileTensors tensors;
  for (const std::string& part : parts) {
    const SafetensorsReader reader(std::as_bytes(std::span(part)), "bytes");
    const Json json = Json::parse(reader.metadata().at("optimizer"));
    if (metadata.empty()) {
      metadata = reader.metadata();
      all = json;
    } else {
      merge(all, json);
    }
    for (const TensorEntry& tensor : reader.tensors()) {
      tensors.take(reader, tensor);
    }
  }
  metadata["optimizer"] = all.dump();
  return tensors.format(metadata);
}

std::string part_of_state(const SafetensorsReader& file,
                          const std::function<bool(std::string_view name)>& belongs,
                          bool has_counts) {
  std::map<std::string, std::string> metadata = file.metadata();
  try {
    if (metadata.contains("optimizer")) {
      Json json = Json::parse(metadata["optimizer"]);
      for (Json& group : json.at("groups")) {
        Json kept = Json::array();
        for (const Json& parameter : group.at("parameters")) {
          if (belongs(parameter.at("name").get<std::string>())) {
            kept.push_back(parameter);
          }
        }
        group["parameters"] = std::move(kept);
      }
      if (!has_counts) {
        json["skipped_steps"] = 0;
        json["skipped_tensors"] = 0;
      }
      metadata["optimizer"] = json.dump();
    }
  } catch (const nlohmann::json::exception& error) {
    throw FileError(
        fmt::format("[load] wanted the metadata of an optimizer, got {}", error.what()));
  }
  FileTensors tensors;
  for (const TensorEntry& tensor : file.tensors()) {
    if (belongs(parameter_of(tensor.name))) {
      tensors.take(file, tensor);
    }
  }
  return tensors.format(metadata);
}

}  // namespace sing
