// Computes iterates of a host optimizer on standardized gradients, in any element type.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lab/theory/method.hpp"

namespace sing::lab::theory {

struct IteratesOptions {
  Shapes shapes;
  Dtype dtype = Dtype::kFloat64;
  Standardize standardize = paper_options();
  Rule host = Sgd{};
};

// Passes the gradients through the method, then to a library optimizer that does not standardize.
class Iterates {
 public:
  Iterates(const Method& method, IteratesOptions options, const Vector& start);

  // Takes one step; the gradient is first rounded to the element type.
  void step(const Vector& gradient);

  Vector values() const;

 private:
  IteratesOptions options_;
  StandardizeFunction standardize_;
  std::vector<std::vector<std::byte>> parameters_;
  std::vector<std::vector<std::byte>> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace sing::lab::theory
