// Assigns parameters to ranks, and merges and splits state files by parameter.
#include "lab/loop/state_shares.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>

#include "adapters/tensor/state_parts.hpp"
#include "sing/base/message.hpp"
#include "sing/io/safetensors.hpp"

namespace sing::lab::loop {
namespace {

std::vector<int> balanced_owners(const std::vector<sing::torch::NamedTensor>& parameters,
                                 int ranks) {
  std::vector<std::size_t> largest_first(parameters.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  std::ranges::stable_sort(largest_first, std::ranges::greater{}, [&](std::size_t parameter) {
    return parameters[parameter].second.numel();
  });
  std::vector<int> owners(parameters.size());
  std::vector<std::int64_t> elements(static_cast<std::size_t>(ranks));
  for (const std::size_t parameter : largest_first) {
    const auto least = std::ranges::min_element(elements);
    *least += parameters[parameter].second.numel();
    owners[parameter] = static_cast<int>(least - elements.begin());
  }
  return owners;
}

}  // namespace

void check_shareable(const Options& options) {
  SING_CHECK(
      options.non_finite == NonFinite::kSkipTensor || options.non_finite == NonFinite::kPassThrough,
      "[--shard-state] wanted non_finite = skip_tensor or pass_through, got {}: no rank has all "
      "gradients",
      name_of(options.non_finite));
  SING_CHECK(
      !options.clips(),
      "[--shard-state] wanted gradients that are not clipped together, got clip_norm = {}: no "
      "rank has all gradients",
      *options.clip_norm);
}

StateShares::StateShares(ranks::Ranks& ranks, const sing::torch::Parameters& parameters,
                         bool shared)
    : ranks_(ranks),
      shared_(shared && ranks.count() > 1),
      parameters_(parameters.tensors()),
      owners_(balanced_owners(parameters_, ranks.count())) {
  SING_CHECK(!shared_ || static_cast<std::size_t>(ranks.count()) <= parameters_.size(),
             "[--shard-state] wanted at most one rank for each of {} parameters, got {}",
             parameters_.size(), ranks.count());
}

bool StateShares::is_own(std::string_view name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].first == name) {
      return !shared_ || owners_[i] == ranks_.rank();
    }
  }
  return false;
}

sing::torch::Parameters StateShares::own() const {
  std::vector<sing::torch::NamedTensor> own;
  std::ranges::copy_if(parameters_, std::back_inserter(own),
                       [&](const auto& parameter) { return is_own(parameter.first); });
  return own;
}

void StateShares::exchange() {
  if (!shared_) {
    return;
  }
  for (int owner = 0; owner < ranks_.count(); ++owner) {
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (owners_[i] == owner) {
        tensors.push_back(parameters_[i].second);
      }
    }
    ranks::broadcast_all(ranks_, tensors, owner);
  }
}

std::vector<std::pair<std::string, double>> StateShares::all_norms(
    std::vector<std::pair<std::string, double>> own) {
  if (!shared_) {
    return own;
  }
  const at::Tensor norms = at::zeros({static_cast<std::int64_t>(parameters_.size())}, at::kDouble);
  auto* const values = norms.mutable_data_ptr<double>();
  auto next = own.begin();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    values[i] = owners_[i] == ranks_.rank() ? (next++)->second : 0;
  }
  ranks_.sum(norms);
  std::vector<std::pair<std::string, double>> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    all.emplace_back(parameters_[i].first, values[i]);
  }
  return all;
}

OptimizerProgress StateShares::total(const OptimizerProgress& own) {
  if (!shared_) {
    return own;
  }
  const at::Tensor tensors = at::full({}, static_cast<double>(own.skipped_tensors), at::kDouble);
  ranks_.sum(tensors);
  OptimizerProgress all = own;
  all.skipped_tensors = static_cast<std::int64_t>(tensors.item<double>());
  return all;
}

std::string StateShares::gather(const std::string& own_state) {
  if (!shared_) {
    return own_state;
  }
  const std::vector<std::string> states = ranks_.gather(own_state);
  return states.empty() ? "" : merge_state(states);
}

std::string StateShares::own_part(const std::string& state) const {
  if (!shared_) {
    return state;
  }
  const SafetensorsReader reader(std::as_bytes(std::span(state)), "optimizer");
  return part_of_state(
      reader, [this](std::string_view name) { return is_own(name); }, ranks_.is_first());
}

}  // namespace sing::lab::loop
