// Measures how many RDE images per second one core makes, and how many the whole machine makes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "lab/rde/batch_filler.hpp"
#include "lab/rde/generator.hpp"
#include "lab/rde/render.hpp"
#include "lab/rde/solver.hpp"

namespace sing::lab::rde {
namespace {

constexpr std::size_t kBatch = 512;
constexpr std::size_t kPixels = 128 * 128;

// Writes batches of new images into the same memory, as a prefetching thread does.
void fill_batches(benchmark::State& state, const BatchBuffers& buffers, std::uint64_t seed) {
  const int threads = static_cast<int>(state.range(0));
  BatchFiller filler(RdeOptions{}, seed, threads);
  std::vector<std::uint64_t> indices(kBatch);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  for (auto _ : state) {
    filler.fill(indices, buffers);
    for (std::uint64_t& index : indices) {
      index += kBatch;
    }
  }
  const double images = static_cast<double>(state.iterations()) * kBatch;
  state.counters["images/s"] = benchmark::Counter(images, benchmark::Counter::kIsRate);
  state.counters["images/s/thread"] =
      benchmark::Counter(images / threads, benchmark::Counter::kIsRate);
}

// Fills the input of training on a CPU: 144 KiB written per image.
void fill_floats(benchmark::State& state) {
  std::vector<float> images(kBatch * kPixels);
  std::vector<float> targets(kBatch * kPixels);
  std::vector<std::uint8_t> rectangles(kBatch * kPixels);
  fill_batches(
      state, {.images = images.data(), .targets = targets.data(), .rectangles = rectangles.data()},
      1);
}

// Fills the data that is sent to a GPU: 16 KiB per image.
void fill_bytes(benchmark::State& state) {
  std::vector<std::uint8_t> rectangles(kBatch * kPixels);
  std::vector<float> greys(kBatch * 5);
  std::vector<float> levels(kBatch * 5);
  fill_batches(
      state, {.rectangles = rectangles.data(), .greys = greys.data(), .levels = levels.data()}, 1);
}

void draw_scene(benchmark::State& state) {
  std::uint64_t index = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(make_scene(RdeOptions{}, 1, index++));
  }
  state.SetItemsProcessed(state.iterations());
}

void solve_image(benchmark::State& state) {
  std::vector<float> image(kPixels);
  render(make_scene(RdeOptions{}, 1, 0), {.image = image.data()});
  for (auto _ : state) {
    const Solution solution = solve(image.data(), 128);
    if (!solution.decided) {
      state.SkipWithError("the solver does not decide a kept image");
    }
  }
  state.SetItemsProcessed(state.iterations());
}

// Runs with one thread, then with all cores.
void thread_counts(benchmark::internal::Benchmark* bench) {
  bench->Arg(1)->ArgName("threads")->UseRealTime()->Unit(benchmark::kMillisecond);
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  if (cores > 1) {
    bench->Arg(cores);
  }
}

BENCHMARK(fill_floats)->Apply(thread_counts);
BENCHMARK(fill_bytes)->Apply(thread_counts);
BENCHMARK(draw_scene);
BENCHMARK(solve_image);

}  // namespace
}  // namespace sing::lab::rde

BENCHMARK_MAIN();
