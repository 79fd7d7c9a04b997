// The error of a file that the operating system refuses.
#pragma once

#include <string>

#include "sing/base/error.hpp"

namespace sing {

struct SystemFileError : FileError {
  SystemFileError(const std::string& message, int error_number)
      : FileError(message), number(error_number) {}

  int number;  // the value of errno
};

}  // namespace sing
