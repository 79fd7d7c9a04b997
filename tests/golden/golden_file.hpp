// Reads the trajectories of the authors' own SING from official_sing.json and converts their names
// to ours.
#pragma once

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sing/optim/options.hpp"

namespace sing::test {

using Arrays = std::map<std::string, std::vector<double>>;

struct GoldenCase {
  std::string name;
  Dtype dtype;
  Options options;  // learning rate of the first group; the second has half of it
  std::map<int, Arrays> parameters_after;
  std::map<std::string, Arrays> final_state;  // by parameter, then by our slot name
  std::map<std::string, std::int64_t> final_steps;
};

struct GoldenFile {
  int steps = 0;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  Arrays start;
  std::vector<Arrays> gradients;  // a parameter without one is left out
  std::vector<GoldenCase> cases;

  // Returns the factor of the case's learning rate in this step ("about" in the file).
  double learning_rate_factor(int step) const {
    constexpr double kPi = 3.14159265358979323846;
    return step < 3 ? (step + 1) / 3.0 : 0.5 * (1 + std::cos(kPi * (step - 3) / (steps - 3)));
  }
};

// Converts the authors' option names; an unknown one is an error, so that every option is tested.
inline Options options_of(const nlohmann::json& given, double learning_rate) {
  Options options;
  auto& rule = std::get<AdamW>(options.rule);
  rule.learning_rate = learning_rate;
  double softplus_beta = 50;
  bool softplus = true;
  for (const auto& [name, value] : given.items()) {
    if (name == "weight_decay") {
      rule.weight_decay = value;
    } else if (name == "betas") {
      rule.beta1 = value[0];
      rule.beta2 = value[1];
    } else if (name == "eps") {
      rule.epsilon = value;
      options.standardize.norm_epsilon = value;  // the authors use one epsilon for both
    } else if (name == "softplus") {
      softplus = value;
    } else if (name == "beta_softplus") {
      softplus_beta = value;
    } else if (name == "lookahead_active") {
      options.lookahead = value.get<bool>() ? options.lookahead : std::nullopt;
    } else if (name == "la_mergetime") {
      options.lookahead->period = value;
    } else if (name == "la_alpha") {
      options.lookahead->alpha = value;
    } else if (name == "grad_central") {
      options.standardize.centralize = value;
    } else if (name == "grad_norm") {
      options.standardize.normalize = value.get<bool>() ? Normalize::kUnitNorm : Normalize::kOff;
    } else {
      throw std::invalid_argument("[golden] unknown option '" + name + "'");
    }
  }
  rule.softplus_beta = softplus ? std::optional<double>(softplus_beta) : std::nullopt;
  return options;
}

inline GoldenCase case_of(const nlohmann::json& json) {
  const std::map<std::string, std::string> slots{
      {"exp_avg", "first_moment"}, {"exp_avg_sq", "second_moment"}, {"lookahead_params", "slow"}};
  GoldenCase golden;
  golden.name = json["name"];
  golden.dtype = json["dtype"] == "float64" ? Dtype::kFloat64 : Dtype::kFloat32;
  golden.options = options_of(json["options"], json["lr"]);
  for (const auto& [step, arrays] : json["params_after_step"].items()) {
    golden.parameters_after[std::stoi(step)] = arrays.get<Arrays>();
  }
  for (const auto& [parameter, state] : json["final_state"].items()) {
    for (const auto& [slot, value] : state.items()) {
      if (slot == "step") {
        golden.final_steps[parameter] = static_cast<std::int64_t>(value.get<double>());
      } else {
        golden.final_state[parameter][slots.at(slot)] = value.get<std::vector<double>>();
      }
    }
  }
  return golden;
}

inline const GoldenFile& golden_file() {
  static const GoldenFile kFile = [] {
    std::ifstream stream(SING_TEST_DATA "/golden/official_sing.json");
    const nlohmann::json json = nlohmann::json::parse(stream);
    GoldenFile file;
    file.steps = json["steps"];
    file.shapes = json["shapes"].get<decltype(file.shapes)>();
    file.start = json["init"].get<Arrays>();
    for (const nlohmann::json& gradients : json["grads"]) {
      file.gradients.push_back(gradients.get<Arrays>());
    }
    for (std::size_t step = 0; step < 3; ++step) {
      file.gradients[step].erase("late");
    }
    for (const nlohmann::json& each : json["cases"]) {
      file.cases.push_back(case_of(each));
    }
    return file;
  }();
  return kFile;
}

}  // namespace sing::test
