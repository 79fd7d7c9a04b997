// Connects ranks by MPI, and their GPUs by a link of their own.
#include "lab/ranks/mpi_ranks.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include "adapters/mpi/collective.hpp"
#include "lab/ranks/device_link.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::ranks {
namespace {

using mpi::check;

// Large messages are cut, because MPI counts bytes by an int.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30;

int number_of(int (*ask)(MPI_Comm, int*), MPI_Comm communicator, const char* call) {
  int number = 0;
  check(ask(communicator, &number), call);
  return number;
}

// Calls `move` with the bytes in pieces.
template <class Move>
void move_pieces(std::span<std::byte> bytes, const char* call, const Move& move) {
  while (!bytes.empty()) {
    const std::span<std::byte> piece = bytes.first(std::min(bytes.size(), kLargestPiece));
    check(move(piece.data(), static_cast<int>(piece.size())), call);
    bytes = bytes.subspan(piece.size());
  }
}

void broadcast_bytes(std::span<std::byte> bytes, int from) {
  move_pieces(bytes, "MPI_Bcast", [&](std::byte* data, int size) {
    return MPI_Bcast(data, size, MPI_BYTE, from, MPI_COMM_WORLD);
  });
}

void send(std::span<std::byte> bytes) {  // to rank 0
  move_pieces(bytes, "MPI_Send", [](std::byte* data, int size) {
    return MPI_Send(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  });
}

void receive(std::span<std::byte> bytes, int from) {
  move_pieces(bytes, "MPI_Recv", [&](std::byte* data, int size) {
    return MPI_Recv(data, size, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

std::span<std::byte> bytes_of(const at::Tensor& values) {
  return {static_cast<std::byte*>(values.mutable_data_ptr()), values.nbytes()};
}

template <class T>
std::span<T> span_of(const at::Tensor& values) {
  return {values.mutable_data_ptr<T>(), static_cast<std::size_t>(values.numel())};
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int level = 0;
    // Only the thread of the training loop calls MPI.
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    rank_ = number_of(MPI_Comm_rank, MPI_COMM_WORLD, "MPI_Comm_rank");
    count_ = number_of(MPI_Comm_size, MPI_COMM_WORLD, "MPI_Comm_size");
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
          "MPI_Comm_split_type");
    rank_on_machine_ = number_of(MPI_Comm_rank, machine, "MPI_Comm_rank");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
  }
  // MPI_Finalize waits for the other ranks, which do not come here while this one fails. A process
  // that ends without it makes mpirun end the others.
  ~MpiRanks() override {
    link_.reset();
    if (std::uncaught_exceptions() == exceptions_) {
      MPI_Finalize();
    }
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int rank_on_machine() const override { return rank_on_machine_; }

  void sum(const at::Tensor& values) override {
    SING_CHECK(values.is_contiguous() &&
                   (values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble),
               "[ranks] wanted contiguous float32 or float64 values to sum, got {}",
               values.toString());
    if (!values.device().is_cpu()) {
      link(values.device()).sum(values);
    } else if (values.scalar_type() == at::kFloat) {
      mpi::sum(span_of<float>(values), MPI_COMM_WORLD);
    } else {
      mpi::sum(span_of<double>(values), MPI_COMM_WORLD);
    }
  }

  void broadcast(const at::Tensor& values, int from) override {
    SING_CHECK(values.is_contiguous(), "[ranks] wanted contiguous values to broadcast, got {}",
               values.toString());
    if (values.device().is_cpu()) {
      broadcast_bytes(bytes_of(values), from);
    } else {
      link(values.device()).broadcast(values, from);
    }
  }

  std::vector<std::string> gather(const std::string& text) override {
    if (!is_first()) {
      std::string sent = text;
      auto size = static_cast<std::uint64_t>(sent.size());
      send(std::as_writable_bytes(std::span(&size, 1)));
      send(std::as_writable_bytes(std::span(sent)));
      return {};
    }
    std::vector<std::string> texts = {text};
    for (int from = 1; from < count_; ++from) {
      std::uint64_t size = 0;
      receive(std::as_writable_bytes(std::span(&size, 1)), from);
      std::string& received = texts.emplace_back(size, '\0');
      receive(std::as_writable_bytes(std::span(received)), from);
    }
    return texts;
  }

  void barrier() override { check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

 private:
  DeviceLink& link(const at::Device& device) {
    if (!link_) {
      link_ = make_device_link(device, rank_, count_,
                               [](std::span<std::byte> bytes) { broadcast_bytes(bytes, 0); });
    }
    return *link_;
  }

  int exceptions_ = std::uncaught_exceptions();
  int rank_ = 0;
  int count_ = 1;
  int rank_on_machine_ = 0;
  std::unique_ptr<DeviceLink> link_;
};

}  // namespace

std::unique_ptr<Ranks> join_mpi(int launched) {
  auto ranks = std::make_unique<MpiRanks>();
  SING_CHECK(ranks->count() == launched,
             "[ranks] wanted the {} processes that the launcher started, got {} connected by MPI; "
             "is it the mpirun of another MPI?",
             launched, ranks->count());
  return ranks;
}

}  // namespace sing::lab::ranks
