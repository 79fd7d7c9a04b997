// Computes two backward passes: of the loss, and of the product of its gradient with the signs.
#include "lab/optimizer/hessian_diagonal.hpp"

#include <torch/torch.h>

#include "lab/random/random_stream.hpp"

namespace sing::lab::optimizer {
namespace {

// Scenes and the order of epochs use the purposes up to 0x8000'0001.
constexpr std::uint32_t kSignsPurpose = 0x8000'0002;

at::Tensor draw_signs(const at::Tensor& parameter, random::RandomStream& stream) {
  at::Tensor signs = at::empty({parameter.numel()}, at::kFloat);
  float* values = signs.mutable_data_ptr<float>();
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < parameter.numel(); ++i) {
    bits = i % 32 == 0 ? stream.next() : bits >> 1;
    values[i] = (bits & 1U) != 0 ? 1.0F : -1.0F;
  }
  return signs.view(parameter.sizes()).to(parameter.options().requires_grad(false));
}

}  // namespace

HessianDiagonal::HessianDiagonal(std::vector<at::Tensor> parameters, std::uint64_t seed,
                                 std::int64_t step)
    : parameters_(std::move(parameters)) {
  random::RandomStream stream(seed, static_cast<std::uint64_t>(step), kSignsPurpose);
  for (const at::Tensor& parameter : parameters_) {
    signs_.push_back(draw_signs(parameter, stream));
    products_.push_back(at::zeros_like(parameter));
  }
}

void HessianDiagonal::backward(const at::Tensor& loss) {
  const std::vector<at::Tensor> gradients = ::torch::autograd::grad({loss}, parameters_,
                                                                    /*grad_outputs=*/{},
                                                                    /*retain_graph=*/true,
                                                                    /*create_graph=*/true,
                                                                    /*allow_unused=*/true);
  std::vector<at::Tensor> bent;
  std::vector<at::Tensor> signs;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined()) {
      continue;
    }
    at::Tensor& whole = parameters_[i].mutable_grad();
    const at::Tensor part = gradients[i].detach();
    whole = whole.defined() ? whole + part : part.clone();
    if (gradients[i].requires_grad()) {
      bent.push_back(gradients[i]);
      signs.push_back(signs_[i]);
    }
  }
  if (bent.empty()) {
    return;
  }
  const std::vector<at::Tensor> products = ::torch::autograd::grad(bent, parameters_, signs,
                                                                   /*retain_graph=*/false,
                                                                   /*create_graph=*/false,
                                                                   /*allow_unused=*/true);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (products[i].defined()) {
      products_[i] += products[i].detach();
    }
  }
}

std::vector<at::Tensor> HessianDiagonal::diagonal() const {
  std::vector<at::Tensor> found;
  for (const at::Tensor& product : products_) {
    const at::Tensor size = product.abs();
    found.push_back(
        size.dim() == 4 ? size.mean({2, 3}, /*keepdim=*/true).expand_as(size).contiguous() : size);
  }
  return found;
}

}  // namespace sing::lab::optimizer
