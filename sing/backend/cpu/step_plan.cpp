// Cuts tensors into chunks and puts the chunks of all passes in order.
#include "sing/backend/cpu/step_plan.hpp"

#include <algorithm>

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
};

RuleNeeds needs_of(const Rule& rule) {
  return std::visit(
      []<class R>(const R&) {
        return RuleNeeds{kIsFactored<R>, kSumCount<R>};
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

TensorPlan plan_tensor(const TensorStep& tensor, const GroupStep& group) {
  const Layout& layout = tensor.layout;
  const RuleNeeds needs = needs_of(group.rule);
  TensorPlan plan;
  plan.centralizes = group.standardize.centralizes(layout.rank);
  plan.is_small = layout.size <= kChunk;
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
    const RuleNeeds needs = needs_of(request.groups[request.tensors[i].group].rule);
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

void push_chunks(std::vector<Item>& items, Work work, std::size_t tensor, const Chunks& chunks) {
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    items.push_back({work, static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(chunk)});
  }
}

void push_update(std::vector<Item>& items, std::size_t tensor, const TensorPlan& plan) {
  push_chunks(items, Work::kFactor, tensor, plan.factor);
  push_chunks(items, Work::kSum, tensor, plan.sum);
  push_chunks(items, Work::kApply, tensor, plan.apply);
}

// Takes small tensors from `first` on, up to a chunk of elements; returns one past the last.
std::size_t push_small(std::vector<Item>& items,
                       Work work,
                       std::size_t first,
                       const StepRequest& request,
                       const StepPlan& plan) {
  std::int64_t elements = 0;
  std::size_t end = first;
  while (end < plan.tensors.size() && elements < kChunk &&
         (plan.tensors[end].is_small || request.tensors[end].gradient == nullptr)) {
    elements += request.tensors[end].gradient == nullptr ? 0 : request.tensors[end].layout.size;
    ++end;
  }
  items.push_back({work, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end)});
  return end;
}

bool is_large(const StepRequest& request, const StepPlan& plan, std::size_t tensor) {
  return request.tensors[tensor].gradient != nullptr && !plan.tensors[tensor].is_small;
}

// All of the measure pass, then all of the rest.
void order_measure_first(StepPlan& plan, const StepRequest& request) {
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (is_large(request, plan, i)) {
      push_chunks(plan.measure_items, Work::kMeasure, i, plan.tensors[i].measure);
      push_update(plan.items, i, plan.tensors[i]);
      ++i;
    } else {
      push_small(plan.measure_items, Work::kMeasureTensors, i, request, plan);
      i = push_small(plan.items, Work::kUpdateTensors, i, request, plan);
    }
  }
}

// Each tensor is updated a window after it is measured: soon enough that its gradient is still in
// cache, not so soon that threads wait for each other's last chunk. In between, items do both.
void order_by_window(StepPlan& plan, const StepRequest& request) {
  std::vector<Item> updates;
  std::size_t next = 0;  // of `updates`
  std::int64_t bytes_ahead = 0;
  const auto bytes_of = [&](std::size_t tensor, const Chunks& chunks) {
    return request.tensors[tensor].layout.size / chunks.count *
           static_cast<std::int64_t>(size_of(request.tensors[tensor].gradient_dtype));
  };
  const auto push_measure = [&](std::size_t tensor, std::int64_t chunk) {
    Item item{
        Work::kMeasure, static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(chunk)};
    if (next < updates.size() && bytes_ahead > kWindowBytes) {
      const Item update = updates[next++];
      item = {update.work, update.tensor, update.end, true, item.tensor, item.end};
      const Chunks& applied = plan.tensors[update.tensor].apply;
      bytes_ahead -= update.work == Work::kApply ? bytes_of(update.tensor, applied) : 0;
    }
    plan.items.push_back(item);
    bytes_ahead += bytes_of(tensor, plan.tensors[tensor].measure);
  };
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (!is_large(request, plan, i)) {
      i = push_small(plan.items, Work::kWholeTensors, i, request, plan);
      continue;
    }
    for (std::int64_t chunk = 0; chunk < plan.tensors[i].measure.count; ++chunk) {
      push_measure(i, chunk);
    }
    push_update(updates, i, plan.tensors[i]);
    ++i;
  }
  const auto rest = updates.begin() + static_cast<std::ptrdiff_t>(next);
  plan.items.insert(plan.items.end(), rest, updates.end());
}

}  // namespace

std::size_t StepPlan::bytes() const {
  return scratch.capacity() + tensors.capacity() * sizeof(TensorPlan) +
         (items.capacity() + measure_items.capacity()) * sizeof(Item);
}

StepPlan make_plan(const StepRequest& request, bool measure_first) {
  StepPlan plan;
  plan.tensors.resize(request.tensors.size());
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const TensorStep& tensor = request.tensors[i];
    if (tensor.gradient != nullptr) {
      plan.tensors[i] = plan_tensor(tensor, request.groups[tensor.group]);
      plan.elements += tensor.layout.size;
      plan.large_tensors += plan.tensors[i].is_small ? 0 : 1;
    }
  }
  const std::size_t bytes = place_scratch(plan, request, nullptr);
  plan.scratch.resize(bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(plan.scratch.data());
  place_scratch(plan, request, plan.scratch.data() + (kAlignment - address % kAlignment));
  if (measure_first) {
    order_measure_first(plan, request);
  } else {
    order_by_window(plan, request);
  }
  return plan;
}

}  // namespace sing::cpu
