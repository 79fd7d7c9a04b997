// Shares the optimizer's work and state between ranks: each of them updates some of the parameters
// and hands them to the others.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/torch/optimizer.hpp"
#include "lab/ranks/ranks.hpp"

namespace sing::lab::loop {

// Throws std::invalid_argument for options with which the update of a parameter depends on the
// gradients of others, which may be on another rank.
void check_shareable(const Options& options);

class StateShares {
 public:
  // Parameters go to the rank that has fewest elements so far, the largest first. Unless `shared`,
  // every rank updates all parameters, and the functions below exchange nothing.
  StateShares(ranks::Ranks& ranks, const sing::torch::Parameters& parameters, bool shared);

  bool is_shared() const { return shared_; }
  bool is_own(std::string_view name) const;
  sing::torch::Parameters own() const;

  // Replaces every parameter by that of the rank that updates it.
  void exchange();
  // Returns the norms of all parameters, from those of this rank's.
  std::vector<std::pair<std::string, double>> all_norms(
      std::vector<std::pair<std::string, double>> own);
  OptimizerProgress total(const OptimizerProgress& own);

  // Returns the state of all parameters from those that the ranks have, on rank 0; "" elsewhere.
  std::string gather(const std::string& own_state);
  // Returns this rank's part of the state of all parameters.
  std::string own_part(const std::string& state) const;

 private:
  ranks::Ranks& ranks_;
  bool shared_;
  std::vector<sing::torch::NamedTensor> parameters_;
  std::vector<int> owners_;  // one per parameter
};

}  // namespace sing::lab::loop
