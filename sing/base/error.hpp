// The library's exception types. Errors of the caller throw std::invalid_argument instead.
#pragma once

#include <stdexcept>

namespace sing {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileError : Error {
  using Error::Error;
};

struct CudaError : Error {
  using Error::Error;
};

// Thrown by a step under NonFinite::kThrow. The message names the tensor; the step changed nothing.
struct NonFiniteError : Error {
  using Error::Error;
};

}  // namespace sing
