// Structs that begin with their size in the caller's version, which may be older or newer than
// ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "sing/base/message.hpp"

namespace sing::c_api {

// No version of a struct will be larger. The bound keeps a struct_size that was never set from
// reading or writing beyond the caller's memory.
constexpr std::size_t kLargestStruct = 1024;

// Checks the size of a caller's struct; `required` is the size of its first version.
template <class Struct>
void check_struct_size(std::size_t size, std::size_t required, std::string_view where) {
  static_assert(sizeof(Struct) <= kLargestStruct);
  SING_CHECK(size >= required && size <= kLargestStruct && size % alignof(Struct) == 0,
             "[{}] wanted struct_size to be sizeof the struct, from {} to {} and a multiple of {}, "
             "got {}",
             where, required, kLargestStruct, alignof(Struct), size);
}

// Reads a struct of any version. Missing fields are zero, their default. A nonzero field of a later
// version is refused, because ignoring it would change the call's meaning.
template <class Struct>
Struct read_struct(const Struct* given, std::size_t required, std::string_view where) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  SING_CHECK(given != nullptr, "[{}] wanted a struct, got a null pointer", where);
  const std::size_t size = given->struct_size;
  check_struct_size<Struct>(size, required, where);
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  const bool tail_is_zero = std::all_of(bytes + std::min(size, sizeof(Struct)), bytes + size,
                                        [](std::byte each) { return each == std::byte{0}; });
  SING_CHECK(
      tail_is_zero,
      "[{}] wanted zeros after the {} bytes of this version, got other values in a struct of "
      "{} bytes",
      where, sizeof(Struct), size);
  Struct ours{};
  std::memcpy(&ours, bytes, std::min(size, sizeof(Struct)));
  return ours;
}

// Fills a caller's struct of any version. Its struct_size does not change.
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

// The size of the fields up to and including `member`.
#define SING_SIZE_THROUGH(Struct, member) (offsetof(Struct, member) + sizeof(Struct::member))

}  // namespace sing::c_api
