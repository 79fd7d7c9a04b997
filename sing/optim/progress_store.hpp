// The counters of an optimizer, its groups and its parameters, in backend memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sing/backend/backend.hpp"

namespace sing {

class ProgressStore {
 public:
  explicit ProgressStore(std::shared_ptr<Backend> backend);

  // Counters for one more group and its parameters; throws with nothing changed.
  void add_group(std::size_t parameter_count);

  // The counters themselves; a copy of the pointer keeps them alive.
  const std::shared_ptr<OptimizerProgress>& whole() const { return whole_; }
  const std::shared_ptr<GroupProgress>& group(std::size_t index) const {
    return groups_[index].progress;
  }
  const std::shared_ptr<TensorProgress>& tensor(std::size_t index) const { return tensors_[index]; }

  // Copies of the counters in host memory.
  OptimizerProgress read_whole() const;
  GroupProgress read_group(std::size_t index) const;
  std::vector<TensorProgress> read_tensors() const;

  void write_whole(const OptimizerProgress& progress);
  void write_group(std::size_t index, const GroupProgress& progress);
  void write_tensor(std::size_t index, const TensorProgress& progress);

 private:
  struct Group {
    std::shared_ptr<GroupProgress> progress;
    std::shared_ptr<TensorProgress> tensors;  // one array for all parameters of the group
    std::size_t tensor_count;
  };

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<OptimizerProgress> whole_;
  std::vector<Group> groups_;
  std::vector<std::shared_ptr<TensorProgress>> tensors_;  // by parameter; they share their group's
};

}  // namespace sing
