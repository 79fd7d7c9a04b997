// Keeps exceptions inside the library: each C function runs its body under guarded().
#pragma once

#include <string_view>

#include "sing/base/message.hpp"
#include "sing/c_api/sing.h"

namespace sing::c_api {

// Returns the status of the exception that is being handled, and keeps its message as the thread's
// last error. Call it in a catch block.
sing_status record_exception() noexcept;

template <class Body>
sing_status guarded(Body&& body) noexcept {
  try {
    body();
    return SING_OK;
  } catch (...) {
    return record_exception();
  }
}

// `function` is the C function's name without its prefix.
template <class Type>
Type& required(Type* pointer, std::string_view function, std::string_view argument) {
  SING_CHECK(pointer != nullptr, "[{}] wanted {}, got a null pointer", function, argument);
  return *pointer;
}

}  // namespace sing::c_api
