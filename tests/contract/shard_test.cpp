// Compares steps over the parts of tensors with the same steps over whole tensors.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <stdexcept>

#include "tests/contract/agreement.hpp"
#include "tests/contract/model.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/processes.hpp"

namespace sing {
namespace {

using test::kReplicate;
using test::Mesh;
using test::Placement;
using test::Process;
using test::Processes;
using test::Shape;
using test::SharedTensor;

constexpr int kSteps = 6;  // past a merge of LookAhead

using MakeBackend = std::shared_ptr<Backend> (*)();

std::shared_ptr<Backend> two_threads() { return make_cpu_backend({.threads = 2}); }
std::shared_ptr<Backend> reference() { return make_reference_backend(); }
std::shared_ptr<Backend> on_cuda() { return make_cuda_backend({}); }

// Returns the variants under whose rules the backend takes shards of matrices.
std::vector<test::RuleVariant> taken(MakeBackend make_backend,
                                     std::vector<test::RuleVariant> variants) {
  const std::shared_ptr<Backend> backend = make_backend();
  std::erase_if(variants, [&](const test::RuleVariant& each) {
    return !backend->instead_of_shard(each.rule, true).empty();
  });
  return variants;
}

// Even, uneven, fewer rows than processes, rows of one element, and none.
std::vector<Shape> shapes() {
  return {{8, 6}, {5, 7}, {1, 3}, {3, 1}, {13}, {1}, {4, 3, 2, 3}, {0, 4}, {2, 5, 3}};
}

// Cuts axis 0, the last axis or both; a tensor of rank 1 has one axis for all.
std::vector<SharedTensor> tensors_of(const std::vector<Shape>& shapes, int first, int second) {
  const auto axis = [](const Shape& shape, int wanted) {
    return wanted == kReplicate ? kReplicate : std::min(wanted, static_cast<int>(shape.size()) - 1);
  };
  std::vector<SharedTensor> tensors;
  for (const Shape& shape : shapes) {
    tensors.push_back({shape, {axis(shape, first), axis(shape, second)}});
  }
  return tensors;
}

std::vector<double> start_of(const Shape& shape, std::size_t i) {
  return test::random_values(i, product(shape));
}

void expect_no_failure(const std::vector<std::exception_ptr>& thrown) {
  for (const std::exception_ptr& each : thrown) {
    if (each) {
      std::rethrow_exception(each);
    }
  }
}

// The processes agree with one process that has the whole tensors, in the reference's arithmetic.
void expect_whole(const Mesh& mesh, const std::vector<SharedTensor>& tensors, Dtype dtype,
                  const Options& options, MakeBackend make_backend, int steps) {
  const auto start = [&](std::size_t i) { return start_of(tensors[i].shape, i); };
  Processes processes(mesh, tensors, dtype, options, make_backend, start);
  std::vector<Shape> whole_shapes;
  for (const SharedTensor& tensor : tensors) {
    whole_shapes.push_back(tensor.shape);
  }
  test::Model whole(make_reference_backend(), whole_shapes, {dtype, dtype}, options);
  std::vector<double> update(tensors.size());
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<double>> before;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      before.push_back(whole.parameter(i).values());
    }
    whole.take_step(step);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      processes.set_gradient(i, whole.gradient(i).values());
      update[i] =
          std::max(update[i], test::largest_difference(before[i], whole.parameter(i).values()));
    }
    expect_no_failure(processes.step());
  }
  const std::vector<double> norms = whole.optimizer().gradient_norms();
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    Process& process = processes[rank];
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      SCOPED_TRACE(fmt::format("rank {} tensor {} placement {} {}", rank, i,
                               tensors[i].placement[0], tensors[i].placement[1]));
      const test::Agreement agreement{dtype, steps, update[i],
                                      newton_schulz_of(options.rule, true).has_value()};
      test::expect_close(process.parameters[i].values(),
                         test::part_of(whole.parameter(i).values(), process.shards[i],
                                       process.parameters[i].shape()),
                         agreement, "parameter");
      EXPECT_TRUE(process.parameters[i].sentinels_intact());
      EXPECT_NEAR(process.optimizer->gradient_norms()[i], norms[i],
                  64 * test::roundoff(dtype) * norms[i]);
      EXPECT_EQ(process.optimizer->gradient_norms()[i],
                processes[0].optimizer->gradient_norms()[i]);
    }
  }
}

class Shards : public testing::TestWithParam<MakeBackend> {
 protected:
  void SetUp() override {
    if (GetParam() == on_cuda && !is_cuda_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

std::string name_of_case(const testing::TestParamInfo<MakeBackend>& each) {
  return std::array{"cpu", "reference", "cuda"}[each.index];
}

INSTANTIATE_TEST_SUITE_P(Backends, Shards, testing::Values(two_threads, reference, on_cuda),
                         name_of_case);

TEST_P(Shards, EveryRuleTakesTheStepOfTheWholeTensors) {
  for (const test::RuleVariant& variant : taken(GetParam(), test::rule_variants())) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    expect_whole({2, 2}, tensors_of(shapes(), 0, 3), Dtype::kFloat32, options, GetParam(), kSteps);
  }
}

TEST_P(Shards, EveryPlacementTakesTheStepOfTheWholeTensors) {
  for (const test::RuleVariant& variant : taken(GetParam(), test::all_rules())) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    for (const auto& [mesh, first, second] :
         {std::tuple{Mesh{3, 1}, 0, kReplicate}, std::tuple{Mesh{2, 1}, 3, kReplicate},
          std::tuple{Mesh{3, 1}, 1, kReplicate}, std::tuple{Mesh{2, 2}, 0, 0},
          std::tuple{Mesh{2, 2}, kReplicate, 0}, std::tuple{Mesh{2, 2}, 1, kReplicate},
          std::tuple{Mesh{2, 2}, kReplicate, kReplicate}}) {
      SCOPED_TRACE(fmt::format("{} by {}, axes {} and {}", mesh.rows, mesh.columns, first, second));
      for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
        expect_whole(mesh, tensors_of(shapes(), first, second), dtype, options, GetParam(), 2);
      }
    }
  }
}

TEST_P(Shards, LargeTensorsInSeveralChunksPerPart) {
  for (const test::RuleVariant& variant : taken(GetParam(), test::all_rules())) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    expect_whole({2, 2}, {{{601, 333}, {0, 1}}, {{2, 300'007}, {1, 0}}, {{150'001}, {0, 0}}},
                 Dtype::kFloat32, options, GetParam(), 1);
  }
}

TEST_P(Shards, EveryWayToStandardize) {
  for (const Normalize normalize :
       {Normalize::kOff, Normalize::kUnitNorm, Normalize::kSizeCalibrated}) {
    for (const std::int64_t axis : {-1, 0, 1}) {
      SCOPED_TRACE(fmt::format("normalize {}, axis {}", name_of(normalize), axis));
      Options options;
      options.rule = test::strong_rule<AdamW>();
      options.standardize.normalize = normalize;
      options.standardize.centralize = axis >= 0;
      options.standardize.centralize_axis = std::max<std::int64_t>(axis, 0);
      for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kPassThrough}) {
        options.non_finite = policy;
        expect_whole({2, 2}, tensors_of(shapes(), 0, 1), Dtype::kFloat32, options, GetParam(), 2);
      }
    }
  }
}

// Gradients are clipped by the norm of all whole tensors, each counted once.
TEST_P(Shards, ClippingSeesWholeTensors) {
  for (const test::RuleVariant& variant : taken(GetParam(), test::all_rules())) {
    SCOPED_TRACE(variant.name);
    Options options;
    options.rule = variant.rule;
    options.standardize.normalize = Normalize::kOff;
    options.clip_norm = 0.5;
    std::vector<SharedTensor> tensors = tensors_of(shapes(), 0, 1);
    tensors.push_back({{4, 6}, {kReplicate, 0}});
    tensors.push_back({{5, 2}, {kReplicate, kReplicate}});
    expect_whole({2, 2}, tensors, Dtype::kFloat32, options, GetParam(), 2);
  }
}

// Two columns on two processes: the gradient (1 3; 2 2) has the row means 2 and 2 and the centered
// norm √2.
TEST_P(Shards, RowMeansAreThoseOfWholeRows) {
  Options options;
  options.rule = Sgd{.learning_rate = 1};
  options.lookahead.reset();
  options.standardize.norm_epsilon = 0;
  Processes processes({2, 1}, {{{2, 2}, {1, kReplicate}}}, Dtype::kFloat64, options, GetParam(),
                      [](std::size_t) { return std::vector<double>(4, 0.0); });
  processes.set_gradient(0, {1, 3, 2, 2});
  expect_no_failure(processes.step());
  EXPECT_DOUBLE_EQ(processes[0].parameters[0].values()[0], std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(processes[1].parameters[0].values()[0], -std::sqrt(0.5));
  EXPECT_EQ(processes[0].parameters[0].values()[1], 0);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_DOUBLE_EQ(processes[rank].optimizer->gradient_norms()[0], std::sqrt(18.0));
  }
}

TEST_P(Shards, ARowConstantGradientThatIsCutIsNoise) {
  Options options;
  options.rule = Sgd{.learning_rate = 1};
  const Shape shape{3, 10};
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < product(shape); ++i) {
    gradient.push_back(0.1 + static_cast<double>(i / 10));
  }
  Processes processes({3, 1}, {{shape, {1, kReplicate}}}, Dtype::kFloat32, options, GetParam(),
                      [&](std::size_t) { return start_of(shape, 0); });
  const std::vector<double> before = processes[0].parameters[0].values();
  processes.set_gradient(0, gradient);
  expect_no_failure(processes.step());
  EXPECT_EQ(processes[0].parameters[0].values(), before);
}

TEST_P(Shards, ANonFiniteElementOfOnePartIsThatOfAllProcesses) {
  const Shape shape{4, 5};
  for (const NonFinite policy :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow, NonFinite::kPassThrough}) {
    for (const int axis : {0, 1}) {
      SCOPED_TRACE(fmt::format("{} axis {}", name_of(policy), axis));
      Options options;
      options.non_finite = policy;
      Processes processes({2, 1}, {{shape, {axis, kReplicate}}, {shape, {0, kReplicate}}},
                          Dtype::kFloat32, options, GetParam(),
                          [&](std::size_t i) { return start_of(shape, i); });
      std::vector<double> gradient = test::well_conditioned_values(7, shape);
      processes.set_gradient(1, gradient);
      gradient.back() = std::numeric_limits<double>::quiet_NaN();
      processes.set_gradient(0, gradient);
      std::vector<std::vector<double>> before;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        before.push_back(processes[rank].parameters[1].values());
      }
      const std::vector<std::exception_ptr> thrown = processes.step();
      const bool gives_up = policy == NonFinite::kSkipStep || policy == NonFinite::kThrow;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(thrown[rank] != nullptr, policy == NonFinite::kThrow);
        const OptimizerProgress progress = processes[rank].optimizer->status();
        EXPECT_EQ(progress.skipped_steps, gives_up ? 1 : 0);
        EXPECT_EQ(progress.skipped_tensors, policy == NonFinite::kSkipTensor ? 1 : 0);
        EXPECT_EQ(processes[rank].optimizer->tensor_progress()[0].non_finite, gives_up ? 0 : 1);
        EXPECT_TRUE(std::isnan(processes[rank].optimizer->gradient_norms()[0]));
        EXPECT_EQ(processes[rank].parameters[1].values() == before[rank], gives_up);
        const std::vector<double> first = processes[rank].parameters[0].values();
        EXPECT_EQ(std::isnan(first.back()), policy == NonFinite::kPassThrough);
      }
    }
  }
}

TEST_P(Shards, AGradientThatOnlySomePartsHaveIsRefused) {
  if (GetParam() == on_cuda) {
    GTEST_SKIP() << "a step on a device does not wait; ShardsOnCuda has what it does instead";
  }
  Processes processes({2, 1}, {{{4, 2}, {0, kReplicate}}, {{3}, {kReplicate, kReplicate}}},
                      Dtype::kFloat32, {}, GetParam(),
                      [](std::size_t i) { return std::vector<double>(i == 0 ? 8 : 3, 1.0); });
  processes[1].optimizer->set_gradient(0, nullptr);
  for (const std::exception_ptr& each : processes.step()) {
    ASSERT_TRUE(each);
    EXPECT_EQ(test::message_of<std::invalid_argument>([&] { std::rethrow_exception(each); }),
              "[optimizer] parameter '0': wanted a gradient of every part or of none, got one of 1 "
              "of 2 parts");
  }
  processes[0].optimizer->set_gradient(0, nullptr);
  expect_no_failure(processes.step());
  EXPECT_EQ(processes[0].optimizer->tensor_progress()[0].steps, 0);
  EXPECT_EQ(processes[0].optimizer->tensor_progress()[1].steps, 1);
}

// Scalar statistics of any number of tensors take one exchange; LAMB's sums after the moments, and
// the rows of tensors that are cut across them, take one more each.
TEST(ShardsOnTheCpu, AStepExchangesOneVectorPerSumGroup) {
  const auto sums_of = [](const Rule& rule, int axis) {
    Options options;
    options.rule = rule;
    const std::vector<SharedTensor> tensors(5, {{4, 6}, {axis, kReplicate}});
    Processes processes({2, 2}, tensors, Dtype::kFloat32, options, two_threads,
                        [](std::size_t i) { return start_of({4, 6}, i); });
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      processes.set_gradient(i, test::well_conditioned_values(i, {4, 6}));
    }
    expect_no_failure(processes.step());
    return processes[0].sums;
  };
  EXPECT_EQ(sums_of(AdamW{}, 0), 1);
  EXPECT_EQ(sums_of(AdamW{}, 1), 2);
  EXPECT_EQ(sums_of(Lamb{}, 0), 2);
  EXPECT_EQ(sums_of(AdaFactor{}, 0), 3);
}

// A step that the sum gives up must leave nothing to the next step, not even the executor's
// exception, which a completed step throws.
TEST(ShardsOnTheCpu, AFailingExecutorAndAFailingSumLeaveTheNextStepAlone) {
  bool fails = true;
  std::vector<float> value(8, 1.0F);
  const std::vector<float> gradient{1, 2, 4, 8, 16, 32, 64, 128};
  Parameter parameter{
      .name = "w", .data = value.data(), .shape = {4, 2}, .gradient = gradient.data()};
  parameter.shard = Shard{.whole_shape = {8, 2}, .offset = {0, 0}, .cut_axes = {0}};
  const Executor executor = [&](int count, const std::function<void(int)>& task) {
    if (fails) {
      throw std::runtime_error("no thread");
    }
    for (int i = 0; i < count; ++i) {
      task(i);
    }
  };
  Optimizer optimizer({parameter}, {}, make_cpu_backend({.threads = 2, .executor = executor}));
  optimizer.set_sum_shards([&](std::span<double> /*values*/, std::int32_t /*sum_group*/) {
    if (fails) {
      throw std::runtime_error("the other process is gone");
    }
  });
  const std::vector<float> before = value;
  EXPECT_EQ(test::message_of<std::runtime_error>([&] { optimizer.step(); }),
            "the other process is gone");
  EXPECT_EQ(value, before);
  fails = false;
  EXPECT_NO_THROW(optimizer.step());
  EXPECT_NE(value, before);
}

// The step cannot throw, because it does not wait: the gradient counts as one that is not finite.
TEST(ShardsOnCuda, AGradientThatOnlySomePartsHaveIsNotFinite) {
  if (!is_cuda_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  for (const NonFinite policy :
       {NonFinite::kSkipTensor, NonFinite::kSkipStep, NonFinite::kThrow, NonFinite::kPassThrough}) {
    SCOPED_TRACE(name_of(policy));
    Options options;
    options.non_finite = policy;
    Processes processes(
        {2, 1}, {{{4, 2}, {0, kReplicate}}, {{4, 3}, {0, kReplicate}}}, Dtype::kFloat32, options,
        on_cuda, [](std::size_t i) { return start_of(i == 0 ? Shape{4, 2} : Shape{4, 3}, i); });
    for (const std::size_t i : {0, 1}) {
      processes.set_gradient(i,
                             test::well_conditioned_values(i, i == 0 ? Shape{4, 2} : Shape{4, 3}));
    }
    processes[1].optimizer->set_gradient(0, nullptr);
    std::vector<std::vector<double>> before;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const std::size_t i : {0, 1}) {
        before.push_back(processes[rank].parameters[i].values());
      }
    }
    const std::vector<std::exception_ptr> thrown = processes.step();
    const bool gives_up = policy == NonFinite::kSkipStep || policy == NonFinite::kThrow;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(thrown[rank] != nullptr, policy == NonFinite::kThrow);
      EXPECT_EQ(processes[rank].parameters[0].values(), before[2 * rank]);
      EXPECT_EQ(processes[rank].parameters[1].values() == before[2 * rank + 1], gives_up);
      const OptimizerProgress progress = processes[rank].optimizer->status();
      EXPECT_EQ(progress.skipped_steps, gives_up ? 1 : 0);
      EXPECT_EQ(progress.skipped_tensors, gives_up ? 0 : 1);
      EXPECT_EQ(processes[rank].optimizer->tensor_progress()[0].non_finite, gives_up ? 0 : 1);
      EXPECT_EQ(processes[rank].optimizer->gradient_norms()[0],
                processes[0].optimizer->gradient_norms()[0]);
    }
  }
}

TEST_P(Shards, WhatIsNoPartOfATensorIsRefused) {
  float value[4] = {};
  const auto message = [&](const Shard& shard, const Options& options = {}) {
    return test::message_of<std::invalid_argument>([&] {
      Parameter parameter{.name = "w", .data = value, .shape = {2, 2}};
      parameter.shard = shard;
      Optimizer({parameter}, options, GetParam()());
    });
  };
  EXPECT_EQ(
      message({.whole_shape = {4}, .offset = {0, 0}}),
      "[optimizer] parameter 'w' (2, 2): wanted a shard with 2 extents and offsets, got 1 and "
      "2");
  EXPECT_EQ(message({.whole_shape = {4, 2}, .offset = {3, 0}, .cut_axes = {0}}),
            "[optimizer] parameter 'w' (2, 2): wanted a part of the whole tensor along axis 0, got "
            "2 elements from 3 on of 4, cut");
  EXPECT_EQ(message({.whole_shape = {2, 4}, .offset = {0, 0}, .cut_axes = {0}}),
            "[optimizer] parameter 'w' (2, 2): wanted a part of the whole tensor along axis 1, got "
            "2 elements from 0 on of 4, not cut");
  EXPECT_EQ(message({.whole_shape = {4, 2}, .offset = {0, 0}, .cut_axes = {2}}),
            "[optimizer] parameter 'w' (2, 2): wanted cut axes below 2, got 2");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(message({.whole_shape = {most, most}, .offset = {0, 0}, .cut_axes = {0, 1}}),
            "[optimizer] parameter 'w' (2, 2): wanted fewer than 2^60 elements, got "
            "8.507059173023462e+37");
  EXPECT_EQ(message({.whole_shape = {-most - 1, 2}, .offset = {0, 0}, .cut_axes = {0}}),
            "[optimizer] parameter 'w' (2, 2): wanted a part of the whole tensor along axis 0, got "
            "2 elements from 0 on of -9223372036854775808, cut");
  Options options;
  options.rule = Muon{};
  EXPECT_EQ(message({.whole_shape = {4, 2}, .offset = {0, 0}, .cut_axes = {0}}, options),
            "[optimizer] parameter 'w' (2, 2): wanted a shard with the parts of all processes for "
            "rule 'muon', which makes whole matrices orthogonal, got none");
}

TEST_P(Shards, PartsMustBeThoseOfTheWholeTensor) {
  float value[4] = {};
  const auto message = [&](const std::vector<Block>& parts, std::size_t own_part) {
    return test::message_of<std::invalid_argument>([&] {
      Parameter parameter{.name = "w", .data = value, .shape = {2, 2}};
      parameter.shard = Shard{.whole_shape = {4, 2},
                              .offset = {2, 0},
                              .cut_axes = {0},
                              .parts = parts,
                              .own_part = own_part};
      Optimizer({parameter}, {}, GetParam()());
    });
  };
  const Block first{.offset = {0, 0}, .shape = {2, 2}};
  const Block second{.offset = {2, 0}, .shape = {2, 2}};
  EXPECT_EQ(message({first, second}, 2),
            "[optimizer] parameter 'w' (2, 2): wanted own_part below 2, got 2");
  EXPECT_EQ(message({first, second}, 0),
            "[optimizer] parameter 'w' (2, 2): wanted parts[0] to be this parameter, of shape "
            "(2, 2) at offset (2, 0), got shape (2, 2) at offset (0, 0)");
  EXPECT_EQ(message({{.offset = {3, 0}, .shape = {2, 2}}, second}, 1),
            "[optimizer] parameter 'w' (2, 2): wanted part 0 inside of (4, 2), got (2, 2) at (3, "
            "0)");
  EXPECT_EQ(message({first, second, second}, 1),
            "[optimizer] parameter 'w' (2, 2): wanted parts with the 8 elements of the whole "
            "tensor, got 12");
  EXPECT_EQ(message({second}, 0),
            "[optimizer] parameter 'w' (2, 2): wanted parts with the 8 elements of the whole "
            "tensor, got 4");
}

// Two matrices on two processes: each owns one. The exchanges carry 4 bytes per element of a part,
// there and back, and the sums are one exchange for the gradients and one for the matrices' norms.
TEST(ShardsOnTheCpu, EachMatrixIsMadeOrthogonalByOneProcess) {
  Options options;
  options.rule = Muon{};
  const std::vector<SharedTensor> tensors(2, {{4, 6}, {0, kReplicate}});
  std::atomic<int> products = 0;
  const auto count_products = [&](const MatrixProduct&) { ++products; };
  const int alone = [&] {
    test::Model whole(make_cpu_backend({.multiply = count_products}), {{4, 6}, {4, 6}},
                      {Dtype::kFloat32, Dtype::kFloat32}, options);
    whole.take_step(0);
    return products.exchange(0);
  }();
  Processes processes(
      {2, 1}, tensors, Dtype::kFloat32, options,
      [&] { return make_cpu_backend({.multiply = count_products}); },
      [](std::size_t i) { return start_of({4, 6}, i); });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    processes.set_gradient(i, test::well_conditioned_values(i, {4, 6}));
  }
  expect_no_failure(processes.step());
  EXPECT_EQ(products, alone);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(processes[rank].sums, 2);
    EXPECT_EQ(processes[rank].exchanges, 2);
    EXPECT_EQ(processes[rank].sent_bytes, 2 * (2 * 2 * 6) * 4);
  }
}

TEST(ShardsOnTheCpu, PartsOfMatricesNeedSomethingToBeExchangedWith) {
  float value[4] = {};
  Parameter parameter{.name = "w", .data = value, .shape = {2, 2}, .gradient = value};
  parameter.shard = Shard{.whole_shape = {4, 2},
                          .offset = {0, 0},
                          .cut_axes = {0},
                          .parts = {{{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}},
                          .own_part = 0};
  Options options;
  options.rule = Muon{};
  Optimizer optimizer({parameter}, options, two_threads());
  optimizer.set_sum_shards([](std::span<double>, std::int32_t) {});
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { optimizer.step(); }),
            "[optimizer] parameter 'w' (2, 2): wanted set_exchange_parts() before a step with "
            "parts of matrices that rule 'muon' makes orthogonal, got none");
}

TEST(ShardsOnCuda, RulesOfWholeMatricesAreRefused) {
  if (!is_cuda_available()) {
    GTEST_SKIP() << "no CUDA device";
  }
  const std::shared_ptr<Backend> backend = on_cuda();
  const test::DeviceTensor value(backend, Dtype::kFloat32, {2, 2});
  Parameter parameter = value.parameter("w");
  parameter.shard = Shard{.whole_shape = {4, 2},
                          .offset = {0, 0},
                          .cut_axes = {0},
                          .parts = {{{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}},
                          .own_part = 0};
  Options options;
  options.rule = Muon{};
  EXPECT_EQ(
      test::message_of<std::invalid_argument>([&] { Optimizer({parameter}, options, backend); }),
      "[optimizer] parameter 'w' (2, 2): wanted a whole tensor on cuda:0 for rule 'muon', got "
      "a shard; keep matrices whole for this rule, or their shards in CPU memory");
}

TEST_P(Shards, ATensorThatIsListedAgainIsTheSameShard) {
  float value[4] = {};
  Parameter first{.name = "first", .data = value, .shape = {2, 2}};
  first.shard = Shard{.whole_shape = {4, 2}, .offset = {0, 0}, .cut_axes = {0}};
  Parameter second = first;
  second.name = "second";
  EXPECT_EQ(Optimizer({first, second}, {}, GetParam()()).parameter_count(), 1);
  second.shard->offset = {2, 0};
  EXPECT_EQ(test::message_of<std::invalid_argument>(
                [&] { Optimizer({first, second}, {}, GetParam()()); }),
            "[optimizer] wanted one shard per address, got 'first' (2, 2) and 'second' (2, 2) with "
            "different shards");
}

TEST_P(Shards, AStepNeedsAFunctionThatAddsUpSums) {
  float value[4] = {};
  Parameter parameter{.name = "w", .data = value, .shape = {2, 2}, .gradient = value};
  parameter.shard = Shard{.whole_shape = {4, 2}, .offset = {0, 0}, .cut_axes = {0}};
  Optimizer optimizer({parameter}, {}, GetParam()());
  const bool on_device = GetParam() == on_cuda;
  if (on_device) {
    optimizer.set_sum_shards([](std::span<double>, std::int32_t) {});  // is not used
  }
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { optimizer.step(); }),
            fmt::format("[optimizer] parameter 'w' (2, 2): wanted {}() before a step with shards, "
                        "got none",
                        on_device ? "set_sum_shards_on_device" : "set_sum_shards"));
}

}  // namespace
}  // namespace sing
