// Implements the forward and backward passes of the perceptron.
#include "examples/perceptron/perceptron.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "examples/perceptron/random_numbers.hpp"

namespace example {
namespace {

Layer make_layer(std::size_t inputs, std::size_t outputs, RandomNumbers& random) {
  Layer layer{.inputs = inputs,
              .outputs = outputs,
              .weight = std::vector<float>(outputs * inputs),
              .bias = std::vector<float>(outputs),
              .weight_gradient = std::vector<float>(outputs * inputs),
              .bias_gradient = std::vector<float>(outputs)};
  const float scale = std::sqrt(2.0F / static_cast<float>(inputs));
  std::generate(layer.weight.begin(), layer.weight.end(), [&] { return scale * random.normal(); });
  return layer;
}

// Computes out = weight · in + bias, followed by ReLU if `rectify` is set.
void forward_layer(const Layer& layer, const Activations& in, bool rectify, Activations& out) {
  for (std::size_t j = 0; j < layer.outputs; ++j) {
    float* row = &out[j * kBatch];
    std::fill(row, row + kBatch, layer.bias[j]);
    for (std::size_t i = 0; i < layer.inputs; ++i) {
      const float weight = layer.weight[j * layer.inputs + i];
      for (std::size_t s = 0; s < kBatch; ++s) {
        row[s] += weight * in[i * kBatch + s];
      }
    }
    if (rectify) {
      std::transform(row, row + kBatch, row, [](float value) { return std::max(value, 0.0F); });
    }
  }
}

// Uses eight independent sums, because a single sum would wait for every addition.
float dot(const float* a, const float* b) {
  std::array<float, 8> sums{};
  for (std::size_t s = 0; s < kBatch; s += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += a[s + lane] * b[s + lane];
    }
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

// Computes the gradients of the layer's weight, bias and inputs.
void backward_layer(Layer& layer, const Activations& in, const Activations& out_gradient,
                    Activations& in_gradient) {
  std::fill(in_gradient.begin(), in_gradient.end(), 0.0F);
  for (std::size_t j = 0; j < layer.outputs; ++j) {
    const float* from = &out_gradient[j * kBatch];
    layer.bias_gradient[j] = std::accumulate(from, from + kBatch, 0.0F);
    for (std::size_t i = 0; i < layer.inputs; ++i) {
      const float weight = layer.weight[j * layer.inputs + i];
      layer.weight_gradient[j * layer.inputs + i] = dot(from, &in[i * kBatch]);
      for (std::size_t s = 0; s < kBatch; ++s) {
        in_gradient[i * kBatch + s] += weight * from[s];
      }
    }
  }
}

}  // namespace

Perceptron::Perceptron(std::uint64_t seed)
    : layers_([seed] {
        RandomNumbers random(seed);
        Layer first = make_layer(kInputs, kHidden, random);
        Layer second = make_layer(kHidden, kHidden, random);
        return std::array<Layer, 3>{std::move(first), std::move(second),
                                    make_layer(kHidden, 1, random)};
      }()) {
  values_[0].resize(kInputs * kBatch);
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    values_[k + 1].resize(layers_[k].outputs * kBatch);
  }
  for (std::size_t k = 0; k < values_.size(); ++k) {
    gradients_[k].resize(values_[k].size());
  }
}

void Perceptron::forward(std::span<const float> inputs) {
  std::copy(inputs.begin(), inputs.end(), values_[0].begin());
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    forward_layer(layers_[k], values_[k], k + 1 < layers_.size(), values_[k + 1]);
  }
}

double Perceptron::loss(std::span<const float> inputs, std::span<const float> targets) {
  forward(inputs);
  double sum = 0;
  for (std::size_t s = 0; s < kBatch; ++s) {
    const double error = values_.back()[s] - targets[s];
    sum += error * error;
  }
  return sum / kBatch;
}

double Perceptron::loss_and_gradients(std::span<const float> inputs,
                                      std::span<const float> targets) {
  const double result = loss(inputs, targets);
  for (std::size_t s = 0; s < kBatch; ++s) {
    gradients_.back()[s] = 2 * (values_.back()[s] - targets[s]) / kBatch;
  }
  for (std::size_t k = layers_.size(); k-- > 0;) {
    backward_layer(layers_[k], values_[k], gradients_[k + 1], gradients_[k]);
    for (std::size_t i = 0; k > 0 && i < values_[k].size(); ++i) {
      gradients_[k][i] = values_[k][i] > 0 ? gradients_[k][i] : 0;
    }
  }
  return result;
}

}  // namespace example
