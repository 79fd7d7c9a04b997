// Files and archives: one state for all devices, with every array in the order of its indices.
#include <ATen/Functions.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "adapters/torch/message.hpp"
#include "adapters/torch/optimizer.hpp"
#include "sing/io/atomic_file.hpp"
#include "sing/io/safetensors.hpp"

namespace sing::torch {
namespace {

using Json = nlohmann::ordered_json;
using Metadata = std::map<std::string, std::string>;

constexpr const char* kArchiveKey = "sing_optimizer_state";

std::string parameter_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

// Tensors on their way into a file, with the bytes they own.
struct FileTensors {
  std::vector<TensorEntry> entries;
  std::vector<std::vector<std::byte>> bytes;

  void take(const SafetensorsReader& reader, const TensorEntry& entry) {
    entries.push_back(entry);
    reader.read(entry, bytes.emplace_back(*byte_size_of(entry)).data());
  }

  // From the order of `strides` in memory to that of the indices, or back.
  void reorder_last(at::IntArrayRef strides, bool to_indices) {
    const TensorEntry& entry = entries.back();
    const at::ScalarType type = size_of(entry.dtype) == 8 ? at::kLong : at::kInt;  // bits alone
    const auto view = [&](std::vector<std::byte>& data, bool in_memory_order) {
      return in_memory_order ? at::from_blob(data.data(), entry.shape, strides, type)
                             : at::from_blob(data.data(), entry.shape, type);
    };
    std::vector<std::byte> ordered(bytes.back().size());
    view(ordered, !to_indices).copy_(view(bytes.back(), to_indices));
    bytes.back() = std::move(ordered);
  }

  std::string format(const Metadata& metadata) const {
    std::vector<TensorBytes> tensors;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      tensors.push_back({entries[i], bytes[i].data()});
    }
    return format_safetensors(metadata, tensors);
  }
};

std::span<const std::byte> as_span(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

// Adds what another device's optimizer says of its parameters and skips.
void merge(Json& all, const Json& other) {
  for (const char* count : {"skipped_steps", "skipped_tensors"}) {
    all[count] = all[count].get<std::int64_t>() + other[count].get<std::int64_t>();
  }
  for (std::size_t group = 0; group < all["groups"].size(); ++group) {
    for (const Json& parameter : other["groups"][group]["parameters"]) {
      all["groups"][group]["parameters"].push_back(parameter);
    }
  }
}

}  // namespace

// True where a device's optimizer writes and reads the file as it is.
bool Optimizer::plain_files() const {
  return devices_.size() == 1 && std::all_of(entries_.begin(), entries_.end(), [](const Entry& e) {
           return e.tensor.is_contiguous();
         });
}

void Optimizer::prepare_save() const {
  SING_CHECK(!devices_.empty(), "[save] the optimizer has no group yet");
  SING_CHECK(listed_.size() == param_groups_.size(),
             "[save] group {} was added through the base class and not yet taken up by a step",
             listed_.size());
  adopt_learning_rates();
}

std::string Optimizer::save_bytes() const {
  prepare_save();
  if (plain_files()) {
    return devices_.front().optimizer.save_bytes();
  }
  Metadata metadata;
  Json all;
  FileTensors tensors;
  for (const OnDevice& each : devices_) {
    const std::string bytes = each.optimizer.save_bytes();
    const SafetensorsReader reader(as_span(bytes), "bytes");
    const Json json = Json::parse(reader.metadata().at("optimizer"));
    if (metadata.empty()) {
      metadata = reader.metadata();
      all = json;
    } else {
      merge(all, json);
    }
    for (const TensorEntry& tensor : reader.tensors()) {
      tensors.take(reader, tensor);
      const Entry& owner = find(parameter_of(tensor.name));
      if (!owner.tensor.is_contiguous() && tensor.shape == owner.shape) {
        tensors.reorder_last(owner.strides, true);
      }
    }
  }
  metadata["optimizer"] = all.dump();
  return tensors.format(metadata);
}

void Optimizer::save(const std::filesystem::path& path) const {
  prepare_save();
  if (plain_files()) {
    devices_.front().optimizer.save(path);
    return;
  }
  const std::string bytes = save_bytes();
  AtomicFile file(path);
  file.write(as_span(bytes));
  file.commit();
}

void Optimizer::save(::torch::serialize::OutputArchive& archive) const {
  const std::string bytes = save_bytes();
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  archive.write(kArchiveKey, tensor, /*is_buffer=*/true);
}

// What of a file belongs to one device. What belongs to none goes to the first, which refuses it.
std::string Optimizer::part_for_device(const SafetensorsReader& reader, std::size_t device) const {
  const auto entry_of = [&](const std::string& name) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& entry) { return entry.name == name; });
  };
  const auto belongs = [&](const std::string& name) {
    const auto found = entry_of(name);
    return found == entries_.end() ? device == 0 : found->device == device;
  };
  Metadata metadata = reader.metadata();
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
    if (device != 0) {
      json["skipped_steps"] = 0;
      json["skipped_tensors"] = 0;
    }
    metadata["optimizer"] = json.dump();
  }
  FileTensors tensors;
  for (const TensorEntry& tensor : reader.tensors()) {
    const std::string name = parameter_of(tensor.name);
    if (belongs(name)) {
      tensors.take(reader, tensor);
      const auto owner = entry_of(name);
      if (owner != entries_.end() && !owner->tensor.is_contiguous() &&
          tensor.shape == owner->shape) {
        tensors.reorder_last(owner->strides, false);
      }
    }
  }
  return tensors.format(metadata);
}

// All devices or none.
void Optimizer::load_parts(const SafetensorsReader& reader) {
  std::vector<std::string> parts;
  std::vector<std::string> before;
  try {
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      parts.push_back(part_for_device(reader, device));
      before.push_back(devices_[device].optimizer.save_bytes());
    }
  } catch (const nlohmann::json::exception& error) {
    throw FileError(fmt::format("[load] bad metadata: {}", error.what()));
  }
  std::size_t loaded = 0;
  try {
    for (; loaded < devices_.size(); ++loaded) {
      devices_[loaded].optimizer.load_bytes(parts[loaded]);
    }
  } catch (...) {
    while (loaded-- > 0) {
      devices_[loaded].optimizer.load_bytes(before[loaded]);
    }
    throw;
  }
}

void Optimizer::load_bytes(std::string_view bytes) {
  take_up_groups();
  if (plain_files()) {
    devices_.front().optimizer.load_bytes(bytes);
  } else {
    load_parts(SafetensorsReader(as_span(bytes), "bytes"));
  }
  after_load();
}

void Optimizer::load(const std::filesystem::path& path) {
  take_up_groups();
  if (plain_files()) {
    devices_.front().optimizer.load(path);
  } else {
    load_parts(SafetensorsReader(path));
  }
  after_load();
}

void Optimizer::load(::torch::serialize::InputArchive& archive) {
  at::Tensor tensor;
  if (!archive.try_read(kArchiveKey, tensor, /*is_buffer=*/true) ||
      tensor.scalar_type() != at::kByte) {
    throw FileError(
        fmt::format("[load] wanted an archive with '{}', got another one", kArchiveKey));
  }
  tensor = tensor.cpu().contiguous();
  load_bytes({static_cast<const char*>(tensor.const_data_ptr()),
              static_cast<std::size_t>(tensor.numel())});
}

std::uint64_t Optimizer::next_state_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

void Optimizer::after_load() {
  state_number_ = next_state_number();
  for (std::size_t group = 0; group < listed_.size(); ++group) {
    group_options(group).set_lr(learning_rate_of(devices_.front().optimizer.options(group).rule));
  }
  default_options_.non_finite =
      listed_.empty() ? default_options_.non_finite : options(0).non_finite;
}

}  // namespace sing::torch
