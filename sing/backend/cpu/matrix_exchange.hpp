// Collects the matrices that processes hold in parts, each on one process, which makes it
// orthogonal, and hands the parts of the results back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sing/backend/cpu/shard_stages.hpp"

namespace sing::cpu {

// The matrices of one step. Both exchanges carry as many bytes as the process's parts have in the
// state type, and as the other parts of its own matrices have. Memory is kept from step to step.
class MatrixExchange {
 public:
  // Finds the matrices among the shards that take part in the step, and an owner for each.
  void begin(std::span<const ShardJob> shards);

  // Matrices of this process's parts; the parts may be written in any order and at the same time.
  std::size_t count() const { return parts_.size(); }
  void write_part(std::size_t number);
  // Sends each part to the owner of its matrix.
  void hand_in(const ExchangeParts& exchange);

  // Matrices that this process owns, which may be worked on in any order and at the same time.
  std::size_t own_count() const { return owned_.size(); }
  void orthogonalize_own(std::size_t number, const Multiply& multiply,
                         std::span<std::byte> workspace) const;
  // Sends the parts of the results back and gives them to the updates.
  void hand_back(const ExchangeParts& exchange);

  std::size_t bytes() const;

 private:
  // The parts of all matrices that the processes of one sum group share.
  struct Group {
    std::vector<std::byte> parts;         // this process's, in the order of their owners
    std::vector<std::byte> owned;         // parts of its matrices, in the order of processes
    std::vector<std::size_t> part_bytes;  // sent to each owner
    std::vector<std::size_t> own_bytes;   // received from each process
  };
  // This process's part of a matrix.
  struct Part {
    const ShardJob* shard;
    Group* group;
    std::size_t begin;  // in Group::parts
  };
  // A matrix that this process owns.
  struct Owned {
    const ShardJob* shard;
    Group* group;
    std::vector<std::size_t> begins;  // where each process's part begins in Group::owned
  };

  void assign(Group& group, std::span<const ShardJob* const> shards);

  std::map<std::int32_t, Group> groups_;
  std::vector<Part> parts_;
  std::vector<Owned> owned_;
};

}  // namespace sing::cpu
