// The exception types and the check that throws them with a message "[where] wanted, given".
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace sing {

// Root of the errors that are not the caller's mistake; those are std::invalid_argument.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileError : Error {
  using Error::Error;
};

struct CudaError : Error {
  using Error::Error;
};

// Thrown by a step under NonFinite::kThrow: names the tensor; nothing was changed.
struct NonFiniteError : Error {
  using Error::Error;
};

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());  // a user's locale must not change numbers
  stream.precision(17);
  (stream << ... << parts);
  return stream.str();
}

}  // namespace sing

// The message is built only when the condition fails.
#define SING_CHECK(condition, ...)                            \
  do {                                                        \
    if (!(condition)) {                                       \
      throw std::invalid_argument(sing::concat(__VA_ARGS__)); \
    }                                                         \
  } while (false)
