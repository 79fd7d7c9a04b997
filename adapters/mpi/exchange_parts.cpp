// Describes messages to MPI, which counts their bytes by an int.
#include "adapters/mpi/exchange_parts.hpp"

#include <limits>
#include <utility>

#include "adapters/mpi/collective.hpp"
#include "sing/base/message.hpp"

namespace sing::mpi {
namespace {

struct Messages {
  std::vector<int> bytes;
  std::vector<int> begins;
};

Messages describe(std::span<const std::size_t> bytes) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  Messages messages;
  std::size_t begin = 0;
  for (const std::size_t each : bytes) {
    messages.begins.push_back(static_cast<int>(begin));
    messages.bytes.push_back(static_cast<int>(each));
    begin += each;
    SING_CHECK(each <= kMost && begin <= kMost,
               "[mpi] wanted messages of at most {} bytes together, got more", kMost);
  }
  return messages;
}

}  // namespace

ExchangeParts exchange_over(std::vector<MPI_Comm> communicators) {
  return [communicators = std::move(communicators)](const PartMessages& messages,
                                                    std::int32_t sum_group) {
    SING_CHECK(sum_group >= 0 && static_cast<std::size_t>(sum_group) < communicators.size(),
               "[mpi] wanted a sum group with one of {} communicators, got group {}",
               communicators.size(), sum_group);
    const MPI_Comm communicator = communicators[static_cast<std::size_t>(sum_group)];
    int processes = 0;
    check(MPI_Comm_size(communicator, &processes), "MPI_Comm_size");
    SING_CHECK(messages.sent_bytes.size() == static_cast<std::size_t>(processes) &&
                   messages.received_bytes.size() == messages.sent_bytes.size(),
               "[mpi] wanted a part of each of {} processes, got {}", processes,
               messages.sent_bytes.size());
    const Messages sent = describe(messages.sent_bytes);
    const Messages received = describe(messages.received_bytes);
    check(MPI_Alltoallv(messages.sent.data(), sent.bytes.data(), sent.begins.data(), MPI_BYTE,
                        messages.received.data(), received.bytes.data(), received.begins.data(),
                        MPI_BYTE, communicator),
          "MPI_Alltoallv");
  };
}

}  // namespace sing::mpi
