// Implements the vocabularies of bytes and of characters.
#include "lab/text/simple_vocabularies.hpp"

#include <array>
#include <set>
#include <string>
#include <unordered_map>

#include "lab/text/code_points.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

class ByteVocabulary final : public Vocabulary {
 public:
  ByteVocabulary() {
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      bytes_[byte] = static_cast<char>(byte);
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) {
      tokens.push_back(static_cast<unsigned char>(byte));
    }
    return tokens;
  }
  std::string_view bytes_of(Token token) const override {
    return {&bytes_.at(static_cast<std::size_t>(token)), 1};
  }

 private:
  std::array<char, 256> bytes_{};
};

class CharacterVocabulary final : public Vocabulary {
 public:
  explicit CharacterVocabulary(std::string_view text) {
    // UTF-8 sorts by bytes as code points sort by number.
    std::set<std::string_view> characters;
    for (std::size_t place = 0; place < text.size();) {
      const std::string_view character = text.substr(place, character_at(text, place).bytes);
      characters.insert(character);
      place += character.size();
    }
    for (const std::string_view character : characters) {
      tokens_.emplace(character, static_cast<Token>(characters_.size()));
      characters_.emplace_back(character);
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(characters_.size()); }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.size());
    for (std::size_t place = 0; place < text.size();) {
      const Character character = character_at(text, place);
      const auto found = tokens_.find(std::string(text.substr(place, character.bytes)));
      SING_CHECK(
          found != tokens_.end(),
          "[text] wanted one of the {} characters of the vocabulary, got U+{:04X} at byte {}",
          characters_.size(), character.code_point, place);
      tokens.push_back(found->second);
      place += character.bytes;
    }
    return tokens;
  }
  std::string_view bytes_of(Token token) const override {
    return characters_.at(static_cast<std::size_t>(token));
  }

 private:
  std::vector<std::string> characters_;
  std::unordered_map<std::string, Token> tokens_;
};

}  // namespace

std::unique_ptr<Vocabulary> make_byte_vocabulary() { return std::make_unique<ByteVocabulary>(); }

std::unique_ptr<Vocabulary> make_character_vocabulary(std::string_view text) {
  return std::make_unique<CharacterVocabulary>(text);
}

}  // namespace sing::lab::text
