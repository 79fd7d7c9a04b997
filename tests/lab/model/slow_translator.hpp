// Implements the forward pass of the translator a second time, one position and one head at a time
// in double, from its parameters by name.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lab/model/translator.hpp"

namespace sing::lab::model::test {

class SlowTranslator {
 public:
  SlowTranslator(const TranslatorImpl& model, const TranslatorOptions& options,
                 std::int64_t padding)
      : options_(options), padding_(padding) {
    for (const auto& item : model.named_parameters()) {
      weights_[item.key()] = item.value().detach().to(at::kDouble).contiguous();
    }
  }

  // Returns the logits of each next piece for one sentence without padding.
  std::vector<std::vector<double>> logits(const std::vector<std::int64_t>& source,
                                          const std::vector<std::int64_t>& target) const {
    const bool shared = options_.share_embeddings;
    Rows memory = embed(shared ? "decoder" : "encoder", source);
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
      const std::string name = "encoder.layers." + std::to_string(layer) + ".";
      const Rows normed = norm(name + "self_attn_layer_norm", memory);
      add(memory, attention(name + "self_attn.", normed, normed, false));
      add(memory, feed_forward(name, memory));
    }
    memory = norm("encoder.layer_norm", memory);
    Rows states = embed("decoder", target);
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
      const std::string name = "decoder.layers." + std::to_string(layer) + ".";
      const Rows normed = norm(name + "self_attn_layer_norm", states);
      add(states, attention(name + "self_attn.", normed, normed, true));
      add(states, attention(name + "encoder_attn.", norm(name + "encoder_attn_layer_norm", states),
                            memory, false));
      add(states, feed_forward(name, states));
    }
    states = norm("decoder.layer_norm", states);
    const at::Tensor& table = weights_.at("decoder.embed_tokens");
    Rows logits;
    for (const std::vector<double>& state : states) {
      logits.push_back(times(table, state));
    }
    return logits;
  }

 private:
  using Rows = std::vector<std::vector<double>>;

  static void add(Rows& to, const Rows& what) {
    for (std::size_t row = 0; row < to.size(); ++row) {
      for (std::size_t place = 0; place < to[row].size(); ++place) {
        to[row][place] += what[row][place];
      }
    }
  }

  static std::vector<double> times(const at::Tensor& matrix, const std::vector<double>& vector) {
    std::vector<double> product(static_cast<std::size_t>(matrix.size(0)));
    const auto* element = matrix.const_data_ptr<double>();
    for (double& sum : product) {
      for (const double value : vector) {
        sum += *element++ * value;
      }
    }
    return product;
  }

  std::vector<double> linear(const std::string& name, const std::vector<double>& vector) const {
    std::vector<double> result = times(weights_.at(name + ".weight"), vector);
    for (std::size_t place = 0; place < result.size(); ++place) {
      result[place] += weights_.at(name + ".bias")[static_cast<std::int64_t>(place)].item<double>();
    }
    return result;
  }

  Rows embed(const std::string& stack, const std::vector<std::int64_t>& pieces) const {
    const at::Tensor& table = weights_.at(stack + ".embed_tokens");
    const at::Tensor positions =
        sinusoidal_positions(padding_ + 1, static_cast<std::int64_t>(pieces.size()), options_.width,
                             at::kCPU)
            .to(at::kDouble);
    Rows rows;
    for (std::size_t place = 0; place < pieces.size(); ++place) {
      std::vector<double> row;
      for (std::int64_t i = 0; i < options_.width; ++i) {
        row.push_back(table[pieces[place]][i].item<double>() *
                          std::sqrt(static_cast<double>(options_.width)) +
                      positions[static_cast<std::int64_t>(place)][i].item<double>());
      }
      rows.push_back(row);
    }
    return rows;
  }

  Rows norm(const std::string& name, const Rows& rows) const {
    Rows result = rows;
    for (std::vector<double>& row : result) {
      const auto count = static_cast<double>(row.size());
      double mean = 0;
      double variance = 0;
      for (const double value : row) {
        mean += value / count;
      }
      for (const double value : row) {
        variance += (value - mean) * (value - mean) / count;
      }
      for (std::size_t place = 0; place < row.size(); ++place) {
        const auto at = static_cast<std::int64_t>(place);
        row[place] = (row[place] - mean) / std::sqrt(variance + 1e-5) *
                         weights_.at(name + ".weight")[at].item<double>() +
                     weights_.at(name + ".bias")[at].item<double>();
      }
    }
    return result;
  }

  Rows attention(const std::string& name, const Rows& from, const Rows& to, bool causal) const {
    const auto size = static_cast<std::size_t>(options_.width / options_.heads);
    Rows keys;
    Rows values;
    for (const std::vector<double>& row : to) {
      keys.push_back(linear(name + "k_proj", row));
      values.push_back(linear(name + "v_proj", row));
    }
    Rows result;
    for (std::size_t row = 0; row < from.size(); ++row) {
      const std::vector<double> query = linear(name + "q_proj", from[row]);
      const std::size_t seen = causal ? row + 1 : to.size();
      std::vector<double> mixed(query.size());
      for (std::size_t begin = 0; begin < query.size(); begin += size) {
        std::vector<double> weights;
        double sum = 0;
        for (std::size_t other = 0; other < seen; ++other) {
          double product = 0;
          for (std::size_t i = begin; i < begin + size; ++i) {
            product += query[i] * keys[other][i];
          }
          weights.push_back(std::exp(product / std::sqrt(static_cast<double>(size))));
          sum += weights.back();
        }
        for (std::size_t other = 0; other < seen; ++other) {
          for (std::size_t i = begin; i < begin + size; ++i) {
            mixed[i] += weights[other] / sum * values[other][i];
          }
        }
      }
      result.push_back(linear(name + "out_proj", mixed));
    }
    return result;
  }

  Rows feed_forward(const std::string& layer, const Rows& rows) const {
    Rows result;
    for (const std::vector<double>& row : norm(layer + "final_layer_norm", rows)) {
      std::vector<double> hidden = linear(layer + "fc1", row);
      for (double& value : hidden) {
        value = std::max(value, 0.0);
      }
      result.push_back(linear(layer + "fc2", hidden));
    }
    return result;
  }

  TranslatorOptions options_;
  std::int64_t padding_;
  std::map<std::string, at::Tensor> weights_;
};

}  // namespace sing::lab::model::test
