// The operator that standardizes a list of gradients without an optimizer.
#include "adapters/torch/operators/standardize.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "adapters/torch/operators/json_options.hpp"
#include "adapters/torch/operators/shards.hpp"
#include "adapters/torch/operators/torch_backend.hpp"
#include "sing/base/message.hpp"
#include "sing/optim/standardizer.hpp"

namespace sing::operators {
namespace {

// Kept from call to call, because its work plan serves the same model again.
struct Kept {
  void* stream = nullptr;
  std::unique_ptr<Standardizer> standardizer;
};

// Stands for the gradient of an empty tensor, which has no address.
constexpr double kNoElements = 0;

std::mutex& mutex() {
  static std::mutex instance;
  return instance;
}

Kept& find_kept(const Device& device, const std::string& options_json) {
  // Never destroyed: tensors must not be freed after torch's own memory is gone.
  static auto* const kAll = new std::map<std::pair<std::string, std::string>, Kept>;
  Kept& kept = (*kAll)[{name_of(device), options_json}];
  if (kept.standardizer == nullptr) {
    Options options;
    for (const auto& [name, value] : overrides_of(options_json)) {
      set_option(options, name, value);
    }
    validate(options);
    kept.standardizer = std::make_unique<Standardizer>(
        options.standardize, make_torch_backend(device, [&kept] { return kept.stream; }),
        options.non_finite);
  }
  return kept;
}

}  // namespace

NormsAndFlags standardize(const std::vector<Tensor>& gradients,
                          const std::vector<Tensor>& destinations, const std::string& shards_json,
                          std::int64_t sum_shards, const std::string& options_json,
                          double loss_scale, std::int64_t stream, bool wants_norms) {
  SING_CHECK(gradients.size() == destinations.size(),
             "[standardize] wanted {} destinations, got {}", gradients.size(), destinations.size());
  if (gradients.empty()) {
    return {};
  }
  const std::vector<std::optional<Shard>> shards = shards_of(shards_json);
  std::vector<TensorFacts> facts;
  std::vector<StandardizeTensor> tensors;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::string name = std::to_string(i);
    const Subject subject{.where = "standardize", .role = "gradient", .name = name};
    facts.push_back(facts_of_parameter(view_of(gradients[i]), subject));
    SING_CHECK(facts[i].device == facts[0].device, "{}wanted a tensor on {}, got one on {}",
               subject.text(), name_of(facts[0].device), name_of(facts[i].device));
    const TensorView destination = view_of(destinations[i]);
    SING_CHECK(destination.dtype == facts[i].dtype &&
                   std::ranges::equal(destination.sizes, facts[i].sizes) &&
                   lies_alike(destination, facts[i]),
               "{}wanted a destination of the gradient's type, shape, device and strides, got "
               "another tensor",
               subject.text());
    const void* gradient = gradients[i].const_data_ptr();
    if (gradient == nullptr) {
      gradient = &kNoElements;  // null would leave a shard out
    }
    tensors.push_back({.name = name,
                       .shape = facts[i].sizes,
                       .strides = facts[i].strides,
                       .dtype = facts[i].dtype,
                       .shard = shards.empty() ? std::nullopt : shards.at(i),
                       .gradient = gradient,
                       .destination = destinations[i].mutable_data_ptr()});
  }
  const std::lock_guard lock(mutex());
  Kept& kept = find_kept(facts[0].device, options_json);
  kept.stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream));
  if (facts[0].device.type == DeviceType::kCuda) {
    kept.standardizer->set_sum_shards_on_device(sum_on_device_by(sum_shards));
  } else {
    kept.standardizer->set_sum_shards(sum_by(sum_shards));
  }
  kept.standardizer->run(tensors, loss_scale);
  if (!wants_norms) {
    return {};
  }
  std::vector<double> norms = kept.standardizer->gradient_norms();
  std::vector<std::int64_t> flags;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const double norm = norms[i] * loss_scale;
    flags.push_back(sum_fits(norm * norm, facts[i].dtype) ? 1 : 0);
  }
  return {std::move(norms), std::move(flags)};
}

}  // namespace sing::operators
