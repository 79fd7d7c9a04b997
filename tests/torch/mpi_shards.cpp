// Run by mpirun: every process takes steps of sing::torch::Optimizer on its rows of a matrix, a
// whole vector and an empty part, with sums by MPI, and compares with steps on whole tensors.
#include <torch/torch.h>

#include <cstdio>
#include <limits>
#include <stdexcept>

#include "adapters/mpi/sum_shards.hpp"
#include "adapters/torch/optimizer.hpp"

namespace {

constexpr int kSteps = 6;  // past a merge of LookAhead
constexpr double kRate = 0.05;
// The sums of a step are added up in another order, so its gradient may differ by some roundings,
// and a weight of at most 4 by as many.
constexpr double kTolerance = 4 * 8 * kSteps * std::numeric_limits<float>::epsilon();

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 7;

sing::Shard rows_from(std::int64_t first, std::int64_t rows) {
  return {.whole_shape = {rows, kColumns}, .offset = {first, 0}, .cut_axes = {0}, .sum_group = 0};
}

bool is_close(const char* name, const at::Tensor& found, const at::Tensor& wanted, int rank) {
  const bool close = found.sizes() == wanted.sizes() &&
                     at::allclose(found, wanted, /*rtol=*/0, /*atol=*/kTolerance);
  if (!close) {
    std::printf("rank %d: %s differs from that of one process\n", rank, name);
  }
  return close;
}

bool refuses_other_names(const at::Tensor& tensor) {
  try {
    const sing::torch::Optimizer optimizer(
        {{.parameters = {{"weight", tensor}}, .shards = {{"wait", rows_from(0, kRows)}}}});
  } catch (const std::invalid_argument& refusal) {
    return std::string_view(refusal.what()).find("got 1 shards of which 0 name one") !=
           std::string_view::npos;
  }
  return false;
}

int run() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::int64_t first = kRows * rank / ranks;
  const std::int64_t count = kRows * (rank + 1) / ranks - first;
  const std::int64_t only_row = rank == 0 ? 1 : 0;  // of a matrix of one row

  torch::manual_seed(1);
  const at::Tensor matrix = at::randn({kRows, kColumns});
  const at::Tensor vector = at::randn({kColumns});
  const at::Tensor row = at::randn({1, kColumns});
  std::vector<at::Tensor> whole = {matrix.clone(), vector.clone(), row.clone()};
  std::vector<at::Tensor> part = {matrix.narrow(0, first, count).clone(), vector.clone(),
                                  row.narrow(0, 0, only_row).clone()};
  sing::Options options;
  options.rule = sing::Lamb{.learning_rate = kRate};  // needs norms of whole tensors twice
  sing::torch::Optimizer alone({{"matrix", whole[0]}, {"vector", whole[1]}, {"row", whole[2]}},
                               options);
  sing::torch::Optimizer optimizer(
      {{.parameters = {{"matrix", part[0]}, {"vector", part[1]}, {"row", part[2]}},
        .shards = {{"matrix", rows_from(first, kRows)},
                   {"row", rows_from(only_row == 1 ? 0 : 1, 1)}}}},
      options);
  optimizer.set_sum_shards(sing::mpi::sum_over({MPI_COMM_WORLD}));

  for (int step = 0; step < kSteps; ++step) {
    for (at::Tensor& tensor : whole) {
      tensor.mutable_grad() = at::randn_like(tensor);
    }
    part[0].mutable_grad() = whole[0].grad().narrow(0, first, count).clone();
    part[1].mutable_grad() = whole[1].grad().clone();
    part[2].mutable_grad() = whole[2].grad().narrow(0, 0, only_row).clone();
    alone.step();
    optimizer.step();
  }
  bool good = is_close("matrix", part[0], whole[0].narrow(0, first, count), rank);
  good = is_close("vector", part[1], whole[1], rank) && good;
  good = is_close("row", part[2], whole[2].narrow(0, 0, only_row), rank) && good;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const double norm = optimizer.gradient_norms()[i].second;
    const double wanted = alone.gradient_norms()[i].second;
    good = std::abs(norm - wanted) <= kTolerance * wanted && good;
  }
  return good && refuses_other_names(matrix) ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  const int result = run();
  MPI_Finalize();
  return result;
}
