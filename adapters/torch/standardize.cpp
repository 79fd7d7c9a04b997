// Hands gradients to the library's Standardizer, one for each device.
#include "adapters/torch/standardize.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include "adapters/torch/message.hpp"

namespace sing::torch {

Standardizer::Standardizer(const Standardize& options, NonFinite non_finite)
    : non_finite_(non_finite) {
  options_.standardize = options;
  options_.rule = Gradient{};
  validate(options_);
}

Standardizer::OnDevice& Standardizer::on_device(const at::Device& device) {
  for (OnDevice& each : devices_) {
    if (each.device == device) {
      return each;
    }
  }
  return devices_.emplace_back(OnDevice{
      device, sing::Standardizer(options_.standardize, make_backend(device), non_finite_), {}});
}

void Standardizer::standardize_(const Parameters& parameters, double loss_scale) {
  std::vector<NamedTensor> gradients;
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    const auto& [name, tensor] = parameters.tensors()[i];
    const std::string known = name.empty() ? std::to_string(i) : name;
    SING_CHECK(tensor.defined(), "[torch] '{}': wanted a parameter, got an undefined one", known);
    if (tensor.grad().defined()) {
      gradients.emplace_back(known, tensor.grad());
    }
  }
  standardize_gradients_(gradients, loss_scale);
}

void Standardizer::standardize_gradients_(const Parameters& gradients, double loss_scale) {
  const at::NoGradGuard no_gradients;
  struct Returned {  // a gradient that was standardized in a contiguous copy
    at::Tensor copy, gradient;
  };
  std::vector<Returned> returned;
  std::vector<std::vector<StandardizeTensor>> lists;
  for (OnDevice& each : devices_) {
    each.names.clear();
    lists.emplace_back();
  }
  for (std::size_t i = 0; i < gradients.tensors().size(); ++i) {
    auto [name, tensor] = gradients.tensors()[i];
    name = name.empty() ? std::to_string(i) : name;
    check_tensor(name, tensor);
    if (!tensor.is_contiguous()) {
      at::Tensor copy = tensor.contiguous();
      returned.push_back({copy, tensor});
      tensor = std::move(copy);
    }
    OnDevice& place = on_device(tensor.device());
    const auto index = static_cast<std::size_t>(&place - devices_.data());
    lists.resize(devices_.size());
    lists[index].push_back({.name = name,
                            .shape = shape_of(tensor),
                            .dtype = dtype_of(tensor),
                            .gradient = tensor.const_data_ptr(),
                            .destination = tensor.mutable_data_ptr()});
    place.names.push_back(name);
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!lists[i].empty()) {
      devices_[i].standardizer.run(lists[i], loss_scale);
    }
  }
  for (Returned& each : returned) {
    each.gradient.copy_(each.copy);
  }
  for (const auto& [name, tensor] : gradients.tensors()) {
    tensor.unsafeGetTensorImpl()->bump_version();
  }
}

std::vector<std::pair<std::string, double>> Standardizer::gradient_norms() const {
  std::vector<std::pair<std::string, double>> norms;
  for (const OnDevice& each : devices_) {
    if (each.names.empty()) {
      continue;
    }
    const std::vector<double> found = each.standardizer.gradient_norms();
    for (std::size_t i = 0; i < each.names.size(); ++i) {
      norms.emplace_back(each.names[i], found[i]);
    }
  }
  return norms;
}

void standardize_(const Parameters& parameters, const Standardize& options) {
  Standardizer(options).standardize_(parameters);
}

std::vector<at::Tensor> standardized(const Parameters& gradients, const Standardize& options) {
  std::vector<NamedTensor> copies;
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < gradients.tensors().size(); ++i) {
    const auto& [name, tensor] = gradients.tensors()[i];
    const std::string known = name.empty() ? std::to_string(i) : name;
    SING_CHECK(tensor.defined(), "[torch] '{}': wanted a tensor, got an undefined one", known);
    SING_CHECK(tensor.layout() == at::kStrided,
               "[torch] {}: wanted a dense tensor, got a sparse one", describe(known, tensor));
    copies.emplace_back(known, tensor.detach().clone(at::MemoryFormat::Contiguous));
    tensors.push_back(copies.back().second);
  }
  Standardizer(options).standardize_gradients_(copies);
  return tensors;
}

}  // namespace sing::torch
