// Trains a linear layer whose rows are spread over the processes of an MPI job:
//
//   mpirun -n 2 mpi_linear_layer
//
// Each process holds some rows of the weight, computes their outputs and their gradient, and needs
// the others only for the norm of the whole gradient, which a step adds up by MPI. In the end every
// process compares its rows with those of a layer that it has trained alone.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "adapters/mpi/sum_shards.hpp"
#include "examples/perceptron/random_numbers.hpp"
#include "sing/sing.hpp"

namespace {

using example::RandomNumbers;

constexpr std::size_t kOutputs = 10;
constexpr std::size_t kInputs = 32;
constexpr std::size_t kExamples = 64;  // per step
constexpr int kSteps = 600;
constexpr double kLearningRate = 5e-2;
constexpr double kExpectedLoss = 1e-2;  // it begins at 16
// The norms of a step are added up in another order, so its gradient may differ by some roundings,
// and its weights by as much of the learning rate.
constexpr double kTolerance = 8 * kSteps * kLearningRate * std::numeric_limits<float>::epsilon();

// Rows begin … end − 1 of the layer.
struct Rows {
  std::size_t begin;
  std::size_t end;
};

Rows rows_of(int rank, int ranks) {
  const auto first = [&](int each) {
    return kOutputs * static_cast<std::size_t>(each) / static_cast<std::size_t>(ranks);
  };
  return {first(rank), first(rank + 1)};
}

// A weight W whose outputs W x are to equal T x for a fixed T.
class Layer {
 public:
  explicit Layer(Rows rows)
      : rows_(rows),
        weight_((rows.end - rows.begin) * kInputs),
        gradient_(weight_.size()),
        target_(kOutputs * kInputs) {
    RandomNumbers random(1);
    // A centralized gradient never changes the mean of a row, which is 0 at the start. Pairs of
    // opposite numbers have that mean.
    for (std::size_t i = 0; i < target_.size(); i += 2) {
      target_[i] = random.normal();
      target_[i + 1] = -target_[i];
    }
  }

  sing::Parameter parameter() {
    return {.name = "weight",
            .data = weight_.data(),
            .shape = {static_cast<std::int64_t>(rows_.end - rows_.begin), kInputs},
            .gradient = gradient_.data()};
  }

  // Leaves the gradient of half the mean of (W x − T x)² over the rows and examples, and returns
  // the sum of the squares.
  double compute_gradient(const std::vector<float>& inputs) {
    std::ranges::fill(gradient_, 0.0F);
    double squares = 0;
    for (std::size_t row = rows_.begin; row < rows_.end; ++row) {
      float* const gradient = gradient_.data() + (row - rows_.begin) * kInputs;
      for (std::size_t example = 0; example < kExamples; ++example) {
        const float* const input = inputs.data() + example * kInputs;
        const float error = error_of(row, input);
        for (std::size_t i = 0; i < kInputs; ++i) {
          gradient[i] += error * input[i] / (kOutputs * kExamples);
        }
        squares += error * error;
      }
    }
    return squares;
  }

  // The largest difference from the rows of a whole layer.
  double difference(const Layer& whole) const {
    double largest = 0;
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      const float other = whole.weight_[rows_.begin * kInputs + i];
      largest = std::max(largest, static_cast<double>(std::abs(weight_[i] - other)));
    }
    return largest;
  }

 private:
  float error_of(std::size_t row, const float* input) const {
    const float* const weight = weight_.data() + (row - rows_.begin) * kInputs;
    const float* const target = target_.data() + row * kInputs;
    float error = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      error += (weight[i] - target[i]) * input[i];
    }
    return error;
  }

  Rows rows_;
  std::vector<float> weight_;
  std::vector<float> gradient_;
  std::vector<float> target_;
};

// Returns the sum of the squared errors in the last step.
double train(Layer& layer, sing::Optimizer& optimizer) {
  RandomNumbers random(2);  // the same inputs in every process
  std::vector<float> inputs(kExamples * kInputs);
  double squares = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::ranges::generate(inputs, [&] { return random.normal(); });
    squares = layer.compute_gradient(inputs);
    optimizer.set_learning_rate_factor(1 - static_cast<double>(step) / kSteps);
    optimizer.step();
  }
  return squares;
}

int run() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const sing::Options options{.rule = sing::AdamW{.learning_rate = kLearningRate}};

  const Rows rows = rows_of(rank, ranks);
  Layer part(rows);
  sing::Parameter parameter = part.parameter();
  parameter.shard = sing::Shard{.whole_shape = {kOutputs, kInputs},
                                .offset = {static_cast<std::int64_t>(rows.begin), 0},
                                .cut_axes = {0},
                                .sum_group = 0};
  sing::Optimizer optimizer({parameter}, options);
  optimizer.set_sum_shards(sing::mpi::sum_over({MPI_COMM_WORLD}));
  double squares = train(part, optimizer);
  MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double loss = squares / (2 * kOutputs * kExamples);

  Layer whole({0, kOutputs});
  sing::Optimizer alone({whole.parameter()}, options);
  train(whole, alone);
  const double difference = part.difference(whole);
  std::printf(
      "process %d of %d: rows %zu to %zu, loss %.2e, largest difference from one process %.1e\n",
      rank, ranks, rows.begin, rows.end, loss, difference);
  return loss < kExpectedLoss && difference <= kTolerance ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  const int result = run();
  MPI_Finalize();
  return result;
}
