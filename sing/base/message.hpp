// The check that throws a formatted message. Only .cpp files include it, so that installed headers
// do not need fmt.
#pragma once

#include <fmt/format.h>

#include "sing/base/error.hpp"

// SING_CHECK(condition, "[where] wanted …, got {}", value): throws std::invalid_argument with the
// message, which is formatted only when the condition is false.
#define SING_CHECK(condition, ...)                           \
  do {                                                       \
    if (!(condition)) {                                      \
      throw std::invalid_argument(fmt::format(__VA_ARGS__)); \
    }                                                        \
  } while (false)
