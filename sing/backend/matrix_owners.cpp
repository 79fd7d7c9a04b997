// Assigns matrices to processes so that they have about equal work.
#include "sing/backend/matrix_owners.hpp"

#include <algorithm>
#include <numeric>

namespace sing {
namespace {

// Multiplications of X Xᵀ, to which those of all other products of the iterations are proportional
// for matrices of one aspect ratio.
double work_of(const Matrices& matrix) {
  return static_cast<double>(matrix.elements()) * static_cast<double>(matrix.side());
}

}  // namespace

std::vector<std::size_t> assign_owners(std::span<const Matrices> matrices, std::size_t processes) {
  std::vector<std::size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return work_of(matrices[i]); });
  std::vector<double> load(processes);
  std::vector<std::size_t> owners(matrices.size());
  for (const std::size_t matrix : order) {
    const auto least = std::ranges::min_element(load);
    *least += work_of(matrices[matrix]);
    owners[matrix] = static_cast<std::size_t>(least - load.begin());
  }
  return owners;
}

}  // namespace sing
