// Takes steps in C++ on the model of python/tests/test_state_file.py, from files and into files.
//
// state_exchange FOLDER FIRST LAST reads FOLDER/weights.bin (float32) and, unless FIRST is 0,
// FOLDER/state.safetensors, takes the steps FIRST … LAST − 1 and writes both files.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "sing/sing.hpp"

namespace {

constexpr std::size_t kMatrix = 6 * 5;
constexpr std::size_t kVector = 7;

// Every operation is exact or rounds once, so that Python computes the same bits.
void make_gradient(const std::vector<float>& weights, int step, std::vector<float>& gradient) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    gradient[i] = weights[i] * 0.5F + static_cast<float>((static_cast<int>(i) * 7 + step) % 5 - 2);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("state_exchange FOLDER FIRST LAST\n", stderr);
    return 2;
  }
  const std::string folder = arguments[1];
  const int first = std::atoi(arguments[2]);
  const int last = std::atoi(arguments[3]);
  std::vector<float> weights(kMatrix + kVector);
  const auto bytes = static_cast<std::streamsize>(weights.size() * sizeof(float));
  if (!std::ifstream(folder + "/weights.bin", std::ios::binary)
           .read(reinterpret_cast<char*>(weights.data()), bytes)) {
    std::fputs("[state_exchange] wanted weights.bin, got less\n", stderr);
    return 1;
  }
  std::vector<float> gradient(weights.size());
  sing::Optimizer optimizer(sing::Options{
      .rule = sing::AdamW{.learning_rate = 0.03, .weight_decay = 0.1, .softplus_beta = 50}});
  optimizer.add_group(
      {{.name = "matrix", .data = weights.data(), .shape = {6, 5}, .gradient = gradient.data()}});
  optimizer.add_group({{.name = "vector",
                        .data = weights.data() + kMatrix,
                        .shape = {static_cast<std::int64_t>(kVector)},
                        .gradient = gradient.data() + kMatrix}},
                      {{"learning_rate", 0.01}, {"lookahead_period", std::int64_t{3}}});
  if (first > 0) {
    optimizer.load(folder + "/state.safetensors");
  }
  for (int step = first; step < last; ++step) {
    make_gradient(weights, step, gradient);
    optimizer.step();
  }
  optimizer.save(folder + "/state.safetensors");
  std::ofstream(folder + "/weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights.data()), bytes);
}
