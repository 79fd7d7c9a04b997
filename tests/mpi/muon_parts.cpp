// Run by mpirun: every process has some rows of a matrix and takes steps of Muon on them, which
// exchange parts by MPI, and compares with steps on the whole matrix.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "adapters/mpi/exchange_parts.hpp"
#include "adapters/mpi/sum_shards.hpp"
#include "examples/perceptron/random_numbers.hpp"
#include "sing/sing.hpp"

namespace {

constexpr std::int64_t kRows = 7;
constexpr std::int64_t kColumns = 5;
constexpr int kSteps = 6;  // past a merge of LookAhead
constexpr double kRate = 0.02;
// The sums of a step are added up in another order, so its gradient may differ by some roundings,
// and a weight of at most 4 by as many.
constexpr double kTolerance = 4 * 8 * kSteps * std::numeric_limits<float>::epsilon();

std::vector<float> random_values(std::uint64_t seed) {
  example::RandomNumbers random(seed);
  std::vector<float> values(kRows * kColumns);
  std::ranges::generate(values, [&] { return random.normal(); });
  return values;
}

// A matrix of `rows` rows from `first` on.
struct Matrix {
  Matrix(std::int64_t first_row, std::int64_t rows) : first(first_row * kColumns) {
    const std::vector<float> start = random_values(0);
    weight.assign(start.begin() + first, start.begin() + first + rows * kColumns);
    gradient.resize(weight.size());
    parameter = {.name = "matrix",
                 .data = weight.data(),
                 .shape = {rows, kColumns},
                 .gradient = gradient.data()};
  }

  void take_steps(sing::Optimizer& optimizer) {
    for (int step = 1; step <= kSteps; ++step) {
      const std::vector<float> values = random_values(static_cast<std::uint64_t>(step));
      std::copy_n(values.begin() + first, gradient.size(), gradient.begin());
      optimizer.step();
    }
  }

  std::int64_t first;
  std::vector<float> weight;
  std::vector<float> gradient;
  sing::Parameter parameter;
};

int run() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const sing::Options options{.rule = sing::Muon{.learning_rate = kRate}};
  sing::Shard shard{.whole_shape = {kRows, kColumns},
                    .cut_axes = {0},
                    .own_part = static_cast<std::size_t>(rank)};
  for (int each = 0; each < ranks; ++each) {
    const std::int64_t first = kRows * each / ranks;
    shard.parts.push_back(
        {.offset = {first, 0}, .shape = {kRows * (each + 1) / ranks - first, kColumns}});
  }
  shard.offset = shard.parts[shard.own_part].offset;

  Matrix part(shard.offset[0], shard.parts[shard.own_part].shape[0]);
  part.parameter.shard = shard;
  sing::Optimizer optimizer({part.parameter}, options);
  optimizer.set_sum_shards(sing::mpi::sum_over({MPI_COMM_WORLD}));
  optimizer.set_exchange_parts(sing::mpi::exchange_over({MPI_COMM_WORLD}));
  part.take_steps(optimizer);

  Matrix whole(0, kRows);
  sing::Optimizer alone({whole.parameter}, options);
  whole.take_steps(alone);
  double difference = 0;
  double change = 0;
  const std::vector<float> start = random_values(0);
  for (std::size_t i = 0; i < part.weight.size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(part.first) + i;
    difference = std::max<double>(difference, std::abs(part.weight[i] - whole.weight[place]));
    change = std::max<double>(change, std::abs(part.weight[i] - start[place]));
  }
  std::printf("rank %d: largest difference from one process %.1e, largest change %.1e\n", rank,
              difference, change);
  return difference <= kTolerance && change > kRate / 2 ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  const int result = run();
  MPI_Finalize();
  return result;
}
