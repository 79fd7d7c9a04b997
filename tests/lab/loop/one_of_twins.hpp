// Defines a rank without others: they are silent twins, which have the same numbers at every
// exchange.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/ranks/ranks.hpp"

namespace sing::test {

class OneOfTwins : public lab::ranks::Ranks {
 public:
  OneOfTwins(int rank, int count) : rank_(rank), count_(count) {}

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int rank_on_machine() const override { return rank_; }
  // The number of elements of each broadcast so far, with the rank that they came from.
  const std::vector<std::pair<int, std::int64_t>>& broadcasts() const { return broadcasts_; }

  void sum(const at::Tensor& values) override { values.mul_(count_); }
  void broadcast(const at::Tensor& values, int from) override {
    broadcasts_.emplace_back(from, values.numel());
  }
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
  void barrier() override {}

 private:
  int rank_;
  int count_;
  std::vector<std::pair<int, std::int64_t>> broadcasts_;
};

}  // namespace sing::test
