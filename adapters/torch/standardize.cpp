// Hands gradients to the library's Standardizer, one for each device.
#include "adapters/torch/standardize.hpp"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include "adapters/torch/libtorch_backend.hpp"
#include "adapters/torch/tensor_bridge.hpp"
#include "sing/base/message.hpp"

namespace sing::torch {
namespace {

// The tensors, each with a name: its own, or its position.
std::vector<NamedTensor> named(const Parameters& parameters) {
  std::vector<NamedTensor> tensors = parameters.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].first.empty()) {
      tensors[i].first = std::to_string(i);
    }
  }
  return tensors;
}

}  // namespace

Standardizer::Standardizer(const Standardize& options, NonFinite non_finite)
    : non_finite_(non_finite) {
  options_.standardize = options;
  options_.rule = Gradient{};
  validate(options_);
}

Standardizer::OnDevice& Standardizer::on_device(const Device& device) {
  for (OnDevice& each : devices_) {
    if (each.device == device) {
      return each;
    }
  }
  return devices_.emplace_back(
      OnDevice{device,
               sing::Standardizer(options_.standardize, make_libtorch_backend(device), non_finite_),
               {}});
}

void Standardizer::standardize_(const Parameters& parameters, double loss_scale) {
  std::vector<NamedTensor> gradients;
  for (const auto& [name, tensor] : named(parameters)) {
    SING_CHECK(tensor.defined(), "[torch] parameter '{}': wanted a tensor, got an undefined one",
               name);
    if (tensor.grad().defined()) {
      gradients.emplace_back(name, tensor.grad());
    }
  }
  standardize_gradients_(gradients, loss_scale);
}

void Standardizer::standardize_gradients_(const Parameters& gradients, double loss_scale) {
  const at::NoGradGuard no_gradients;
  std::vector<std::pair<Device, StandardizeTensor>> checked;
  for (const auto& [name, tensor] : named(gradients)) {
    TensorFacts facts = facts_of("gradient", name, tensor);
    checked.push_back({facts.device,
                       {.name = name,
                        .shape = std::move(facts.sizes),
                        .strides = std::move(facts.strides),
                        .dtype = facts.dtype,
                        .gradient = tensor.const_data_ptr(),
                        .destination = tensor.mutable_data_ptr()}});
    on_device(facts.device);  // makes it
  }
  for (OnDevice& each : devices_) {
    each.names.clear();
    std::vector<StandardizeTensor> own;
    for (const auto& [device, tensor] : checked) {
      if (device == each.device) {
        own.push_back(tensor);
        each.names.push_back(tensor.name);
      }
    }
    if (!own.empty()) {
      each.standardizer.run(own, loss_scale);
    }
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
  for (const auto& [name, tensor] : named(gradients)) {
    const Subject subject{.where = "torch", .role = "gradient", .name = name};
    SING_CHECK(tensor.defined(), "{}wanted a tensor, got an undefined one", subject.text());
    facts_of_parameter(view_of(tensor), subject);
    copies.emplace_back(name, tensor.detach().clone(at::MemoryFormat::Contiguous));
    tensors.push_back(copies.back().second);
  }
  Standardizer(options).standardize_gradients_(copies);
  return tensors;
}

}  // namespace sing::torch
