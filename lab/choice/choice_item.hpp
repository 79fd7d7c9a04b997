// Defines a question with four answers, of which one is right.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sing::lab::choice {

inline constexpr std::size_t kEndings = 4;

// The encoder reads the context as the first text and `begin` with an ending as the second.
struct ChoiceItem {
  std::string context;
  std::string begin;  // first words of the sentence that the endings complete; may be empty
  std::array<std::string, kEndings> endings;
  std::int64_t right;  // place of the right ending

  bool operator==(const ChoiceItem&) const = default;
};

}  // namespace sing::lab::choice
