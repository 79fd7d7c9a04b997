// Copies sequences into rows.
#include "lab/encoder/padded_batch.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "lab/encoder/length_batches.hpp"

namespace sing::lab::encoder {
PaddedBatch pad(std::span<const Sequence> sequences, std::int64_t padding, std::int64_t longest,
                bool pinned) {
  const auto rows = static_cast<std::int64_t>(sequences.size());
  std::int64_t most = 1;
  for (const Sequence& each : sequences) {
    most = std::max(most, static_cast<std::int64_t>(each.ids.size()));
  }
  const std::int64_t columns = columns_for(most, longest);
  const auto host = at::TensorOptions(at::kLong).pinned_memory(pinned);
  PaddedBatch batch = {at::full({rows, columns}, padding, host), at::zeros({rows, columns}, host),
                       at::empty({rows}, host)};
  auto* ids = batch.ids.mutable_data_ptr<std::int64_t>();
  auto* types = batch.types.mutable_data_ptr<std::int64_t>();
  auto* lengths = batch.lengths.mutable_data_ptr<std::int64_t>();
  for (const Sequence& each : sequences) {
    std::copy(each.ids.begin(), each.ids.end(), ids);
    std::copy(each.types.begin(), each.types.end(), types);
    *lengths++ = static_cast<std::int64_t>(each.ids.size());
    ids += columns;
    types += columns;
  }
  return batch;
}

model::EncoderInput encoder_input(const at::Tensor& ids, const at::Tensor& types,
                                  const at::Tensor& lengths) {
  const at::Tensor places = at::arange(ids.size(1), ids.options());
  return {ids, types, places.unsqueeze(0) < lengths.unsqueeze(1)};
}

}  // namespace sing::lab::encoder
