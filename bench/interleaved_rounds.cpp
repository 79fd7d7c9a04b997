// Chooses the order of turns; Google Benchmark times each turn.
#include "bench/interleaved_rounds.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

namespace sing::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Takes steps that are not timed, because the threads of the previous turn's pool may still spin
// and the caches hold its data. Returns the seconds of the last step.
double settle(const Contestant& contestant) {
  constexpr double kSettleSeconds =
      0.02;  // several times as long as libgomp's threads spin by default
  const Clock::time_point start = Clock::now();
  double last = 0;
  do {
    const Clock::time_point step_start = Clock::now();
    contestant.step();
    last = seconds_since(step_start);
  } while (seconds_since(start) < kSettleSeconds);
  return last;
}

int steps_of_a_turn(const Contestant& contestant) {
  constexpr double kLeastSeconds = 0.05;
  const double period_seconds = kLookaheadPeriod * settle(contestant);
  const double periods = std::clamp(std::ceil(kLeastSeconds / period_seconds), 1.0, 100.0);
  return kLookaheadPeriod * static_cast<int>(periods);
}

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      seconds[run.run_name.function_name] =
          run.real_accumulated_time / static_cast<double>(run.iterations);
    }
  }

  std::map<std::string, double> seconds;
};

void register_turn(const Contestant& contestant, int steps) {
  const auto turn = [&contestant](benchmark::State& state) {
    settle(contestant);
    for ([[maybe_unused]] auto iteration : state) {
      contestant.step();
    }
  };
  benchmark::RegisterBenchmark(contestant.name.c_str(), turn)->Iterations(steps)->UseRealTime();
}

}  // namespace

Rounds run_rounds(std::span<const Contestant> contestants, int count) {
  std::vector<int> steps;
  for (const Contestant& contestant : contestants) {
    steps.push_back(steps_of_a_turn(contestant));
  }
  Rounds rounds;
  for (int round = 0; round < count; ++round) {
    benchmark::ClearRegisteredBenchmarks();
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      // Each round starts with a different contestant, so that none always follows the same one.
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % contestants.size();
      if (round % contestants[i].every == 0) {
        register_turn(contestants[i], steps[i]);
      }
    }
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector, ".");
    rounds.push_back(std::move(collector.seconds));
    std::cerr << "\rround " << round + 1 << " of " << count << std::flush;
  }
  std::cerr << '\n';
  return rounds;
}

}  // namespace sing::bench
