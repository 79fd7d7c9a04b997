// Simulates processes that share tensors: threads, each with an optimizer over its parts, on a mesh
// of two axes.
#pragma once

#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sing/optim/optimizer.hpp"
#include "tests/support/device_tensor.hpp"

namespace sing::test {

// Adds up vectors of a number of threads, always in the order of their ranks, and exchanges their
// messages.
class Team {
 public:
  explicit Team(std::size_t size)
      : barrier_(static_cast<std::ptrdiff_t>(size)), given_(size), messages_(size) {}

  void sum(std::size_t rank, std::span<double> values) {
    given_[rank] = values;
    barrier_.arrive_and_wait();
    std::vector<double> total(values.size());
    bool is_alike = true;
    for (const std::span<double> each : given_) {
      is_alike = is_alike && each.size() == total.size();
      for (std::size_t i = 0; is_alike && i < total.size(); ++i) {
        total[i] += each[i];
      }
    }
    barrier_.arrive_and_wait();
    if (!is_alike) {
      throw std::logic_error("[Team] wanted vectors of one length, got several lengths");
    }
    std::copy(total.begin(), total.end(), values.begin());
  }

  void exchange(std::size_t rank, const PartMessages& messages) {
    messages_[rank] = &messages;
    barrier_.arrive_and_wait();
    bool is_alike = true;
    std::size_t received = 0;
    for (std::size_t from = 0; from < messages_.size(); ++from) {
      const PartMessages& theirs = *messages_[from];
      std::size_t begin = 0;
      for (std::size_t to = 0; to < rank; ++to) {
        begin += theirs.sent_bytes[to];
      }
      const std::size_t bytes = theirs.sent_bytes[rank];
      is_alike = is_alike && bytes == messages.received_bytes[from];
      if (is_alike && bytes > 0) {
        std::memcpy(messages.received.data() + received, theirs.sent.data() + begin, bytes);
      }
      received += bytes;
    }
    barrier_.arrive_and_wait();
    if (!is_alike) {
      throw std::logic_error("[Team] wanted messages of the lengths received, got others");
    }
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::span<double>> given_;
  std::vector<const PartMessages*> messages_;
};

inline constexpr int kReplicate = -1;

// For each of the two axes of the mesh: the axis of the tensor that it cuts, or kReplicate.
using Placement = std::array<int, 2>;

struct Mesh {
  std::size_t rows = 1, columns = 1;
  std::size_t size() const { return rows * columns; }
};

// The part of a tensor that a process has, cut as torch.chunk does.
inline Shard shard_of(const Mesh& mesh, std::size_t rank, const Placement& placement,
                      const std::vector<std::int64_t>& shape, std::vector<std::int64_t>& part) {
  Shard shard{.whole_shape = shape, .offset = std::vector<std::int64_t>(shape.size(), 0)};
  part = shape;
  const std::size_t coordinates[] = {rank / mesh.columns, rank % mesh.columns};
  const std::size_t extents[] = {mesh.rows, mesh.columns};
  for (std::size_t dim = 0; dim < 2; ++dim) {
    if (placement[dim] == kReplicate || extents[dim] == 1) {
      continue;
    }
    const auto axis = static_cast<std::size_t>(placement[dim]);
    const auto parts = static_cast<std::int64_t>(extents[dim]);
    const std::int64_t chunk = (part[axis] + parts - 1) / parts;
    const std::int64_t begin =
        std::min(part[axis], chunk * static_cast<std::int64_t>(coordinates[dim]));
    shard.offset[axis] += begin;
    part[axis] = std::min(chunk, part[axis] - begin);
    shard.cut_axes.push_back(placement[dim]);
    shard.sum_group |= dim == 0 ? 1 : 2;
  }
  return shard;
}

// The values of a part, given those of the whole tensor.
inline std::vector<double> part_of(const std::vector<double>& whole, const Shard& shard,
                                   const std::vector<std::int64_t>& part) {
  const Region region{.part = part, .whole = shard.whole_shape, .offset = shard.offset};
  std::vector<double> values;
  for (std::int64_t i = 0; i < region.size(); ++i) {
    values.push_back(whole[static_cast<std::size_t>(region.in_whole(i))]);
  }
  return values;
}

// The state of one process.
struct Process {
  std::vector<Shard> shards = {};
  std::vector<DeviceTensor> parameters = {};
  std::vector<DeviceTensor> gradients = {};
  std::unique_ptr<Optimizer> optimizer = {};
  int sums = 0;       // vectors that it has added up with others
  int exchanges = 0;  // of parts of matrices
  std::size_t sent_bytes = 0;
};

struct SharedTensor {
  std::vector<std::int64_t> shape;
  Placement placement;
};

class Processes {
 public:
  using MakeBackend = std::function<std::shared_ptr<Backend>()>;

  // The tensors have the values start(i).
  Processes(const Mesh& mesh, const std::vector<SharedTensor>& tensors, Dtype dtype,
            const Options& options, const MakeBackend& make_backend,
            const std::function<std::vector<double>(std::size_t)>& start)
      : mesh_(mesh), processes_(mesh.size()) {
    for (std::size_t rank = 0; rank < mesh.size(); ++rank) {
      Process& process = processes_[rank];
      const std::shared_ptr<Backend> backend = make_backend();
      process.parameters.reserve(tensors.size());
      process.gradients.reserve(tensors.size());
      std::vector<Parameter> list;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::vector<std::int64_t> part;
        Shard shard = shard_of(mesh, rank, tensors[i].placement, tensors[i].shape, part);
        process.shards.push_back(shard);
        process.parameters.emplace_back(backend, dtype, part, part_of(start(i), shard, part));
        process.gradients.emplace_back(backend, dtype, part);
        list.push_back(process.parameters[i].parameter(std::to_string(i), process.gradients[i]));
        if (!shard.cut_axes.empty()) {
          add_parts(rank, tensors[i], shard);
          list.back().shard = std::move(shard);
        }
      }
      process.optimizer = std::make_unique<Optimizer>(std::move(list), options, backend);
      process.optimizer->set_sum_shards([this, rank](std::span<double> values, std::int32_t group) {
        ++processes_[rank].sums;
        const Place place = place_of(rank, group);
        team(group, place.team, place.size).sum(place.member, values);
      });
      // The values pass through host memory, so that the processes may share a device.
      process.optimizer->set_sum_shards_on_device(
          [this, rank, backend](double* values, std::size_t count, std::int32_t group,
                                void* /*stream*/) {
            ++processes_[rank].sums;
            std::vector<double> copy(count);
            backend->read(copy.data(), values, count * sizeof(double));
            const Place place = place_of(rank, group);
            team(group, place.team, place.size).sum(place.member, copy);
            backend->write(values, copy.data(), count * sizeof(double));
          });
      process.optimizer->set_exchange_parts(
          [this, rank](const PartMessages& messages, std::int32_t group) {
            ++processes_[rank].exchanges;
            processes_[rank].sent_bytes += messages.sent.size();
            const Place place = place_of(rank, group);
            team(group, place.team, place.size).exchange(place.member, messages);
          });
    }
  }

  std::size_t size() const { return processes_.size(); }
  Process& operator[](std::size_t rank) { return processes_[rank]; }

  void set_gradient(std::size_t tensor, const std::vector<double>& whole) {
    for (Process& process : processes_) {
      process.gradients[tensor].set(
          part_of(whole, process.shards[tensor], process.gradients[tensor].shape()));
    }
  }

  // Takes a step on all processes at once. Returns what each has thrown.
  std::vector<std::exception_ptr> step() {
    std::vector<std::exception_ptr> thrown(processes_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          processes_[rank].optimizer->step();
          processes_[rank].optimizer->status();  // a step on a device reports what it found here
        } catch (...) {
          thrown[rank] = std::current_exception();
        }
      });
    }
    for (std::thread& each : threads) {
      each.join();
    }
    return thrown;
  }

 private:
  // A team of processes, which differ in the coordinates of a sum group's axes of the mesh.
  struct Place {
    std::size_t team, size, member;
  };

  Place place_of(std::size_t rank, std::int32_t group) const {
    const std::size_t row = rank / mesh_.columns;
    const std::size_t column = rank % mesh_.columns;
    if (group == 3) {
      return {0, mesh_.size(), rank};
    }
    return group == 1 ? Place{column, mesh_.rows, row} : Place{row, mesh_.columns, column};
  }

  // Lists the parts of the processes that share a tensor with one, which finds itself among them.
  void add_parts(std::size_t rank, const SharedTensor& tensor, Shard& shard) const {
    const Place own = place_of(rank, shard.sum_group);
    shard.own_part = own.member;
    for (std::size_t other = 0; other < mesh_.size(); ++other) {
      if (place_of(other, shard.sum_group).team == own.team) {
        Block block;
        block.offset = shard_of(mesh_, other, tensor.placement, tensor.shape, block.shape).offset;
        shard.parts.push_back(std::move(block));
      }
    }
  }

  Team& team(std::int32_t group, std::size_t number, std::size_t size) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Team>& found = teams_[{group, number}];
    if (found == nullptr) {
      found = std::make_unique<Team>(size);
    }
    return *found;
  }

  Mesh mesh_;
  std::vector<Process> processes_;
  std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::size_t>, std::unique_ptr<Team>> teams_;
};

}  // namespace sing::test
