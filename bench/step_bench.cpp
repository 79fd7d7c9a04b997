// Compares the time of a SING step with that of LibTorch's fused AdamW and with a plain copy.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>

#include "bench/contestant.hpp"
#include "bench/interleaved_rounds.hpp"
#include "bench/memory_copy.hpp"
#include "lab/bench/quartiles.hpp"
#include "sing/backend/backend.hpp"
#include "sing/base/message.hpp"

namespace sing::bench {
namespace {

using lab::bench::Quartiles;
using lab::bench::quartiles;

constexpr std::string_view kReference = "torch_fused_adamw";

struct Arguments {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int rounds = 15;
  std::vector<std::string> models = {"vit_s", "gpt2_124m", "ten_thousand"};
  std::vector<std::string> only;  // contestants in addition to torch's; empty: all
  std::string shapes = SING_MODEL_SHAPES;
  std::string output;  // empty: only print the table
};

int parse_count(std::string_view name, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  SING_CHECK(error == std::errc() && end == text.data() + text.size() && value > 0,
             "[step_bench] {}: wanted a positive number, got '{}'", name, text);
  return value;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

Arguments parse_arguments(std::span<char*> words) {
  Arguments arguments;
  for (const std::string_view word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (name == "--threads") {
      arguments.threads = parse_count(name, value);
    } else if (name == "--rounds") {
      arguments.rounds = parse_count(name, value);
    } else if (name == "--models") {
      arguments.models = split(value);
    } else if (name == "--only") {
      arguments.only = split(value);
    } else if (name == "--shapes") {
      arguments.shapes = value;
    } else if (name == "--output") {
      arguments.output = value;
    } else {
      SING_CHECK(false,
                 "[step_bench] wanted --threads=N, --rounds=N, --models=A,…, --only=A,…, "
                 "--shapes=FILE or --output=FILE, got '{}'",
                 word);
    }
  }
  return arguments;
}

const Contestant& find(const std::vector<Contestant>& contestants, std::string_view name) {
  for (const Contestant& contestant : contestants) {
    if (contestant.name == name) {
      return contestant;
    }
  }
  throw Error(fmt::format("[step_bench] wanted the name of a contestant, got '{}'", name));
}

// Returns the largest difference between two contestants' parameters, in units of the tensor's
// largest movement.
double difference(const Problem& problem, const Contestant& one, const Contestant& other) {
  double largest = 0;
  for (std::size_t i = 0; i < problem.initial.size(); ++i) {
    const double movement = (other.parameters[i] - problem.initial[i]).abs().max().item<double>();
    const double apart = (one.parameters[i] - other.parameters[i]).abs().max().item<double>();
    largest = std::isfinite(apart / movement) ? std::max(largest, apart / movement) : INFINITY;
  }
  return largest;
}

// Takes steps with fresh gradients and compares the library with LibTorch. A float parameter is
// rounded a few times per step, to 4e-9 for |p| up to 0.1, and the tensor that moves least (the
// largest) moves 3e-4 in seven steps: rounding alone explains 2e-4, a missing step would give 0.1.
nlohmann::json check(Problem& problem, const std::vector<Contestant>& contestants) {
  constexpr int kSteps = kLookaheadPeriod + 2;
  constexpr double kTolerance = 1e-3;
  const std::pair<std::string_view, std::string_view> pairs[] = {
      {"sing_adamw", "unfused_sing_adamw"}, {"adamw", kReference}};
  for (int step = 0; step < kSteps; ++step) {
    problem.draw_gradients(static_cast<std::uint64_t>(step));
    for (const auto& [one, other] : pairs) {
      for (const Contestant* contestant : {&find(contestants, one), &find(contestants, other)}) {
        if (contestant->before_checked_step) {
          contestant->before_checked_step();
        }
        contestant->step();
      }
    }
  }
  nlohmann::json result = nlohmann::json::array();
  for (const auto& [one, other] : pairs) {
    const double apart = difference(problem, find(contestants, one), find(contestants, other));
    if (!(apart <= kTolerance)) {
      throw Error(fmt::format(
          "[step_bench] {}: wanted {} and {} to differ by at most {} of the movement after {} "
          "steps, got {}",
          problem.model.title, one, other, kTolerance, kSteps, apart));
    }
    result.push_back({{"what", one},
                      {"against", other},
                      {"steps", kSteps},
                      {"difference", apart},
                      {"tolerance", kTolerance}});
  }
  return result;
}

nlohmann::json to_json(const Quartiles& values) {
  return {{"lower", values.lower}, {"median", values.median}, {"upper", values.upper}};
}

// Computes the quartiles over the rounds in which the contestant took part.
template <class Function>
nlohmann::json over_rounds(const Rounds& rounds, const std::string& name, Function&& value) {
  std::vector<double> values;
  for (const auto& round : rounds) {
    if (const auto found = round.find(name); found != round.end()) {
      values.push_back(value(found->second, round));
    }
  }
  return to_json(quartiles(std::move(values)));
}

nlohmann::json row(const Contestant& contestant, const Problem& problem, const Rounds& rounds) {
  const double bytes =
      contestant.bytes_per_parameter * static_cast<double>(problem.model.parameters);
  const auto milliseconds = [](double seconds, const auto&) { return 1e3 * seconds; };
  const auto ratio = [](double seconds, const auto& round) {
    return seconds / round.at(std::string(kReference));
  };
  const auto share_of_copy = [bytes](double seconds, const auto& round) {
    return bytes / seconds / (kCopiedBytes / round.at("copy"));
  };
  return {{"name", contestant.name},
          {"title", contestant.title},
          {"bytes_per_parameter", contestant.bytes_per_parameter},
          {"milliseconds", over_rounds(rounds, contestant.name, milliseconds)},
          {"ratio_to_torch_fused_adamw", over_rounds(rounds, contestant.name, ratio)},
          {"share_of_copy_bandwidth", over_rounds(rounds, contestant.name, share_of_copy)}};
}

nlohmann::json measure(const Arguments& arguments, const std::string& model) {
  // Each contestant holds up to 20 bytes per parameter.
  constexpr std::int64_t kMostParametersForAll = 50'000'000;
  Problem problem(load_model_shapes(arguments.shapes, model));
  std::vector<Contestant> contestants = make_sing_contestants(
      problem, arguments.threads, problem.model.parameters <= kMostParametersForAll);
  contestants.insert(contestants.begin(), make_torch_fused_adamw(problem));
  contestants.push_back(make_unfused_sing(problem));
  std::cerr << problem.model.title << ": checking\n";
  const nlohmann::json checks = check(problem, contestants);
  if (!arguments.only.empty()) {
    std::erase_if(contestants, [&only = arguments.only](const Contestant& contestant) {
      return contestant.name != kReference && std::ranges::count(only, contestant.name) == 0;
    });
  }

  contestants.push_back(make_memory_copy(arguments.threads));
  const Rounds rounds = run_rounds(contestants, arguments.rounds);
  contestants.pop_back();
  nlohmann::json rows = nlohmann::json::array();
  for (const Contestant& contestant : contestants) {
    rows.push_back(row(contestant, problem, rounds));
  }
  const auto gigabytes = [](double seconds, const auto&) { return 1e-9 * kCopiedBytes / seconds; };
  return {{"name", model},
          {"title", problem.model.title},
          {"tensors", problem.model.shapes.size()},
          {"parameters", problem.model.parameters},
          {"checks", checks},
          {"copy_gigabytes_per_second", over_rounds(rounds, "copy", gigabytes)},
          {"rows", rows}};
}

void print(const nlohmann::json& model) {
  std::printf("%s, %d tensors, copy %.1f GB/s\n", model["title"].get<std::string>().c_str(),
              model["tensors"].get<int>(),
              model["copy_gigabytes_per_second"]["median"].get<double>());
  std::printf("%9s %18s %6s %8s\n", "ms", "of torch (quart.)", "B/par", "of copy");
  for (const nlohmann::json& row : model["rows"]) {
    const nlohmann::json& ratio = row["ratio_to_torch_fused_adamw"];
    std::printf("%9.3f %6.2f (%.2f-%.2f) %6.1f %8.2f  %s\n",
                row["milliseconds"]["median"].get<double>(), ratio["median"].get<double>(),
                ratio["lower"].get<double>(), ratio["upper"].get<double>(),
                row["bytes_per_parameter"].get<double>(),
                row["share_of_copy_bandwidth"]["median"].get<double>(),
                row["title"].get<std::string>().c_str());
  }
}

std::string best_instruction_set() {
  return is_supported(InstructionSet::kAvx512) ? "AVX-512"
         : is_supported(InstructionSet::kAvx2) ? "AVX2"
                                               : "baseline";
}

void run(const Arguments& arguments) {
  at::set_num_threads(arguments.threads);
  nlohmann::json models = nlohmann::json::array();
  for (const std::string& model : arguments.models) {
    models.push_back(measure(arguments, model));
    print(models.back());
  }
  if (arguments.output.empty()) {
    return;
  }
  std::ofstream stream(arguments.output);
  stream << nlohmann::json{{"threads", arguments.threads},
                           {"rounds", arguments.rounds},
                           {"torch", TORCH_VERSION},
                           {"compiler", SING_COMPILER},
                           {"flags", SING_COMPILE_FLAGS},
                           {"instruction_set", best_instruction_set()},
                           {"models", models}}
                .dump(1)
         << '\n';
  if (!stream.flush()) {
    throw FileError(fmt::format("[step_bench] wanted a writable file, got {}", arguments.output));
  }
}

}  // namespace
}  // namespace sing::bench

int main(int argc, char** argv) {
  try {
    benchmark::Initialize(&argc, argv);
    sing::bench::run(
        sing::bench::parse_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1)));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
