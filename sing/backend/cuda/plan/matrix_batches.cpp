// Chooses the batch that a matrix joins; see matrix_batches.hpp.
#include "sing/backend/cuda/plan/matrix_batches.hpp"

#include <algorithm>
#include <limits>

#include "sing/base/message.hpp"

namespace sing::cuda {

std::int64_t MatrixBatcher::add(std::uint32_t position, const TensorRecord& record,
                                const NewtonSchulz& polynomial) {
  const Matrices one{.rows = record.leading, .columns = record.size / record.leading};
  SING_CHECK(std::max(one.rows, one.columns) <= std::numeric_limits<int>::max(),
             "[cuda step] wanted matrices with sides below 2^31, got one of {} by {}", one.rows,
             one.columns);
  const auto [found, is_new] = latest_.try_emplace({one.rows, one.columns, polynomial});
  if (is_new || !has_room(batches_[found->second].launch.shape)) {
    found->second = batches_.size();
    batches_.push_back(
        {.launch = {.polynomial = polynomial, .shape = one}, .positions = {position}});
    return 0;
  }
  MatrixBatch& batch = batches_[found->second];
  batch.positions.push_back(position);
  batch.launch.shape.count = static_cast<std::int64_t>(batch.positions.size());
  return batch.launch.shape.elements() - one.elements();
}

std::size_t MatrixBatcher::bytes() const {
  std::size_t most = 0;
  for (const MatrixBatch& batch : batches_) {
    most = std::max(most, bytes_of(batch.launch.shape));
  }
  return most;
}

std::size_t MatrixBatcher::bytes_of(const Matrices& shape) const {
  return (static_cast<std::size_t>(shape.elements()) + newton_schulz_scratch(shape)) *
         element_bytes_;
}

bool MatrixBatcher::has_room(Matrices shape) const {
  ++shape.count;
  return bytes_of(shape) <= most_bytes_;
}

}  // namespace sing::cuda
