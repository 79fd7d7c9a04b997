// Reads bits from the first of a byte to the last, up to 56 after each refill.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sing::lab::image {

class BitReader {
 public:
  // Bytes that must be readable behind the end: those of a refill, and of a block of 64 codes and
  // values of 31 bits that was begun before it.
  static constexpr std::size_t kBehind = 8 + 64 * 4;

  BitReader() = default;
  BitReader(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

  void refill() {
    std::uint64_t word;
    std::memcpy(&word, next_, sizeof(word));
    if constexpr (std::endian::native == std::endian::little) {
      word = __builtin_bswap64(word);
    }
    bits_ |= word >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  // The next bits, the first of them the highest.
  std::uint64_t bits() const { return bits_; }
  void drop(int count) {
    bits_ <<= count;
    count_ -= count;
  }
  // Whether more was read than there is.
  bool is_past_end() const { return 8 * (next_ - end_) > count_; }

 private:
  const std::uint8_t* next_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint64_t bits_ = 0;
  int count_ = 0;  // bits that are certain; those below them are right too, and read again
};

}  // namespace sing::lab::image
