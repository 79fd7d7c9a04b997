// Defines a perceptron with two hidden layers and one real output, with hand-written gradients.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace example {

inline constexpr std::size_t kInputs = 8;
inline constexpr std::size_t kHidden = 64;
inline constexpr std::size_t kBatch = 64;

// Values of a layer for a whole batch, (units, kBatch), so that loops over a batch are contiguous.
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
  // Draws the weights from a normal distribution of variance 2 / inputs (He et al. 2015); biases
  // are 0.
  explicit Perceptron(std::uint64_t seed);

  std::array<Layer, 3>& layers() { return layers_; }

  // Returns the mean of (output − target)² over the batch; `inputs` is (kInputs, kBatch).
  double loss(std::span<const float> inputs, std::span<const float> targets);

  // Returns the loss and computes the gradients of every layer.
  double loss_and_gradients(std::span<const float> inputs, std::span<const float> targets);

 private:
  void forward(std::span<const float> inputs);

  std::array<Layer, 3> layers_;
  std::array<Activations, 4> values_;     // the inputs, then the outputs of each layer
  std::array<Activations, 4> gradients_;  // gradients of the loss with respect to values_
};

}  // namespace example
