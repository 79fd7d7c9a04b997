// Checks the order of work items: every element once, and no item waits for a later one. Needs no
// device.
#include "sing/backend/cuda/plan/work_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

namespace sing::cuda {
namespace {

StepRequest request_of(std::vector<GroupStep>& groups, std::vector<TensorStep>& tensors) {
  return {.groups = groups, .tensors = tensors, .version = 1};
}

std::vector<TensorStep> tensors_of(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<TensorStep> tensors;
  for (const auto& shape : shapes) {
    tensors.emplace_back().layout = make_layout(shape, 0);
  }
  return tensors;
}

std::vector<std::vector<std::int64_t>> some_shapes() {
  return {{3}, {1000, 768}, {768}, {5000}, {50'257, 96}, {2, 300'001}, {0}, {64, 3, 7, 7}};
}

TEST(WorkPlan, ChunksCoverEveryElementOnce) {
  std::vector<GroupStep> groups(1);
  auto tensors = tensors_of(some_shapes());
  for (const std::int64_t chunk : {512, 4096, 16384}) {
    const WorkPlan plan = make_work_plan(request_of(groups, tensors), {.chunk_elements = chunk});
    ASSERT_EQ(plan.tensors.size(), tensors.size());
    for (const TensorRecord& record : plan.tensors) {
      EXPECT_LE(record.chunk_elements, std::max(chunk, std::min(record.row_length, kMaxWholeRow)));
      if (record.chunks_per_row > 1) {
        EXPECT_GE(record.chunks_per_row * record.chunk_elements, record.row_length);
        EXPECT_LT((record.chunks_per_row - 1) * record.chunk_elements, record.row_length);
      } else {
        EXPECT_GE(record.chunks * record.chunk_elements, record.size);
        EXPECT_EQ(record.row_length == 0 ? 0 : record.chunk_elements % record.row_length, 0);
      }
    }
  }
}

TEST(WorkPlan, EveryChunkIsMeasuredOnceAndEveryTileUpdatedOnceAfterItsTensor) {
  std::vector<GroupStep> groups(1);
  auto shapes = some_shapes();
  shapes.push_back({3000, 16'385});  // rows in five parts, the last of which is shorter
  auto tensors = tensors_of(shapes);
  for (const NonFinite policy : {NonFinite::kSkipTensor, NonFinite::kSkipStep}) {
    for (const std::int64_t window : {1, 1 << 20, 1 << 30}) {
      StepRequest request = request_of(groups, tensors);
      request.non_finite = policy;
      const WorkPlan plan =
          make_work_plan(request, {.window_bytes = window, .beyond_bytes = window / 2});
      std::map<std::uint32_t, std::set<std::int64_t>> measured;
      std::map<std::uint32_t, std::int64_t> applied;  // number of elements, counted from the first
      std::set<std::uint32_t> small;                  // measured and applied by one item
      for (const WorkItem& item : plan.items) {
        if (item.kind == WorkKind::kMeasure) {
          EXPECT_TRUE(measured[item.tensor].insert(item.index).second);
        } else if (item.kind == WorkKind::kApply) {
          EXPECT_EQ(static_cast<std::int64_t>(measured[item.tensor].size()),
                    plan.tensors[item.tensor].chunks);
          EXPECT_EQ(item.index, applied[item.tensor]);
          EXPECT_EQ(item.index % 4, 0);
          applied[item.tensor] += item.elements;
        } else {
          EXPECT_EQ(item.kind, WorkKind::kMeasureAndApply);
          EXPECT_EQ(item.elements, plan.tensors[item.tensor].size);
          EXPECT_TRUE(small.insert(item.tensor).second);
        }
      }
      for (const auto& [tensor, chunks] : measured) {
        EXPECT_EQ(applied[tensor], plan.tensors[tensor].size);
      }
      EXPECT_EQ(measured.size(), applied.size());
      EXPECT_EQ(small.size(), policy == NonFinite::kSkipStep ? 0U : 3U);
      EXPECT_EQ(measured.size() + small.size(), shapes.size());
    }
  }
}

// Returns the gradient bytes that are measured and not yet applied, after every item.
std::vector<std::int64_t> bytes_ahead(const WorkPlan& plan) {
  std::vector<std::int64_t> ahead;
  std::int64_t now = 0;
  for (const WorkItem& item : plan.items) {
    const TensorRecord& record = plan.tensors[item.tensor];
    const std::int64_t chunk =
        std::min(record.chunk_elements, record.size - item.index * record.chunk_elements);
    now += item.kind == WorkKind::kMeasure ? chunk * 4 : -item.elements * 4;
    ahead.push_back(now);
  }
  return ahead;
}

TEST(WorkPlan, TheWindowBoundsWhatIsMeasuredAhead) {
  std::vector<GroupStep> groups(1);
  auto tensors = tensors_of(std::vector<std::vector<std::int64_t>>(40, {256, 384}));
  const std::int64_t window = 1 << 20, chunk = 4096 * 4;
  const WorkPlan plan = make_work_plan(request_of(groups, tensors),
                                       {.window_bytes = window, .beyond_bytes = 1 << 17});
  const std::vector<std::int64_t> ahead = bytes_ahead(plan);
  const std::int64_t most = *std::max_element(ahead.begin(), ahead.end());
  EXPECT_LT(most, window + chunk);
  EXPECT_GE(most, window);
}

// Each tensor has 393,216 bytes. The tiles of a tensor come after the tensor and the bytes beyond
// it are measured, and the chunks of the next tensor are spread between them.
TEST(WorkPlan, TheNextTensorIsMeasuredEvenlyWhileOneIsApplied) {
  std::vector<GroupStep> groups(1);
  auto tensors = tensors_of(std::vector<std::vector<std::int64_t>>(10, {256, 384}));
  const std::int64_t beyond = 1 << 17, bytes = 256 * 384 * 4, chunk = 4096 * 4;
  const WorkPlan plan =
      make_work_plan(request_of(groups, tensors),
                     {.tile_elements = 512, .window_bytes = 0, .beyond_bytes = beyond});
  const std::vector<std::int64_t> ahead = bytes_ahead(plan);
  std::int64_t measured_at_once = 0, largest = 0;
  bool applied = false;
  for (std::size_t k = 0; k < plan.items.size(); ++k) {
    if (plan.items[k].kind == WorkKind::kApply) {
      applied = true;
      measured_at_once = 0;
      if (plan.items[k].index == 0 && plan.items[k].tensor + 1 < plan.tensors.size()) {
        EXPECT_GE(ahead[k] + plan.items[k].elements * 4, bytes + beyond);
        EXPECT_LT(ahead[k], bytes + beyond + chunk);
      }
    } else if (applied) {
      largest = std::max(largest, ++measured_at_once);
    }
  }
  EXPECT_EQ(largest, 1);
}

// The gradient of the first tensor has 18,874,368 bytes.
TEST(WorkPlan, MoreIsMeasuredBeyondATensorThatIsTooLargeForTheCache) {
  std::vector<GroupStep> groups(1);
  std::vector<std::vector<std::int64_t>> shapes(20, {256, 384});
  shapes[0] = {2048, 2304};
  auto tensors = tensors_of(shapes);
  const std::int64_t small = 1 << 17, large = 1 << 20, chunk = 4096 * 4;
  const WorkPlan plan =
      make_work_plan(request_of(groups, tensors),
                     {.window_bytes = 0, .beyond_bytes = small, .beyond_large_bytes = large});
  const std::vector<std::int64_t> ahead = bytes_ahead(plan);
  std::vector<std::int64_t> beyond(shapes.size());
  for (std::size_t k = 0; k < plan.items.size(); ++k) {
    const WorkItem& item = plan.items[k];
    if (item.kind == WorkKind::kApply && item.index == 0) {
      beyond[item.tensor] = ahead[k] + 4 * (item.elements - plan.tensors[item.tensor].size);
    }
  }
  EXPECT_GE(beyond[0], large);
  EXPECT_LT(beyond[0], large + chunk);
  EXPECT_GE(beyond[8], small);
  EXPECT_LT(beyond[8], small + chunk);
}

TEST(WorkPlan, TilesBecomeSmallerTowardsTheEnd) {
  std::vector<GroupStep> groups(1);
  auto tensors = tensors_of(std::vector<std::vector<std::int64_t>>(4, {1024, 4096}));
  const StepTuning tuning;
  const WorkPlan plan = make_work_plan(request_of(groups, tensors), tuning);
  std::int64_t left = 4 * 1024 * 4096, first = 0, last = 0;
  for (const WorkItem& item : plan.items) {
    if (item.kind == WorkKind::kApply) {
      EXPECT_LE(item.elements, std::max(left / tuning.tiles_left, tuning.least_tile_elements));
      first = first == 0 ? item.elements : first;
      last = item.elements;
      left -= item.elements;
    }
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(first, tuning.tile_elements);
  EXPECT_LE(last, tuning.least_tile_elements);
}

// Reading element by element is so slow that the whole step of a small network would wait for one
// tile of the usual size.
TEST(WorkPlan, TensorsReadElementByElementAreCutSmall) {
  const StepTuning tuning;
  const auto largest_tile = [&](Rule rule, const std::vector<std::int64_t>& shape) {
    std::vector<GroupStep> groups(1);
    groups[0].rule = rule;
    // The second tensor prevents the first one's tiles from shrinking as the last of the step.
    auto tensors = tensors_of({shape, {8192, 4096}});
    const WorkPlan plan = make_work_plan(request_of(groups, tensors), tuning);
    std::int64_t largest = 0;
    for (const WorkItem& item : plan.items) {
      if (plan.order[item.tensor] == 0) {
        largest = std::max<std::int64_t>(largest, item.elements);
        EXPECT_LE(plan.tensors[item.tensor].chunk_elements, tuning.chunk_elements);
        EXPECT_TRUE(shape.back() % 4 == 0 || plan.tensors[item.tensor].chunk_elements <= 512);
      }
    }
    return largest;
  };
  EXPECT_EQ(largest_tile(AdamW{}, {64, 148}), tuning.tile_elements);
  EXPECT_EQ(largest_tile(AdamW{}, {64, 147}), tuning.least_tile_elements);
  EXPECT_EQ(largest_tile(AdaHessian{}, {64, 148}), tuning.least_tile_elements);
}

// A warp takes longer for several short rows than for one row with as many elements.
TEST(WorkPlan, ChunksOfShortRowsAreSmall) {
  std::vector<GroupStep> groups(1);
  auto tensors = tensors_of({{1000, 64}, {1000, 68}});
  const WorkPlan plan = make_work_plan(request_of(groups, tensors), {.chunk_elements = 4096});
  EXPECT_EQ(plan.tensors[0].chunk_elements, 16 * 64);
  EXPECT_EQ(plan.tensors[1].chunk_elements, 59 * 68);  // 1000 rows in 17 parts
}

TEST(WorkPlan, OnlyMatricesOfGroupsThatCentralizeLoseTheirRowMeans) {
  std::vector<GroupStep> groups(2);
  groups[1].standardize.centralize = false;
  auto tensors = tensors_of({{30, 40}, {30}, {30, 40}, {0, 40}});
  tensors[2].group = 1;
  const WorkPlan plan = make_work_plan(request_of(groups, tensors), {});
  for (std::size_t at = 0; at < plan.tensors.size(); ++at) {
    EXPECT_EQ(plan.tensors[at].centralizes, plan.order[at] == 0);
  }
}

TEST(WorkPlan, SkippingAStepMeasuresAllBeforeTheFirstWrite) {
  std::vector<GroupStep> groups(2);
  groups[0].rule = Sgd{};
  groups[1].rule = AdaFactor{};
  auto tensors = tensors_of(some_shapes());
  tensors[1].group = 1;
  StepRequest request = request_of(groups, tensors);
  request.non_finite = NonFinite::kSkipStep;
  const WorkPlan plan = make_work_plan(request, {});
  bool wrote = false;
  std::size_t launches_that_measure = 0;
  for (const Launch& launch : plan.launches) {
    for (std::int64_t i = launch.begin; i < launch.end; ++i) {
      const WorkKind work = plan.items[static_cast<std::size_t>(i)].kind;
      const bool measures = work == WorkKind::kMeasure;
      EXPECT_FALSE(measures && wrote);
      EXPECT_EQ(measures,
                plan.items[static_cast<std::size_t>(launch.begin)].kind == WorkKind::kMeasure);
      wrote = wrote || !measures;
    }
    launches_that_measure += wrote ? 0 : 1;
  }
  EXPECT_EQ(launches_that_measure, 2U);
}

TEST(WorkPlan, ClippingComesBetweenMeasuringAndTheFirstWrite) {
  std::vector<GroupStep> groups(2);
  groups[0].rule = Sgd{};
  groups[1].rule = AdaFactor{};
  groups[1].standardize.normalize = Normalize::kOff;
  groups[1].clip_norm = 1;
  auto tensors = tensors_of(some_shapes());
  tensors[1].group = 1;
  const WorkPlan plan = make_work_plan(request_of(groups, tensors), {});
  std::size_t clips = 0;
  for (const Launch& launch : plan.launches) {
    clips += launch.clips ? 1 : 0;
    for (std::int64_t i = launch.begin; i < launch.end; ++i) {
      EXPECT_EQ(plan.items[static_cast<std::size_t>(i)].kind == WorkKind::kMeasure, clips == 0);
    }
  }
  EXPECT_EQ(clips, 1U);
  groups[1].standardize.normalize = Normalize::kUnitNorm;
  for (const Launch& launch : make_work_plan(request_of(groups, tensors), {}).launches) {
    EXPECT_FALSE(launch.clips);
  }
}

// The stages of all kernels' shards follow one another, so that the processes add up each vector
// once.
TEST(WorkPlan, EachVectorOfShardsIsAddedUpOnce) {
  std::vector<GroupStep> groups(2);
  groups[0].rule = Lamb{};
  groups[1].rule = AdamW{};
  auto tensors = tensors_of({{30, 20}, {8}, {30, 20}, {5, 7}});
  tensors[2].group = 1;
  tensors[3].group = 1;
  std::vector<ShardLayout> shards;
  shards.reserve(tensors.size());
  for (const std::size_t i : {0U, 1U, 2U}) {
    const std::vector<std::int64_t> part =
        i == 1 ? std::vector<std::int64_t>{8} : std::vector<std::int64_t>{30, 20};
    const std::int64_t cut = i == 2 ? 1 : 0;
    Shard shard{.whole_shape = part,
                .offset = std::vector<std::int64_t>(part.size(), 0),
                .cut_axes = {cut},
                .sum_group = i == 1 ? 7 : 3};
    shard.whole_shape[static_cast<std::size_t>(cut)] *= 2;
    tensors[i].shard = &shards.emplace_back(make_shard_layout(shard, part, 0));
  }
  const SumShardsOnDevice sum = [](double*, std::size_t, std::int32_t, void*) {};
  StepRequest request = request_of(groups, tensors);
  request.sum_shards_on_device = &sum;
  const WorkPlan plan = make_work_plan(request, {});
  ASSERT_EQ(plan.shards.records.size(), 3U);
  std::vector<std::string> order;
  for (const Launch& launch : plan.launches) {
    if (!launch.shards) {
      order.emplace_back(launch.by_blocks ? "pass" : "step");
    } else {
      order.emplace_back(std::array{"measure", "rows", "sums", "results", "factor sums", "put",
                                    "factors", "take", "means", "late", "late take", "rule sums",
                                    "rule results"}[static_cast<std::size_t>(*launch.shards)]);
    }
  }
  // AdamW's tensors come first, and of these the whole one is measured by the step kernel.
  EXPECT_EQ(order, (std::vector<std::string>{"step", "measure", "measure", "rows", "sums",
                                             "results", "results", "pass", "rule sums",
                                             "rule results", "step", "step"}));
  // Group 3 has the tensors 0 and 2, and group 7 has tensor 1.
  ASSERT_EQ(plan.shards.sums.parts.size(), 2U);
  EXPECT_EQ(plan.shards.sums.parts[0].sum_group, 3);
  EXPECT_EQ(plan.shards.sums.parts[0].count, 8U);
  EXPECT_EQ(plan.shards.sums.parts[1].begin, 8U);
  EXPECT_EQ(plan.shards.rows.size, 30U);
  EXPECT_EQ(plan.shards.rule_sums.size, 4U);
  std::map<std::size_t, std::int64_t> places;  // by index in the request
  for (const ShardRecord& each : plan.shards.records) {
    places[plan.order[static_cast<std::size_t>(each.tensor)]] = each.sum_place;
  }
  EXPECT_EQ(places, (std::map<std::size_t, std::int64_t>{{0, 0}, {1, 8}, {2, 4}}));
}

TEST(WorkPlan, AStepWithoutTensorsStillCounts) {
  std::vector<GroupStep> groups(1);
  std::vector<TensorStep> tensors;
  EXPECT_EQ(make_work_plan(request_of(groups, tensors), {}).launches.size(), 1U);
}

}  // namespace
}  // namespace sing::cuda
