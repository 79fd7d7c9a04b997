// Spreads codes over every number that begins with them (ITU T.81, annexes C and F.2.2).
#include "lab/image/huffman_table.hpp"

#include <algorithm>
#include <iterator>

namespace sing::lab::image {
namespace {

constexpr int kLongestCode = 16;

// `bits` begin with the code, then the value: one whose first bit is 0 is negative.
CodedValue with_value(std::uint64_t bits, int code_length, int symbol) {
  const int size = symbol & 15;
  const int zeros = symbol >> 4;
  if (size == 0) {
    return {0, zeros == 15 ? std::uint8_t{16} : HuffmanTable::kBlockEnd,
            static_cast<std::uint8_t>(code_length)};
  }
  const auto magnitude = static_cast<std::int32_t>(bits << code_length >> (64 - size));
  const bool negative = magnitude >> (size - 1) == 0;
  return {static_cast<std::int16_t>(negative ? magnitude - (1 << size) + 1 : magnitude),
          static_cast<std::uint8_t>(zeros + 1), static_cast<std::uint8_t>(code_length + size)};
}

}  // namespace

void HuffmanTable::set(const JHUFF_TBL& table) {
  if (std::ranges::equal(table.bits, table_.bits) &&
      std::ranges::equal(table.huffval, table_.huffval)) {
    return;
  }
  std::ranges::copy(table.bits, table_.bits);
  std::ranges::copy(table.huffval, table_.huffval);
  spread();
  combine();
}

void HuffmanTable::spread() {
  values_.fill({});
  std::uint32_t code = 0;
  int place = 0;
  for (int length = 1; length <= kLongestCode; ++length, code <<= 1) {
    offset_[static_cast<std::size_t>(length)] = place - static_cast<std::int32_t>(code);
    for (int i = 0; i < table_.bits[length]; ++i, ++code, ++place) {
      if (length > kLookBits) {
        continue;
      }
      const int symbol = table_.huffval[place];
      const std::size_t count = std::size_t{1} << (kLookBits - length);
      for (std::size_t number = code * count; number < (code + 1) * count; ++number) {
        const CodedValue whole =
            with_value(std::uint64_t{number} << (64 - kLookBits), length, symbol);
        values_[number] = whole.length <= kLookBits
                              ? whole
                              : CodedValue{static_cast<std::int16_t>(symbol),
                                           static_cast<std::uint8_t>(length), 0};
      }
    }
    beyond_[static_cast<std::size_t>(length)] = code << (kLongestCode - length);
  }
}

void HuffmanTable::combine() {
  for (std::size_t number = 0; number < kPlaces; ++number) {
    SeveralCodes codes;
    CodedPair pair;
    int advance = 0;
    for (int count = 0; advance < kBlockEnd; ++count) {
      const CodedValue& next = values_[number << codes.length & (kPlaces - 1)];
      if (next.length == 0 || codes.length + next.length > kLookBits) {
        break;
      }
      codes.before_last = static_cast<std::uint8_t>(advance);
      advance += next.advance;
      codes.advance = static_cast<std::uint8_t>(advance);
      codes.length = static_cast<std::uint8_t>(codes.length + next.length);
      if (count == 0) {
        pair = {next.value, next.value, next.advance, codes};
      } else if (count == 1) {
        pair.second = next.value;
        pair.codes = codes;
      }
    }
    several_[number] = codes;
    pairs_[number] = pair;
  }
}

CodedValue HuffmanTable::long_value(std::uint64_t bits, const CodedValue& found) const {
  if (found.advance != 0) {
    return with_value(bits, found.advance, found.value);
  }
  const auto number = static_cast<std::uint32_t>(bits >> (64 - kLongestCode));
  int length = kLookBits + 1;
  while (length <= kLongestCode && number >= beyond_[static_cast<std::size_t>(length)]) {
    ++length;
  }
  if (length > kLongestCode) {
    return {};
  }
  const auto code = static_cast<std::int32_t>(number >> (kLongestCode - length));
  return with_value(bits, length, table_.huffval[code + offset_[static_cast<std::size_t>(length)]]);
}

}  // namespace sing::lab::image
