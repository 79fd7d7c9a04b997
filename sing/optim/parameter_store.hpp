// The parameters of an optimizer: their order, names, groups and layouts, and the checks of what
// the caller sets.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sing/base/layout.hpp"
#include "sing/optim/options.hpp"
#include "sing/optim/parameter.hpp"

namespace sing {

// Every function throws std::invalid_argument with nothing changed.
class ParameterStore {
 public:
  struct Entry {
    Parameter parameter;
    std::size_t group;
    Layout layout;
    std::shared_ptr<const ShardLayout> shard;  // null for a whole tensor
  };

  std::size_t size() const { return entries_.size(); }
  const Entry& operator[](std::size_t index) const { return entries_[index]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // The indices of the parameters that are shards.
  const std::vector<std::size_t>& shards() const { return shards_; }

  void check_index(std::size_t index) const;
  // The index of the parameter of that name.
  std::size_t find(std::string_view name) const;

  // Checks parameters before they are added. Returns them with a name each, and without the
  // repeated listings of a tensor.
  std::vector<Parameter> prepare(std::vector<Parameter> parameters, const Options& options) const;
  // Makes room for `count` more parameters, so that add() does not throw.
  void reserve_more(std::size_t count);
  // Appends parameters that prepare() returned.
  void add(std::vector<Parameter> parameters, std::size_t group, std::int64_t centralize_axis);

  // Throws unless these options suit the parameters of a group.
  void check_options(std::size_t group, const Options& options) const;
  // Changes the axis of the rows of a group's parameters.
  void set_centralize_axis(std::size_t group, std::int64_t axis);

  void set_gradient(std::size_t index, const void* gradient);
  void set_gradient(std::size_t index, const void* gradient, Dtype dtype);
  void set_low_precision_copy(std::size_t index, void* copy, Dtype dtype);
  // Memory that overlaps another parameter's is found by the next check_moved().
  void set_data(std::size_t index, void* data);
  // Throws if a parameter has moved into memory that another parameter uses.
  void check_moved();

 private:
  void check_overlap(const std::vector<Parameter>& added) const;

  std::vector<Entry> entries_;
  std::vector<std::size_t> shards_;
  bool has_moved_ = false;  // since memory was last checked for overlaps
};

}  // namespace sing
