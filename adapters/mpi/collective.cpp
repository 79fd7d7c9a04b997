// Cuts long vectors into pieces, because MPI counts elements by an int.
#include "adapters/mpi/collective.hpp"

#include <algorithm>
#include <cstddef>

#include "sing/base/error.hpp"
#include "sing/base/message.hpp"

namespace sing::mpi {
namespace {

constexpr std::size_t kLargestPiece = std::size_t{1} << 30;

template <class T>
void sum_pieces(std::span<T> values, MPI_Datatype type, MPI_Comm communicator) {
  while (!values.empty()) {
    const std::span<T> piece = values.first(std::min(values.size(), kLargestPiece));
    check(MPI_Allreduce(MPI_IN_PLACE, piece.data(), static_cast<int>(piece.size()), type, MPI_SUM,
                        communicator),
          "MPI_Allreduce");
    values = values.subspan(piece.size());
  }
}

}  // namespace

void check(int result, std::string_view call) {
  if (result == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(fmt::format("[mpi] wanted {} to succeed, got {}", call, text));
}

void sum(std::span<double> values, MPI_Comm communicator) {
  sum_pieces(values, MPI_DOUBLE, communicator);
}

void sum(std::span<float> values, MPI_Comm communicator) {
  sum_pieces(values, MPI_FLOAT, communicator);
}

}  // namespace sing::mpi
