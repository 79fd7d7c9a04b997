// A Huffman table of a JPEG file, spread out so that one look gives a whole coefficient.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>
//
#include <jpeglib.h>

namespace sing::lab::image {

// A code and the bits of the value that follow it.
struct CodedValue {
  std::int16_t value = 0;
  std::uint8_t advance =
      0;                    // places in the block: zeros and the value itself; at its end kBlockEnd
  std::uint8_t length = 0;  // bits in all, at most 31
};

// As many whole codes as one look shows. Only to be used where `before_last` places do not end the
// block, for what is behind its end are another block's codes.
struct SeveralCodes {
  std::uint8_t before_last = 64;  // places of all codes but the last; 64 where there is no code
  std::uint8_t advance = 0;
  std::uint8_t length = 0;
};

// One or two of them with their values. One counts as both: it is written twice.
struct CodedPair {
  std::int16_t first = 0;
  std::int16_t second = 0;
  std::uint8_t first_advance = 0;
  SeveralCodes codes;
};

class HuffmanTable {
 public:
  static constexpr int kLookBits = 11;
  static constexpr std::uint8_t kBlockEnd = 64;

  // Does nothing where the table is as it was. libjpeg has checked it.
  void set(const JHUFF_TBL& table);

  // `bits` are the next 64; `length` of what is returned is 0 where they are no code.
  CodedValue value(std::uint64_t bits) const {
    const CodedValue found = values_[bits >> (64 - kLookBits)];
    return found.length != 0 ? found : long_value(bits, found);
  }
  CodedPair pair(std::uint64_t bits) const { return pairs_[bits >> (64 - kLookBits)]; }
  SeveralCodes several(std::uint64_t bits) const { return several_[bits >> (64 - kLookBits)]; }

 private:
  static constexpr std::size_t kPlaces = std::size_t{1} << kLookBits;

  void spread();
  void combine();
  CodedValue long_value(std::uint64_t bits, const CodedValue& found) const;

  JHUFF_TBL table_{};
  // Where code and value together are too long: length 0, the code's length in `advance` and its
  // symbol in `value`; where the code alone is too long all are 0.
  std::array<CodedValue, kPlaces> values_{};
  std::array<CodedPair, kPlaces> pairs_{};
  std::array<SeveralCodes, kPlaces> several_{};
  // For codes of each length, the first number, of 16 bits, that is not one of them or a shorter
  // one, and what a code's place among the symbols is beyond the code itself.
  std::array<std::uint32_t, 17> beyond_{};
  std::array<std::int32_t, 17> offset_{};
};

}  // namespace sing::lab::image
