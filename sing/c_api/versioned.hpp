// Structs that begin with the size their caller knows: older and newer ones than ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "sing/base/message.hpp"

namespace sing::c_api {

// Rules a size must obey wherever it came from: `required` is what even the first version had.
template <class Struct>
void check_struct_size(std::size_t size, std::size_t required, std::string_view where) {
  SING_CHECK(
      size >= required && size % alignof(Struct) == 0,
      "[{}] wanted struct_size to be sizeof the struct, at least {} and a multiple of {}, got {}",
      where, required, alignof(Struct), size);
}

// A struct of any version as ours. Missing fields stay zero, their default; a field of a later
// version that asks for something is refused, since ignoring it would be doing something else.
template <class Struct>
Struct read_struct(const Struct* given, std::size_t required, std::string_view where) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  SING_CHECK(given != nullptr, "[{}] wanted a struct, got a null pointer", where);
  const std::size_t size = given->struct_size;
  check_struct_size<Struct>(size, required, where);
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  const bool tail_is_zero = std::all_of(bytes + std::min(size, sizeof(Struct)), bytes + size,
                                        [](std::byte each) { return each == std::byte{0}; });
  SING_CHECK(tail_is_zero,
             "[{}] a field beyond the {} bytes this version knows is set, in a struct of {} bytes",
             where, sizeof(Struct), size);
  Struct ours{};
  std::memcpy(&ours, bytes, std::min(size, sizeof(Struct)));
  return ours;
}

// Fills a caller's struct of any version from ours, keeping its struct_size.
template <class Struct>
void write_struct(Struct* given, Struct ours, std::size_t required, std::string_view where) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  SING_CHECK(given != nullptr, "[{}] wanted a struct to fill in, got a null pointer", where);
  const std::size_t size = given->struct_size;
  check_struct_size<Struct>(size, required, where);
  ours.struct_size = size;
  auto* bytes = reinterpret_cast<std::byte*>(given);
  std::fill(bytes, bytes + size, std::byte{0});
  std::memcpy(bytes, &ours, std::min(size, sizeof(Struct)));
}

// What fields up to and including `member` take; a size that all versions share.
#define SING_SIZE_THROUGH(Struct, member) (offsetof(Struct, member) + sizeof(Struct::member))

}  // namespace sing::c_api
