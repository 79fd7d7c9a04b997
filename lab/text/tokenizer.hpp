// Defines the interface of tokenizers: text to numbers of pieces, and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

using Piece = std::int32_t;

// The pieces that every vocabulary begins with, in fairseq's order.
enum SpecialPiece : Piece { kBegin, kPadding, kEnd, kUnknown, kSpecialPieces };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t size() const = 0;  // number of pieces, special ones included

  // Returns the pieces of a line, without kBegin and kEnd.
  virtual std::vector<Piece> encode(std::string_view line) const = 0;

  // Returns the text of pieces; kBegin, kPadding and kEnd have none.
  virtual std::string decode(std::span<const Piece> pieces) const = 0;
};

}  // namespace sing::lab::text
