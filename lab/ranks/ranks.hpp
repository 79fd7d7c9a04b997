// Declares what the processes of one training do together. Each of them is a rank, numbered from 0.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace sing::lab::ranks {

// All ranks call the functions that are not const in the same order, with tensors of one shape and
// type, contiguous, on the CPU or on a GPU of their own.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  virtual int rank_on_machine() const = 0;  // among the ranks on this machine

  // Replaces float32 or float64 values by their sums over the ranks, the same bits on all.
  virtual void sum(const at::Tensor& values) = 0;
  // Replaces the values by those of the rank `from`.
  virtual void broadcast(const at::Tensor& values, int from) = 0;
  // Returns the texts of all ranks in order on rank 0, and none elsewhere.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  // Returns when all ranks have called it.
  virtual void barrier() = 0;

  bool is_first() const { return rank() == 0; }
};

// Returns whether it is true on any rank.
bool any_of(Ranks& ranks, bool here);

// Returns the sum of a number of each rank.
double sum_of(Ranks& ranks, std::int64_t here);

// Replaces each tensor by its mean over the ranks.
void average(Ranks& ranks, const std::vector<at::Tensor>& tensors);
// The same for means over examples of which this rank has `weight`.
void average(Ranks& ranks, const std::vector<at::Tensor>& tensors, double weight);

// Replaces the tensors by those of the rank `from`.
void broadcast_all(Ranks& ranks, const std::vector<at::Tensor>& tensors, int from);

}  // namespace sing::lab::ranks
