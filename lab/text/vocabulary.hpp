// Defines the interface of vocabularies: text as numbers of tokens, and back without loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::text {

using Token = std::int32_t;

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual std::int64_t size() const = 0;
  // Decoding the result gives the same bytes. Throws std::invalid_argument for text that the
  // vocabulary has no tokens for.
  virtual std::vector<Token> encode(std::string_view text) const = 0;
  // Returns the bytes of a token 0 … size − 1. A token may be a part of a UTF-8 character.
  virtual std::string_view bytes_of(Token token) const = 0;

  std::string decode(std::span<const Token> tokens) const {
    std::string text;
    for (const Token token : tokens) {
      text += bytes_of(token);
    }
    return text;
  }
};

}  // namespace sing::lab::text
