// A parameter that is one part of a tensor which several processes hold together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sing/base/layout.hpp"

namespace sing {

// A block of a tensor: where its first element is along each axis, and its extents.
struct Block {
  std::vector<std::int64_t> offset = {};
  std::vector<std::int64_t> shape = {};

  bool operator==(const Block&) const = default;
};

// Says which part of a whole tensor a parameter is. Parts are blocks, which may be empty.
struct Shard {
  std::vector<std::int64_t> whole_shape = {};
  std::vector<std::int64_t> offset = {};    // index of the part's first element along each axis
  std::vector<std::int64_t> cut_axes = {};  // the same for all parts, whatever their extents are
  // Names the processes whose parts together contain every element once.
  std::int32_t sum_group = 0;
  // The parts of all processes of sum_group, and the place of this process among them. Only rules
  // that make whole matrices orthogonal need them.
  std::vector<Block> parts = {};
  std::size_t own_part = 0;

  bool operator==(const Shard&) const = default;
};

// The positions that a part has in an array with one value per element, row, column or matrix of
// the tensor.
struct Region {
  std::vector<std::int64_t> part = {};  // extents
  std::vector<std::int64_t> whole = {};
  std::vector<std::int64_t> offset = {};

  std::int64_t size() const { return product(part); }
  std::int64_t whole_size() const { return product(whole); }

  // The position in the whole array of a position in the part's.
  std::int64_t in_whole(std::int64_t position) const {
    std::int64_t found = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = part.size(); axis-- > 0;) {
      found += (position % part[axis] + offset[axis]) * stride;
      position /= part[axis];
      stride *= whole[axis];
    }
    return found;
  }
};

// Describes a shard for a step: the whole tensor's layout and the place of the part in it.
struct ShardLayout {
  Layout whole;
  std::int32_t sum_group = 0;
  bool cuts_rows = false;            // a row that is centralized has elements in several parts
  bool cuts_matrix_rows = false;     // the same for the rows of factored moments
  bool cuts_matrix_columns = false;  // and for their columns
  Region rows = {};                  // rows that are centralized
  Region matrix_rows = {};
  Region matrix_columns = {};
  Region matrices = {};
  Region elements = {};
  std::vector<Region> parts = {};  // the elements of all processes, as Shard::parts
  std::size_t own_part = 0;
};

// `part` is the shape of the parameter; `axis` is the centralized one.
inline ShardLayout make_shard_layout(const Shard& shard, std::span<const std::int64_t> part,
                                     std::int64_t axis) {
  const std::size_t rank = part.size();
  ShardLayout layout{.whole = make_layout(shard.whole_shape, axis), .sum_group = shard.sum_group};
  const auto add_axis = [&](Region& region, std::size_t added) {
    region.part.push_back(part[added]);
    region.whole.push_back(shard.whole_shape[added]);
    region.offset.push_back(shard.offset[added]);
  };
  if (rank < 2) {
    return layout;
  }
  for (const Block& block : shard.parts) {
    layout.parts.push_back({block.shape, shard.whole_shape, block.offset});
  }
  layout.own_part = shard.own_part;
  layout.elements = {{part.begin(), part.end()}, shard.whole_shape, shard.offset};
  add_axis(layout.rows, static_cast<std::size_t>(axis));
  for (std::size_t each = 0; each < rank; ++each) {
    if (each + 2 < rank) {
      add_axis(layout.matrices, each);
    }
    if (each + 1 < rank) {
      add_axis(layout.matrix_rows, each);
    }
    if (each + 2 != rank) {
      add_axis(layout.matrix_columns, each);
    }
  }
  for (const std::int64_t cut : shard.cut_axes) {
    layout.cuts_rows = layout.cuts_rows || cut != axis;
    layout.cuts_matrix_rows = layout.cuts_matrix_rows || cut + 1 == layout.whole.rank;
    layout.cuts_matrix_columns = layout.cuts_matrix_columns || cut + 2 == layout.whole.rank;
  }
  return layout;
}

}  // namespace sing
