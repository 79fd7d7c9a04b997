// Memory and copies of the counters.
#include "sing/optim/progress_store.hpp"

namespace sing {
namespace {

template <class Counters>
std::shared_ptr<Counters> allocate(Backend& backend, std::size_t count) {
  return std::static_pointer_cast<Counters>(backend.allocate(sizeof(Counters) * count));
}

template <class Counters>
Counters read(const Backend& backend, const std::shared_ptr<Counters>& memory) {
  Counters counters;
  backend.read(&counters, memory.get(), sizeof(counters));
  return counters;
}

template <class Counters>
void write(const Backend& backend, const std::shared_ptr<Counters>& memory,
           const Counters& counters) {
  backend.write(memory.get(), &counters, sizeof(counters));
}

}  // namespace

ProgressStore::ProgressStore(std::shared_ptr<Backend> backend)
    : backend_(std::move(backend)), whole_(allocate<OptimizerProgress>(*backend_, 1)) {}

void ProgressStore::add_group(std::size_t parameter_count) {
  Group group{.progress = allocate<GroupProgress>(*backend_, 1),
              .tensors = allocate<TensorProgress>(*backend_, parameter_count),
              .tensor_count = parameter_count};
  groups_.reserve(groups_.size() + 1);
  tensors_.reserve(tensors_.size() + parameter_count);
  for (std::size_t i = 0; i < parameter_count; ++i) {
    tensors_.emplace_back(group.tensors, group.tensors.get() + i);
  }
  groups_.push_back(std::move(group));
}

OptimizerProgress ProgressStore::read_whole() const { return read(*backend_, whole_); }

GroupProgress ProgressStore::read_group(std::size_t index) const {
  return read(*backend_, groups_[index].progress);
}

std::vector<TensorProgress> ProgressStore::read_tensors() const {
  std::vector<TensorProgress> all(tensors_.size());
  TensorProgress* next = all.data();
  for (const Group& group : groups_) {
    backend_->read(next, group.tensors.get(), sizeof(TensorProgress) * group.tensor_count);
    next += group.tensor_count;
  }
  return all;
}

void ProgressStore::write_whole(const OptimizerProgress& progress) {
  write(*backend_, whole_, progress);
}

void ProgressStore::write_group(std::size_t index, const GroupProgress& progress) {
  write(*backend_, groups_[index].progress, progress);
}

void ProgressStore::write_tensor(std::size_t index, const TensorProgress& progress) {
  write(*backend_, tensors_[index], progress);
}

}  // namespace sing
