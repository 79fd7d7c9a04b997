// The operator that standardizes a list of gradients without an optimizer.
#include "adapters/torch/operators/standardize.hpp"

#include <map>
#include <mutex>

#include "adapters/torch/operators/json_options.hpp"
#include "adapters/torch/operators/session.hpp"
#include "sing/base/message.hpp"
#include "sing/optim/standardizer.hpp"

namespace sing::operators {
namespace {

// Kept from call to call, because its work plan serves the same model again.
struct Kept {
  void* stream = nullptr;
  std::unique_ptr<Standardizer> standardizer;
};

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

std::vector<double> standardize(const std::vector<Tensor>& gradients,
                                const std::vector<Tensor>& destinations,
                                const std::string& options_json, double loss_scale,
                                std::int64_t stream, bool wants_norms) {
  SING_CHECK(gradients.size() == destinations.size(),
             "[standardize] wanted as many destinations as gradients");
  if (gradients.empty()) {
    return {};
  }
  const Device device = facts_of(gradients[0], "[standardize] ").device;
  std::vector<StandardizeTensor> tensors;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::string who = fmt::format("[standardize] gradient {}: ", i);
    const TensorFacts facts = facts_of(gradients[i], who);
    const TensorFacts destination = facts_of(destinations[i], who);
    SING_CHECK(facts.device == device && destination.device == device,
               "{}wanted all tensors on one device", who);
    SING_CHECK(facts.sizes == destination.sizes && facts.dtype == destination.dtype &&
                   gradients[i].is_contiguous() && destinations[i].is_contiguous(),
               "{}wanted contiguous tensors of one shape and type", who);
    tensors.push_back({.name = std::to_string(i),
                       .shape = facts.sizes,
                       .dtype = dtype_of(facts.dtype, who),
                       .gradient = gradients[i].const_data_ptr(),
                       .destination = destinations[i].mutable_data_ptr()});
  }
  const std::lock_guard lock(mutex());
  Kept& kept = find_kept(device, options_json);
  kept.stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream));
  kept.standardizer->run(tensors, loss_scale);
  return wants_norms ? kept.standardizer->gradient_norms() : std::vector<double>{};
}

}  // namespace sing::operators
