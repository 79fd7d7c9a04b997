// A perceptron with two hidden layers for one real output, with hand-written gradients.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace example {

inline constexpr std::size_t kInputs = 8;
inline constexpr std::size_t kHidden = 64;
inline constexpr std::size_t kBatch = 64;

// Values of some units for a whole batch, (units, kBatch): loops over a batch are contiguous.
using Activations = std::vector<float>;

struct Layer {
  std::size_t inputs;
  std::size_t outputs;
  std::vector<float> weight;  // (outputs, inputs)
  std::vector<float> bias;    // (outputs)
  std::vector<float> weight_gradient;
  std::vector<float> bias_gradient;
};

class Perceptron {
 public:
  // Weights from a normal distribution of variance 2 / inputs (He et al. 2015), biases 0.
  explicit Perceptron(std::uint64_t seed);

  std::array<Layer, 3>& layers() { return layers_; }

  // Mean of (output − target)² over the batch; `inputs` is (kInputs, kBatch).
  double loss(std::span<const float> inputs, std::span<const float> targets);

  // As loss(), and the gradients of every layer.
  double loss_and_gradients(std::span<const float> inputs, std::span<const float> targets);

 private:
  void forward(std::span<const float> inputs);

  std::array<Layer, 3> layers_;
  std::array<Activations, 4> values_;     // the inputs, then what each layer puts out
  std::array<Activations, 4> gradients_;  // of the loss by values_
};

}  // namespace example
