// Keeps exceptions inside the library: each C function runs its body under guarded().
#pragma once

#include <string_view>

#include "sing/base/message.hpp"
#include "sing/c_api/sing.h"

namespace sing::c_api {

// The status that stands for the exception being handled, whose message becomes the last error of
// this thread. Call it in a catch block.
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
