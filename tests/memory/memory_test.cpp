// Checks the memory that an optimizer needs in addition to the parameters, as counted by the
// backend that allocates it and by every operator new of this program.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "sing/optim/optimizer.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/device_tensor.hpp"
#include "tests/support/random_values.hpp"

namespace {

std::atomic<std::size_t> allocated_bytes = 0;  // by operator new since the program began
std::atomic<int> allocations_left = -1;        // before one fails; never if negative

void* count_and_allocate(std::size_t bytes) {
  allocated_bytes += bytes;
  if (allocations_left >= 0 && allocations_left-- == 0) {
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

// The functions are never inlined: a compiler that sees free() but not the replaced operator new
// reports a mismatch (g++ 12 under ThreadSanitizer does).
#define SING_NOT_INLINED __attribute__((noinline))
SING_NOT_INLINED void* operator new(std::size_t bytes) { return count_and_allocate(bytes); }
SING_NOT_INLINED void* operator new[](std::size_t bytes) { return count_and_allocate(bytes); }
SING_NOT_INLINED void operator delete(void* memory) noexcept { std::free(memory); }
SING_NOT_INLINED void operator delete[](void* memory) noexcept { std::free(memory); }
SING_NOT_INLINED void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
SING_NOT_INLINED void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace sing {
namespace {

using test::DeviceTensor;
using Shape = std::vector<std::int64_t>;

// Forwards everything and adds up the requested memory.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::size_t bytes() const { return bytes_; }

  Device device() const override { return inner_->device(); }
  std::shared_ptr<void> allocate(std::size_t bytes) override {
    bytes_ += bytes;
    return inner_->allocate(bytes);
  }
  void read(void* host, const void* memory, std::size_t bytes) const override {
    inner_->read(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::size_t bytes) const override {
    inner_->write(memory, host, bytes);
  }
  void convert(void* destination, Dtype destination_dtype, const void* source, Dtype source_dtype,
               std::int64_t count) override {
    inner_->convert(destination, destination_dtype, source, source_dtype, count);
  }
  void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count) override {
    inner_->blend(to, to_dtype, blend, count);
  }
  void step(const StepRequest& request) override { inner_->step(request); }
  void upload(const StepRequest& request) override { inner_->upload(request); }
  bool synchronous() const override { return inner_->synchronous(); }
  std::size_t scratch_bytes() const override { return inner_->scratch_bytes(); }

 private:
  std::shared_ptr<Backend> inner_;
  std::size_t bytes_ = 0;
};

std::size_t elements_of(const std::vector<Shape>& shapes) {
  std::int64_t count = 0;
  for (const Shape& shape : shapes) {
    count += product(shape);
  }
  return static_cast<std::size_t>(count);
}

// Holds parameters and gradients; their memory comes from a separate backend.
struct Tensors {
  Tensors(const std::vector<Shape>& shapes, Dtype dtype, const std::shared_ptr<Backend>& backend) {
    for (const Shape& shape : shapes) {
      parameters.emplace_back(backend, dtype, shape);
      gradients.emplace_back(backend, dtype, shape,
                             test::random_values(1, std::min<std::int64_t>(1000, product(shape))));
    }
  }
  std::vector<Parameter> list() const {
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      all.push_back(parameters[i].parameter(std::to_string(i), gradients[i]));
    }
    return all;
  }
  std::vector<DeviceTensor> parameters;
  std::vector<DeviceTensor> gradients;
};

class MemoryTest : public test::BackendTest {
 protected:
  void expect_state(const Options& options, Dtype dtype, std::size_t bytes_per_element) {
    const std::vector<Shape> shapes{{300, 333}, {77}, {}, {4, 3, 3, 3}};
    const Tensors tensors(shapes, dtype, backend_);
    const auto counting = std::make_shared<CountingBackend>(backend_);
    Optimizer optimizer(tensors.list(), options, counting);
    EXPECT_EQ(optimizer.state_bytes(), 0U);
    optimizer.step();
    const std::size_t state = bytes_per_element * elements_of(shapes);
    EXPECT_EQ(optimizer.state_bytes(), state);
    const std::size_t counters =
        sizeof(OptimizerProgress) + sizeof(GroupProgress) + shapes.size() * sizeof(TensorProgress);
    EXPECT_EQ(counting->bytes(), state + counters);
    for (int step = 0; step < 6; ++step) {
      optimizer.step();
    }
    EXPECT_EQ(counting->bytes(), state + counters) << "more memory after the first step";
  }
};
SING_ON_BACKENDS(MemoryTest, test::backend_kinds());

TEST_P(MemoryTest, AdamWKeepsEightBytesPerParameter) {
  expect_state({.lookahead = std::nullopt}, Dtype::kFloat32, 8);
}

TEST_P(MemoryTest, AdamWWithLookaheadKeepsTwelve) { expect_state({}, Dtype::kFloat32, 12); }

TEST_P(MemoryTest, OtherTypesAndRules) {
  expect_state({}, Dtype::kFloat64, 24);
  expect_state({}, Dtype::kBFloat16, 12);
  expect_state({.master_weights = true}, Dtype::kBFloat16, 16);
  expect_state({.rule = Sgd{}, .lookahead = std::nullopt}, Dtype::kFloat32, 0);
  expect_state({.rule = Sgd{.momentum = 0.9}, .lookahead = std::nullopt}, Dtype::kFloat32, 4);
}

TEST_P(MemoryTest, AdaFactorKeepsRowsAndColumns) {
  const Tensors tensors({{300, 333}, {77}}, Dtype::kFloat32, backend_);
  Optimizer optimizer(tensors.list(), {.rule = AdaFactor{}, .lookahead = std::nullopt}, backend_);
  optimizer.step();
  EXPECT_EQ(optimizer.state_bytes(), 4U * (300 + 333 + 77));
}

class CpuScratch : public test::BackendTest {};
SING_ON_BACKENDS(CpuScratch, std::vector{test::cpu_backend(InstructionSet::kBest, 1),
                                         test::cpu_backend(InstructionSet::kBest, 2)});

// A tensor has at most 256 chunks, each with one item for measuring and one for applying (12 bytes
// each, and a vector may hold twice what it needs) and one partial result (48 bytes). A plan, a run
// and a scale add a few hundred bytes.
constexpr std::size_t kScratchPerTensor = 256 * (2 * 2 * 12 + 48) + 1024;

std::size_t scratch_of(const std::vector<Shape>& shapes, const std::shared_ptr<Backend>& backend) {
  const Tensors tensors(shapes, Dtype::kBFloat16, backend);
  Optimizer optimizer(tensors.list(), {.rule = Sgd{}, .lookahead = std::nullopt}, backend);
  optimizer.step();
  return optimizer.scratch_bytes();
}

TEST_P(CpuScratch, IsFourBytesPerRowAndAConstantPerTensor) {
  for (const Shape& shape : {Shape{7}, Shape{30'000, 3}, Shape{1'000'000, 1}, Shape{3, 300'000}}) {
    const std::size_t rows = shape.size() < 2 ? 0 : static_cast<std::size_t>(shape[0]);
    EXPECT_LE(scratch_of({shape}, GetParam().make()), 4 * rows + kScratchPerTensor);
  }
}

TEST_P(CpuScratch, DoesNotGrowWithTensorsFourTimesAsLarge) {
  const std::size_t smaller = scratch_of({{5, 2'000'000}, {9}}, GetParam().make());
  const std::size_t larger = scratch_of({{5, 8'000'000}, {9}}, GetParam().make());
  EXPECT_EQ(larger, smaller);
}

// Returns what the program's operator new allocates while an optimizer is built and steps.
std::size_t allocated_for(const Shape& shape, const std::shared_ptr<Backend>& backend) {
  const Tensors tensors({shape, {9}}, Dtype::kBFloat16, backend);
  const std::size_t before = allocated_bytes;
  Optimizer optimizer(tensors.list(), {.rule = Sgd{}, .lookahead = std::nullopt}, backend);
  optimizer.step();
  optimizer.step();
  return allocated_bytes - before;
}

// Both shapes have the same number of digits, because messages about parameters are prepared as
// text.
TEST_P(CpuScratch, NoHiddenAllocationGrowsWithTheParameters) {
  const std::size_t smaller = allocated_for({5, 2'000'000}, GetParam().make());
  const std::size_t larger = allocated_for({5, 8'000'000}, GetParam().make());
  EXPECT_EQ(larger, smaller);
  EXPECT_LE(smaller, 2 * kScratchPerTensor + 16'384);
}

// A plan and a run are made for a step without the first gradient. The step before and the step
// after it have all gradients.
TEST_P(CpuScratch, AStepWithoutEnoughMemoryChangesNothing) {
  const std::vector<Shape> shapes{{300, 333}, {77}, {4, 3, 3, 3}};
  const auto bytes_of = [](const Tensors& tensors) {
    std::string all;
    for (const DeviceTensor& parameter : tensors.parameters) {
      all += parameter.bytes();
    }
    return all;
  };
  for (const Rule& rule : {Rule(AdamW{}), Rule(AdaFactor{}), Rule(Lamb{}), Rule(Muon{})}) {
    SCOPED_TRACE(name_of(rule));
    const Tensors undisturbed(shapes, Dtype::kFloat32, backend_);
    Optimizer expected(undisturbed.list(), {.rule = rule}, GetParam().make());
    expected.step();
    expected.step();
    bool failed = true;
    for (int allocation = 0; failed; ++allocation) {
      const Tensors tensors(shapes, Dtype::kFloat32, backend_);
      Optimizer optimizer(tensors.list(), {.rule = rule}, GetParam().make());
      optimizer.step();
      const std::string before = bytes_of(tensors);
      optimizer.set_gradient(0, nullptr);
      allocations_left = allocation;
      try {
        optimizer.step();
        failed = false;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allocations_left = -1;
      EXPECT_NE(failed, bytes_of(tensors) != before) << allocation;
      if (failed) {
        optimizer.set_gradient(0, tensors.gradients[0].data());
        optimizer.step();
        EXPECT_EQ(bytes_of(tensors), bytes_of(undisturbed)) << allocation;
      } else {
        EXPECT_GT(allocation, 0) << "no allocation failed";
      }
    }
  }
}

TEST_P(CpuScratch, ASteadyStepAllocatesNextToNothing) {
  const Tensors tensors({{300, 333}, {77}, {4, 3, 3, 3}}, Dtype::kFloat32, backend_);
  for (const Rule& rule : {Rule(AdamW{}), Rule(AdaFactor{})}) {
    Optimizer optimizer(tensors.list(), {.rule = rule}, backend_);
    optimizer.step();
    const std::size_t before = allocated_bytes;
    for (int step = 0; step < 10; ++step) {
      optimizer.step();
    }
    EXPECT_LE(allocated_bytes - before, 10U * 256) << name_of(rule);
  }
}

}  // namespace
}  // namespace sing
