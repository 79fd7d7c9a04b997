// Copies sequences into rows.
#include "lab/encoder/padded_batch.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "lab/encoder/length_batches.hpp"

namespace sing::lab::encoder {

task::Batch pad(std::span<const Sequence> sequences, std::int64_t padding, std::int64_t longest,
                bool pinned) {
  const auto rows = static_cast<std::int64_t>(sequences.size());
  std::int64_t most = 1;
  for (const Sequence& each : sequences) {
    most = std::max(most, static_cast<std::int64_t>(each.ids.size()));
  }
  const std::int64_t columns = columns_for(most, longest);
  const auto host = at::TensorOptions(at::kLong).pinned_memory(pinned);
  task::Batch batch = {at::full({rows, columns}, padding, host), at::zeros({rows, columns}, host),
                       at::empty({rows}, host)};
  auto* ids = batch[kIds].mutable_data_ptr<std::int64_t>();
  auto* types = batch[kTypes].mutable_data_ptr<std::int64_t>();
  auto* lengths = batch[kLengths].mutable_data_ptr<std::int64_t>();
  for (const Sequence& each : sequences) {
    std::copy(each.ids.begin(), each.ids.end(), ids);
    std::copy(each.types.begin(), each.types.end(), types);
    *lengths++ = static_cast<std::int64_t>(each.ids.size());
    ids += columns;
    types += columns;
  }
  return batch;
}

task::Batch moved(const task::Batch& batch, at::Device device) {
  task::Batch parts;
  for (const at::Tensor& part : batch) {
    parts.push_back(part.to(device, /*non_blocking=*/true));
  }
  return parts;
}

model::EncoderInput encoder_input(const task::Batch& batch) {
  const at::Tensor places = at::arange(batch[kIds].size(1), batch[kIds].options());
  return {batch[kIds], batch[kTypes], places.unsqueeze(0) < batch[kLengths].unsqueeze(1)};
}

}  // namespace sing::lab::encoder
