// Cuts tensors into chunks and puts the chunks of all passes in order.
#include "sing/backend/cpu/step_plan.hpp"

#include <algorithm>

#include "sing/backend/newton_schulz.hpp"

namespace sing::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Elements a chunk of this tensor should have.
std::int64_t chunk_length(std::int64_t size) {
  return std::max(kChunk, divide_up(size, kMaxChunks));
}

Chunks cut(std::int64_t total, std::int64_t length) { return {divide_up(total, length), length}; }

struct RuleNeeds {
  bool factored;
  std::size_t sums;
  bool own_constants;
  bool orthogonal;
};

RuleNeeds needs_of(const Rule& rule, const Layout& layout) {
  return std::visit(
      [&]<class R>(const R& each) {
        RuleNeeds needs{.factored = kIsFactored<R>,
                        .sums = kSumCount<R>,
                        .own_constants = kHasSums<R> || kHasScalars<R>,
                        .orthogonal = false};
        if constexpr (kIsOrthogonal<R>) {
          needs.orthogonal = each.orthogonalizes(layout.factored()) && layout.size > 0;
        }
        return needs;
      },
      rule);
}

void cut_measure(TensorPlan& plan, const Layout& layout) {
  const std::int64_t length = chunk_length(layout.size);
  const std::int64_t row_length = layout.row_length();
  if (!plan.centralizes) {
    plan.measure = cut(layout.size, length);
  } else if (layout.outer == 1 && row_length > length) {
    plan.pieces = divide_up(row_length, length);
    plan.measure = {layout.rows * plan.pieces, divide_up(row_length, plan.pieces)};
  } else {
    plan.measure = cut(layout.rows, std::max<std::int64_t>(1, length / row_length));
  }
}

void cut_factor(TensorPlan& plan, const Layout& layout) {
  const std::int64_t length = chunk_length(layout.size);
  const std::int64_t matrix = layout.matrix_rows * layout.columns;
  if (matrix > length) {
    const std::int64_t rows = std::max<std::int64_t>(1, length / layout.columns);
    plan.matrix_parts = divide_up(layout.matrix_rows, rows);
    plan.factor = {layout.matrices * plan.matrix_parts, rows};
  } else {
    plan.factor = cut(layout.matrices, std::max<std::int64_t>(1, length / matrix));
  }
}

TensorPlan plan_tensor(const TensorStep& tensor, const GroupStep& group, bool may_update_first) {
  const Layout& layout = tensor.layout;
  const RuleNeeds needs = needs_of(group.rule, layout);
  TensorPlan plan;
  plan.centralizes = group.standardize.centralizes(layout.rank);
  plan.is_orthogonal = needs.orthogonal;
  plan.is_small = layout.size <= kChunk || plan.is_orthogonal;
  plan.own_constants = needs.own_constants;
  plan.measured_by_update = may_update_first && !plan.centralizes &&
                            group.standardize.normalize == Normalize::kOff && !needs.factored &&
                            needs.sums == 0 && !needs.orthogonal;
  if (layout.size > 0) {
    cut_measure(plan, layout);
    plan.apply = cut(layout.size, chunk_length(layout.size));
    if (needs.factored && layout.factored()) {
      cut_factor(plan, layout);
    }
    if (needs.sums > 0) {
      plan.sum = plan.apply;
    }
  }
  return plan;
}

// The matrix and what its iterations need, and room to align it.
std::size_t workspace_bytes(const TensorStep& tensor) {
  const Layout& layout = tensor.layout;
  return (static_cast<std::size_t>(layout.size) +
          newton_schulz_scratch(
              {.rows = layout.leading, .columns = layout.size / layout.leading})) *
             size_of(state_dtype(tensor.dtype)) +
         kWorkspaceAlignment;
}

// Hands out parts of one block; run once to count (no block yet) and once to place.
class Arena {
 public:
  explicit Arena(std::byte* block) : block_(block) {}

  template <class T>
  void place(T*& pointer, std::int64_t bytes) {
    pointer = block_ == nullptr || bytes == 0 ? nullptr : reinterpret_cast<T*>(block_ + used_);
    used_ += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::size_t used() const { return used_; }

 private:
  std::byte* block_;
  std::size_t used_ = 0;
};

std::size_t place_scratch(StepPlan& plan, const StepRequest& request, std::byte* block) {
  Arena arena(block);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    TensorPlan& tensor = plan.tensors[i];
    const Layout& layout = request.tensors[i].layout;
    const auto real = static_cast<std::int64_t>(size_of(state_dtype(request.tensors[i].dtype)));
    const RuleNeeds needs = needs_of(request.groups[request.tensors[i].group].rule, layout);
    if (tensor.measure.count == 0) {
      continue;
    }
    arena.place(tensor.row_means, tensor.centralizes ? layout.rows * real : 0);
    arena.place(tensor.partials, tensor.measure.count * static_cast<std::int64_t>(sizeof(Partial)));
    arena.place(tensor.column_sums, tensor.factor.count * layout.columns * real);
    arena.place(tensor.mean_of_rows, tensor.factor.count > 0 ? layout.matrices * real : 0);
    arena.place(tensor.totals,
                tensor.sum.count * static_cast<std::int64_t>(needs.sums * sizeof(double)));
  }
  return arena.used();
}

// Each column gets a part of the tensor.
void push_chunks(StepPlan& plan, std::vector<Item>& items, Work work, std::size_t tensor,
                 const Chunks& chunks) {
  const auto columns = static_cast<std::int64_t>(plan.columns);
  const std::int64_t rows = divide_up(chunks.count, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t chunk = column * rows + row;
      items.push_back({chunk < chunks.count ? work : Work::kNothing,
                       static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(chunk)});
    }
  }
}

void push_update(StepPlan& plan, std::vector<Item>& items, std::size_t tensor) {
  push_chunks(plan, items, Work::kFactor, tensor, plan.tensors[tensor].factor);
  push_chunks(plan, items, Work::kSum, tensor, plan.tensors[tensor].sum);
  push_chunks(plan, items, Work::kApply, tensor, plan.tensors[tensor].apply);
}

// Takes small tensors from `first` on, up to a chunk of elements an item; returns one past the
// last.
std::size_t push_small(std::vector<Item>& items, Work work, std::size_t first,
                       const StepRequest& request, const StepPlan& plan) {
  const auto is_small = [&](std::size_t tensor) {
    return tensor < plan.tensors.size() &&
           (plan.tensors[tensor].is_small || request.tensors[tensor].gradient == nullptr);
  };
  std::size_t end = first;
  while (is_small(end)) {
    std::int64_t elements = 0;
    const std::size_t begin = end;
    for (; is_small(end) && elements < kChunk; ++end) {
      elements += request.tensors[end].gradient == nullptr ? 0 : request.tensors[end].layout.size;
    }
    items.push_back({work, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }
  while (items.size() % plan.columns != 0) {
    items.push_back({Work::kNothing, 0, 0});
  }
  return end;
}

bool is_large(const StepRequest& request, const StepPlan& plan, std::size_t tensor) {
  return request.tensors[tensor].gradient != nullptr && !plan.tensors[tensor].is_small;
}

// All of the measure pass, then all of the rest.
void order_measure_first(StepPlan& plan, const StepRequest& request) {
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (is_large(request, plan, i)) {
      push_chunks(plan, plan.measure_items, Work::kMeasure, i, plan.tensors[i].measure);
      push_update(plan, plan.items, i);
      ++i;
    } else {
      push_small(plan.measure_items, Work::kMeasureTensors, i, request, plan);
      i = push_small(plan.items, Work::kUpdateTensors, i, request, plan);
    }
  }
}

// Tensors are measured and then updated in groups: soon enough that their gradients are still in
// cache, and not one by one, because threads wait for each other where measuring ends.
void order_by_group(StepPlan& plan, const StepRequest& request) {
  const std::int64_t most = kGroupBytesPerColumn * static_cast<std::int64_t>(plan.columns);
  std::vector<Item> updates;  // of the group whose measure items were placed last
  std::int64_t bytes = 0;     // of its gradients
  const auto end_group = [&] {
    plan.items.insert(plan.items.end(), updates.begin(), updates.end());
    updates.clear();
    bytes = 0;
  };
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (!is_large(request, plan, i)) {
      i = push_small(updates, Work::kWholeTensors, i, request, plan);
      continue;
    }
    const TensorStep& tensor = request.tensors[i];
    if (!plan.tensors[i].measured_by_update) {
      const std::int64_t more =
          tensor.layout.size * static_cast<std::int64_t>(size_of(tensor.gradient_dtype));
      if (bytes + more > most) {
        end_group();
      }
      bytes += more;
      push_chunks(plan, plan.items, Work::kMeasure, i, plan.tensors[i].measure);
    }
    push_update(plan, updates, i++);
  }
  end_group();
}

}  // namespace

std::size_t StepPlan::bytes() const {
  return scratch.capacity() + tensors.capacity() * sizeof(TensorPlan) +
         (items.capacity() + measure_items.capacity()) * sizeof(Item);
}

StepPlan make_plan(const StepRequest& request, int threads) {
  const bool measure_first = measures_everything_first(request);
  StepPlan plan;
  plan.columns = static_cast<std::size_t>(std::min(threads, kMaxColumns));
  const bool may_update_first = !measure_first && request.non_finite == NonFinite::kPassThrough;
  plan.tensors.resize(request.tensors.size());
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const TensorStep& tensor = request.tensors[i];
    if (tensor.gradient != nullptr) {
      plan.tensors[i] = plan_tensor(tensor, request.groups[tensor.group], may_update_first);
      plan.elements += tensor.layout.size;
      plan.large_tensors += plan.tensors[i].is_small ? 0 : 1;
      if (plan.tensors[i].is_orthogonal) {
        plan.workspace_bytes = std::max(plan.workspace_bytes, workspace_bytes(tensor));
      }
    }
  }
  const std::size_t bytes = place_scratch(plan, request, nullptr);
  plan.scratch.resize(bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(plan.scratch.data());
  place_scratch(plan, request, plan.scratch.data() + (kAlignment - address % kAlignment));
  if (measure_first) {
    order_measure_first(plan, request);
  } else {
    order_by_group(plan, request);
  }
  return plan;
}

}  // namespace sing::cpu
