// Lays out the messages of both exchanges and moves parts between messages and whole matrices.
#include "sing/backend/cpu/matrix_exchange.hpp"

#include <cstring>

#include "sing/backend/matrix_owners.hpp"

namespace sing::cpu {
namespace {

// Every part begins at a multiple of this, so that loops can work on it in a message.
constexpr std::size_t kPartAlignment = alignof(double);

std::size_t element_bytes(const ShardJob& shard) {
  return size_of(state_dtype(shard.job.step.dtype));
}

// Returns the bytes that a part takes in a message.
std::size_t bytes_of(const Region& part, std::size_t element) {
  const std::size_t bytes = static_cast<std::size_t>(part.size()) * element;
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

// Calls copy(whole, part, bytes) with the offsets of each run of elements that are consecutive in
// both.
template <class Copy>
void for_each_run(const Region& part, std::size_t element, Copy copy) {
  const std::int64_t run = part.part.back();
  const std::size_t bytes = static_cast<std::size_t>(run) * element;
  for (std::int64_t begin = 0; begin < part.size(); begin += run) {
    copy(static_cast<std::size_t>(part.in_whole(begin)) * element,
         static_cast<std::size_t>(begin) * element, bytes);
  }
}

}  // namespace

void MatrixExchange::begin(std::span<const ShardJob> shards) {
  parts_.clear();
  owned_.clear();
  std::map<std::int32_t, std::vector<const ShardJob*>> found;
  for (const ShardJob& shard : shards) {
    if (shard.job.plan.is_orthogonal && shard.update->has_value()) {
      found[shard.job.step.shard->sum_group].push_back(&shard);
    }
  }
  std::erase_if(groups_, [&](const auto& group) { return !found.contains(group.first); });
  for (const auto& [number, members] : found) {
    assign(groups_[number], members);
  }
}

void MatrixExchange::assign(Group& group, std::span<const ShardJob* const> shards) {
  const std::size_t processes = shards.front()->job.step.shard->parts.size();
  const std::size_t self = shards.front()->job.step.shard->own_part;
  std::vector<Matrices> matrices;
  for (const ShardJob* shard : shards) {
    matrices.push_back(matrix_of(shard->job.step.whole()));
  }
  const std::vector<std::size_t> owners = assign_owners(matrices, processes);
  group.part_bytes.assign(processes, 0);
  group.own_bytes.assign(processes, 0);
  std::size_t part_end = 0;
  for (std::size_t owner = 0; owner < processes; ++owner) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (owners[i] == owner) {
        const std::size_t bytes =
            bytes_of(shards[i]->job.step.shard->elements, element_bytes(*shards[i]));
        parts_.push_back({.shard = shards[i], .group = &group, .begin = part_end});
        group.part_bytes[owner] += bytes;
        part_end += bytes;
      }
    }
  }
  const std::size_t first = owned_.size();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (owners[i] == self) {
      owned_.push_back({.shard = shards[i], .group = &group, .begins = {}});
    }
  }
  std::size_t own_end = 0;
  for (std::size_t process = 0; process < processes; ++process) {
    for (std::size_t i = first; i < owned_.size(); ++i) {
      const std::size_t bytes = bytes_of(owned_[i].shard->job.step.shard->parts[process],
                                         element_bytes(*owned_[i].shard));
      owned_[i].begins.push_back(own_end);
      group.own_bytes[process] += bytes;
      own_end += bytes;
    }
  }
  group.parts.resize(part_end);
  group.owned.resize(own_end);
}

void MatrixExchange::write_part(std::size_t number) {
  const Part& part = parts_[number];
  (*part.shard->update)->write_matrix(part.group->parts.data() + part.begin);
}

void MatrixExchange::hand_in(const ExchangeParts& exchange) {
  for (auto& [number, group] : groups_) {
    exchange({.sent = group.parts,
              .sent_bytes = group.part_bytes,
              .received = group.owned,
              .received_bytes = group.own_bytes},
             number);
  }
}

void MatrixExchange::orthogonalize_own(std::size_t number, const Multiply& multiply,
                                       std::span<std::byte> workspace) const {
  const Owned& own = owned_[number];
  const std::vector<Region>& parts = own.shard->job.step.shard->parts;
  const std::size_t element = element_bytes(*own.shard);
  auto* const whole = static_cast<std::byte*>(TensorUpdate::matrix_in(workspace));
  for (std::size_t process = 0; process < parts.size(); ++process) {
    const std::byte* from = own.group->owned.data() + own.begins[process];
    for_each_run(parts[process], element, [&](std::size_t to, std::size_t at, std::size_t bytes) {
      std::memcpy(whole + to, from + at, bytes);
    });
  }
  const auto* result =
      static_cast<const std::byte*>((*own.shard->update)->orthogonalize(multiply, whole));
  for (std::size_t process = 0; process < parts.size(); ++process) {
    std::byte* to = own.group->owned.data() + own.begins[process];
    for_each_run(parts[process], element, [&](std::size_t from, std::size_t at, std::size_t bytes) {
      std::memcpy(to + at, result + from, bytes);
    });
  }
}

void MatrixExchange::hand_back(const ExchangeParts& exchange) {
  for (auto& [number, group] : groups_) {
    exchange({.sent = group.owned,
              .sent_bytes = group.own_bytes,
              .received = group.parts,
              .received_bytes = group.part_bytes},
             number);
  }
  for (const Part& part : parts_) {
    (*part.shard->update)->use_orthogonal(part.group->parts.data() + part.begin);
  }
}

std::size_t MatrixExchange::bytes() const {
  std::size_t sum = 0;
  for (const auto& [number, group] : groups_) {
    sum += group.parts.capacity() + group.owned.capacity();
  }
  return sum;
}

}  // namespace sing::cpu
