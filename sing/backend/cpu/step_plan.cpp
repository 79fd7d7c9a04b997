// Cuts tensors into chunks and puts the chunks of all passes in order.
#include "sing/backend/cpu/step_plan.hpp"

#include <algorithm>

#include "sing/backend/newton_schulz.hpp"

namespace sing::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Elements that a chunk of a tensor of this size has.
std::int64_t chunk_length(std::int64_t size) {
  return std::max(kChunkElements, divide_up(size, kMaxChunks));
}

Chunks cut(std::int64_t total, std::int64_t length) { return {divide_up(total, length), length}; }

void cut_measure(TensorPlan& plan, const Layout& layout) {
  const std::int64_t length = chunk_length(layout.size);
  const std::int64_t row_length = layout.row_length();
  if (!plan.centralizes) {
    plan.chunks(Pass::kMeasure) = cut(layout.size, length);
  } else if (layout.outer == 1 && row_length > length) {
    plan.pieces = divide_up(row_length, length);
    plan.chunks(Pass::kMeasure) = {layout.rows * plan.pieces, divide_up(row_length, plan.pieces)};
  } else {
    plan.chunks(Pass::kMeasure) = cut(layout.rows, std::max<std::int64_t>(1, length / row_length));
  }
}

void cut_factor(TensorPlan& plan, const Layout& layout) {
  const std::int64_t length = chunk_length(layout.size);
  const std::int64_t matrix = layout.matrix_rows * layout.columns;
  if (matrix > length) {
    const std::int64_t rows = std::max<std::int64_t>(1, length / layout.columns);
    plan.matrix_parts = divide_up(layout.matrix_rows, rows);
    plan.chunks(Pass::kFactor) = {layout.matrices * plan.matrix_parts, rows};
  } else {
    plan.chunks(Pass::kFactor) = cut(layout.matrices, std::max<std::int64_t>(1, length / matrix));
  }
}

TensorPlan plan_tensor(const TensorStep& tensor, const GroupStep& group, bool may_update_first) {
  const Layout& layout = tensor.layout;
  TensorPlan plan;
  plan.centralizes = group.standardize.centralizes(layout.rank);
  plan.is_orthogonal = tensor.whole_size() > 0 && newton_schulz_of(group.rule, layout.factored());
  std::visit(
      [&]<class R>(const R&) {
        plan.is_factored = kIsFactored<R> && layout.factored();
        plan.sum_bytes = static_cast<std::int64_t>(kSumCount<R> * sizeof(double));
      },
      group.rule);
  plan.real_bytes = static_cast<std::int64_t>(size_of(state_dtype(tensor.dtype)));
  plan.is_shard = tensor.shard != nullptr;
  plan.is_small = !plan.is_shard && (layout.size <= kChunkElements || plan.is_orthogonal);
  plan.measured_by_update = may_update_first && !plan.centralizes &&
                            group.standardize.normalize == Normalize::kOff && !plan.is_factored &&
                            plan.sum_bytes == 0 && !plan.is_orthogonal;
  if (layout.size > 0) {
    cut_measure(plan, layout);
    plan.chunks(Pass::kApply) = cut(layout.size, chunk_length(layout.size));
    if (plan.is_factored) {
      cut_factor(plan, layout);
    }
    if (plan.sum_bytes > 0) {
      plan.chunks(Pass::kSum) = plan.chunks(Pass::kApply);
    }
  }
  return plan;
}

// Bytes for the matrix, for what its iterations need and for aligning it.
std::size_t workspace_bytes(const TensorStep& tensor) {
  const Matrices matrix = matrix_of(tensor.whole());
  return (static_cast<std::size_t>(matrix.elements()) + newton_schulz_scratch(matrix)) *
             size_of(state_dtype(tensor.dtype)) +
         kWorkspaceAlignment;
}

// Hands out parts of one block of memory. Without a block it counts the bytes that are needed.
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
    if (tensor.is_shard && tensor.is_factored) {
      constexpr auto kBytes = static_cast<std::int64_t>(sizeof(double));
      arena.place(tensor.matrix_row_sums, layout.matrix_row_count() * kBytes);
      arena.place(tensor.matrix_column_sums, layout.matrix_column_count() * kBytes);
    }
    if (tensor.chunks(Pass::kMeasure).count == 0) {
      continue;
    }
    arena.place(tensor.row_means, tensor.centralizes ? layout.rows * tensor.real_bytes : 0);
    arena.place(tensor.partials,
                tensor.chunks(Pass::kMeasure).count * static_cast<std::int64_t>(sizeof(Partial)));
    arena.place(tensor.column_sums,
                tensor.chunks(Pass::kFactor).count * layout.columns * tensor.real_bytes);
    arena.place(tensor.mean_of_rows,
                tensor.chunks(Pass::kFactor).count > 0 ? layout.matrices * tensor.real_bytes : 0);
    arena.place(tensor.totals, tensor.chunks(Pass::kSum).count * tensor.sum_bytes);
  }
  return arena.used();
}

// Places the chunks of a pass; each column gets consecutive ones.
void push_chunks(const StepPlan& plan, std::vector<Item>& items, Pass pass, std::size_t tensor) {
  const Chunks& chunks = plan.tensors[tensor].chunks(pass);
  const auto columns = static_cast<std::int64_t>(plan.columns);
  const std::int64_t rows = divide_up(chunks.count, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t chunk = column * rows + row;
      items.push_back({.kind = chunk < chunks.count ? ItemKind::kChunk : ItemKind::kNothing,
                       .pass = pass,
                       .tensor = static_cast<std::uint32_t>(tensor),
                       .end = static_cast<std::uint32_t>(chunk)});
    }
  }
}

void push_update(const StepPlan& plan, std::vector<Item>& items, std::size_t tensor) {
  push_chunks(plan, items, Pass::kFactor, tensor);
  push_chunks(plan, items, Pass::kSum, tensor);
  push_chunks(plan, items, Pass::kApply, tensor);
}

// Places the small tensors that follow `first`, up to about a chunk of elements per item, and fills
// up the row. Returns one past the last of them.
std::size_t push_small(std::vector<Item>& items, ItemKind kind, std::size_t first,
                       const StepRequest& request, const StepPlan& plan) {
  const auto is_small = [&](std::size_t tensor) {
    return tensor < plan.tensors.size() &&
           (plan.tensors[tensor].is_small || request.tensors[tensor].gradient == nullptr);
  };
  std::size_t end = first;
  while (is_small(end)) {
    std::int64_t elements = 0;
    const std::size_t begin = end;
    for (; is_small(end) && elements < kChunkElements; ++end) {
      elements += request.tensors[end].gradient == nullptr ? 0 : request.tensors[end].layout.size;
    }
    items.push_back({.kind = kind,
                     .pass = Pass::kMeasure,
                     .tensor = static_cast<std::uint32_t>(begin),
                     .end = static_cast<std::uint32_t>(end)});
  }
  while (items.size() % plan.columns != 0) {
    items.push_back({ItemKind::kNothing, Pass::kMeasure, 0, 0});
  }
  return end;
}

bool is_large(const StepRequest& request, const StepPlan& plan, std::size_t tensor) {
  return request.tensors[tensor].gradient != nullptr && !plan.tensors[tensor].is_small;
}

// Measures all tensors before the first update.
void order_measure_first(StepPlan& plan, const StepRequest& request) {
  plan.measures_first = true;
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (is_large(request, plan, i)) {
      push_chunks(plan, plan.measure_items, Pass::kMeasure, i);
      if (plan.tensors[i].is_shard) {
        push_chunks(plan, plan.factor_items, Pass::kFactor, i);
        push_chunks(plan, plan.sum_items, Pass::kSum, i);
        push_chunks(plan, plan.items, Pass::kApply, i);
      } else {
        push_update(plan, plan.items, i);
      }
      ++i;
    } else {
      push_small(plan.measure_items, ItemKind::kMeasureTensors, i, request, plan);
      i = push_small(plan.items, ItemKind::kUpdateTensors, i, request, plan);
    }
  }
}

// Tensors are measured and then updated in batches: soon enough that their gradients are still in
// cache, but not one by one, because threads wait for each other at the end of a measure pass.
void order_in_batches(StepPlan& plan, const StepRequest& request) {
  const std::int64_t most = kBatchBytesPerColumn * static_cast<std::int64_t>(plan.columns);
  std::vector<Item> updates;  // for the batch whose measure items were placed last
  std::int64_t bytes = 0;     // gradient bytes of that batch
  const auto end_batch = [&] {
    plan.items.insert(plan.items.end(), updates.begin(), updates.end());
    updates.clear();
    bytes = 0;
  };
  for (std::size_t i = 0; i < plan.tensors.size();) {
    if (!is_large(request, plan, i)) {
      i = push_small(updates, ItemKind::kWholeTensors, i, request, plan);
      continue;
    }
    const TensorStep& tensor = request.tensors[i];
    if (!plan.tensors[i].measured_by_update) {
      const std::int64_t more =
          tensor.layout.size * static_cast<std::int64_t>(size_of(tensor.gradient_dtype));
      if (bytes + more > most) {
        end_batch();
      }
      bytes += more;
      push_chunks(plan, plan.items, Pass::kMeasure, i);
    }
    push_update(plan, updates, i++);
  }
  end_batch();
}

}  // namespace

std::size_t StepPlan::bytes() const {
  return scratch.capacity() + tensors.capacity() * sizeof(TensorPlan) +
         (items.capacity() + measure_items.capacity() + factor_items.capacity() +
          sum_items.capacity()) *
             sizeof(Item);
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
      if (!plan.tensors[i].is_small) {
        plan.tensors[i].large_index = plan.large_tensors++;
      }
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
    order_in_batches(plan, request);
  }
  return plan;
}

}  // namespace sing::cpu
