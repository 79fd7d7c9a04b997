// Finds the parameter of each tensor in a file of weights, then copies all.
#include "lab/model/pretrained_weights.hpp"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "adapters/torch/tensor_bridge.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace sing::lab::model {
namespace {

std::string plain_name(std::string_view name, const WeightNames& names) {
  for (const std::string& prefix : names.prefixes) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  std::string plain(name);
  const auto rename = [&](std::string_view earlier, std::string_view present) {
    if (plain.ends_with(earlier)) {
      plain.replace(plain.size() - earlier.size(), earlier.size(), present);
    }
  };
  rename("LayerNorm.gamma", "LayerNorm.weight");
  rename("LayerNorm.beta", "LayerNorm.bias");
  return plain;
}

at::ScalarType scalar_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return at::kFloat;
    case Dtype::kFloat64:
      return at::kDouble;
    case Dtype::kBFloat16:
      return at::kBFloat16;
    case Dtype::kFloat16:
      return at::kHalf;
    case Dtype::kInt64:
      return at::kLong;
  }
  return at::kFloat;
}

}  // namespace

void load_pretrained(const std::filesystem::path& path, ::torch::nn::Module& module,
                     const WeightNames& names) {
  const SafetensorsReader reader(path);
  const auto parameters = module.named_parameters();
  std::map<std::string, const TensorEntry*> found;
  const auto refuse = [&](const std::string& message) {
    throw FileError(fmt::format("[weights] '{}': {}", path.string(), message));
  };
  for (const TensorEntry& entry : reader.tensors()) {
    const std::string name = plain_name(entry.name, names);
    const at::Tensor* const parameter = parameters.find(name);
    if (parameter == nullptr) {
      const bool is_ignored =
          std::any_of(names.ignored.begin(), names.ignored.end(),
                      [&](const std::string& each) { return name.starts_with(each); });
      if (!is_ignored) {
        refuse(fmt::format("wanted only tensors of the encoder, got '{}'", entry.name));
      }
      continue;
    }
    if (entry.shape != parameter->sizes().vec() || !is_floating(entry.dtype)) {
      refuse(fmt::format("wanted {}, got {} [{}]", sing::torch::describe(name, *parameter),
                         name_of(entry.dtype), fmt::join(entry.shape, ", ")));
    }
    if (!found.emplace(name, &entry).second) {
      refuse(fmt::format("wanted '{}' once, got it twice", name));
    }
  }
  for (const auto& item : parameters) {
    if (!found.contains(item.key())) {
      refuse(fmt::format("wanted {}, got none", sing::torch::describe(item.key(), item.value())));
    }
  }
  const at::NoGradGuard no_gradient;
  for (const auto& [name, entry] : found) {
    const at::Tensor host = at::empty(entry->shape, scalar_type_of(entry->dtype));
    reader.read(*entry, static_cast<std::byte*>(host.mutable_data_ptr()));
    at::Tensor parameter = parameters[name];
    parameter.copy_(host);
  }
}

}  // namespace sing::lab::model
