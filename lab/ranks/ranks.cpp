// Packs tensors into one vector per type, so that the ranks exchange few messages.
#include "lab/ranks/ranks.hpp"

#include <torch/torch.h>

#include <functional>
#include <map>

namespace sing::lab::ranks {
namespace {

// Calls `exchange` with a vector of all elements of one type and copies the results back.
void exchange_packed(const std::vector<at::Tensor>& tensors,
                     const std::function<void(const at::Tensor&)>& exchange) {
  const at::NoGradGuard no_gradient;
  std::map<at::ScalarType, std::vector<at::Tensor>> by_type;
  for (const at::Tensor& tensor : tensors) {
    by_type[tensor.scalar_type()].push_back(tensor);
  }
  for (const auto& [type, alike] : by_type) {
    std::vector<at::Tensor> flat;
    for (const at::Tensor& tensor : alike) {
      flat.push_back(tensor.reshape({-1}));
    }
    const at::Tensor packed = at::cat(flat);
    exchange(packed);
    std::int64_t begin = 0;
    for (const at::Tensor& tensor : alike) {
      tensor.copy_(packed.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
      begin += tensor.numel();
    }
  }
}

}  // namespace

bool any_of(Ranks& ranks, bool here) {
  return ranks.count() == 1 ? here : sum_of(ranks, here ? 1 : 0) > 0;
}

double sum_of(Ranks& ranks, std::int64_t here) {
  const at::Tensor sum = at::full({}, static_cast<double>(here), at::kDouble);
  ranks.sum(sum);
  return sum.item<double>();
}

void average(Ranks& ranks, const std::vector<at::Tensor>& tensors) {
  if (ranks.count() == 1) {
    return;
  }
  exchange_packed(tensors, [&](const at::Tensor& packed) {
    ranks.sum(packed);
    packed.div_(ranks.count());
  });
}

void average(Ranks& ranks, const std::vector<at::Tensor>& tensors, double weight) {
  const at::Tensor all = at::full({}, weight, at::kDouble);
  ranks.sum(all);
  exchange_packed(tensors, [&](const at::Tensor& packed) {
    packed.mul_(weight / all.item<double>());
    ranks.sum(packed);
  });
}

void broadcast_all(Ranks& ranks, const std::vector<at::Tensor>& tensors, int from) {
  if (ranks.count() > 1) {
    exchange_packed(tensors, [&](const at::Tensor& packed) { ranks.broadcast(packed, from); });
  }
}

}  // namespace sing::lab::ranks
