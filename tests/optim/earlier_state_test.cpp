// Checks that state files of version 0.1.0 load, and that the steps after them give the bits that
// version gave.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sing/sing.hpp"

namespace sing {
namespace {

const std::filesystem::path kFolder = SING_EARLIER_STATE;

// Has two groups and three element types, and is saved in the middle of a LookAhead period.
class Problem {
 public:
  explicit Problem(const std::string& rule) : optimizer_(options(rule)) {
    optimizer_.add_group({{.name = "matrix",
                           .data = matrix.data(),
                           .shape = {3, 5},
                           .gradient = matrix_gradient_.data()},
                          {.name = "half",
                           .data = half.data(),
                           .shape = {2, 3},
                           .dtype = Dtype::kBFloat16,
                           .gradient = half_gradient_.data()}});
    optimizer_.add_group({{.name = "vector",
                           .data = vector.data(),
                           .shape = {4},
                           .dtype = Dtype::kFloat64,
                           .gradient = vector_gradient_.data()}},
                         {{"learning_rate", 0.125}});
  }

  Optimizer& optimizer() { return optimizer_; }

  void step(int number) {
    for (int i = 0; i < 15; ++i) {
      matrix_gradient_[static_cast<std::size_t>(i)] =
          static_cast<float>((i * 5 + number * 3) % 11 - 5) / 8;
    }
    for (int i = 0; i < 4; ++i) {
      vector_gradient_[static_cast<std::size_t>(i)] = ((i * 3 + number) % 5 - 2) / 4.0;
    }
    for (int i = 0; i < 6; ++i) {
      half_gradient_[static_cast<std::size_t>(i)] =
          to_bfloat16(static_cast<float>((i * 7 + number) % 9 - 4) / 16);
    }
    optimizer_.step();
  }

  void set_bits(const nlohmann::json& bits) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix[i] = std::bit_cast<float>(bits["matrix"][i].get<std::uint32_t>());
    }
    for (std::size_t i = 0; i < vector.size(); ++i) {
      vector[i] = std::bit_cast<double>(bits["vector"][i].get<std::uint64_t>());
    }
    for (std::size_t i = 0; i < half.size(); ++i) {
      half[i].bits = bits["half"][i].get<std::uint16_t>();
    }
  }

  nlohmann::json bits() const {
    nlohmann::json bits;
    for (const float value : matrix) {
      bits["matrix"].push_back(std::bit_cast<std::uint32_t>(value));
    }
    for (const double value : vector) {
      bits["vector"].push_back(std::bit_cast<std::uint64_t>(value));
    }
    for (const BFloat16 value : half) {
      bits["half"].push_back(value.bits);
    }
    return bits;
  }

  std::vector<float> matrix = std::vector<float>(15);
  std::vector<double> vector = std::vector<double>(4);
  std::vector<BFloat16> half = std::vector<BFloat16>(6);

 private:
  static Options options(const std::string& rule) {
    Options options;
    options.rule = make_rule(rule);
    options.lookahead = Lookahead{.period = 3};
    options.master_weights = true;
    return options;
  }

  std::vector<float> matrix_gradient_ = std::vector<float>(15);
  std::vector<double> vector_gradient_ = std::vector<double>(4);
  std::vector<BFloat16> half_gradient_ = std::vector<BFloat16>(6);
  Optimizer optimizer_;
};

TEST(EarlierState, OfEveryRuleLoadsAndContinuesWithTheSameBits) {
  std::ifstream file(kFolder / "continuations.json");
  const nlohmann::json continuations = nlohmann::json::parse(file);
  EXPECT_EQ(continuations.size(), 19U);
  for (const auto& [rule, bits] : continuations.items()) {
    SCOPED_TRACE(rule);
    Problem problem(rule);
    problem.set_bits(bits["before"]);
    problem.optimizer().load(kFolder / (rule + ".safetensors"));
    EXPECT_EQ(problem.optimizer().learning_rate_factor(), 0.5);
    for (int number = 4; number < 7; ++number) {
      problem.step(number);
    }
    EXPECT_EQ(problem.bits(), bits["after"]);
  }
}

}  // namespace
}  // namespace sing
