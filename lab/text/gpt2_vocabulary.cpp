// Reads the merges and applies them to words, the merge of the lowest rank first.
#include "lab/text/gpt2_vocabulary.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "lab/data/open_file.hpp"
#include "lab/text/code_points.hpp"
#include "lab/text/gpt2_words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

// The files write every byte as a printable character: 188 bytes as the character of their number,
// the others as U+0100, U+0101, … in their order.
class ByteCharacters {
 public:
  ByteCharacters() {
    bytes_.fill(kNone);
    std::size_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_printable =
          (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      bytes_.at(is_printable ? static_cast<std::size_t>(byte) : next++) =
          static_cast<std::int16_t>(byte);
    }
  }

  // Returns the bytes that a text of such characters stands for.
  std::string bytes_of(std::string_view characters, const std::string& where) const {
    std::string bytes;
    for (std::size_t place = 0; place < characters.size();) {
      const Character character = character_at(characters, place);
      const auto number = static_cast<std::size_t>(character.code_point);
      SING_CHECK(number < bytes_.size() && bytes_[number] != kNone,
                 "[{}] wanted characters that stand for bytes, got U+{:04X} in '{}'", where, number,
                 characters);
      bytes += static_cast<char>(bytes_[number]);
      place += character.bytes;
    }
    return bytes;
  }

 private:
  static constexpr std::int16_t kNone = -1;
  std::array<std::int16_t, 0x144> bytes_{};
};

using Pair = std::pair<Token, Token>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return std::hash<std::uint64_t>{}(std::uint64_t{static_cast<std::uint32_t>(pair.first)} << 32 |
                                      static_cast<std::uint32_t>(pair.second));
  }
};

struct Merge {
  std::int32_t rank;
  Token result;
};

std::ifstream open(const std::filesystem::path& path) {
  std::ifstream stream = data::open_file(path);
  if (!stream) {
    throw FileError(fmt::format(
        "[{}] cannot be read: wanted a folder with GPT-2's encoder.json and vocab.bpe, or with "
        "vocab.json and merges.txt",
        path.string()));
  }
  return stream;
}

class Gpt2Vocabulary final : public Vocabulary {
 public:
  explicit Gpt2Vocabulary(const std::filesystem::path& folder) {
    std::error_code error;
    const bool official = !std::filesystem::exists(folder / "vocab.json", error);
    read_tokens(folder / (official ? "encoder.json" : "vocab.json"));
    read_merges(folder / (official ? "vocab.bpe" : "merges.txt"));
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }

  std::vector<Token> encode(std::string_view text) const override {
    std::unordered_map<std::string_view, std::vector<Token>> known;  // most words occur often
    std::vector<Token> tokens;
    tokens.reserve(text.size() / 3);
    for (const std::string_view word : gpt2_words(text)) {
      auto found = known.find(word);
      if (found == known.end()) {
        found = known.emplace(word, merged(word)).first;
      }
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    }
    return tokens;
  }

  std::string_view bytes_of(Token token) const override {
    return bytes_.at(static_cast<std::size_t>(token));
  }

 private:
  void read_tokens(const std::filesystem::path& path) {
    std::ifstream stream = open(path);
    const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
    SING_CHECK(json.is_object() && !json.empty(), "[{}] wanted a JSON object, got none",
               path.string());
    bytes_.resize(json.size());
    std::vector<bool> given(json.size());
    for (const auto& [characters, number] : json.items()) {
      const std::int64_t token = number.is_number_integer() ? number.get<std::int64_t>() : -1;
      const bool is_new = token >= 0 && token < size() && !given[static_cast<std::size_t>(token)];
      SING_CHECK(is_new, "[{}] wanted every number from 0 to {} once, got {} for '{}'",
                 path.string(), size() - 1, number.dump(), characters);
      given[static_cast<std::size_t>(token)] = true;
      std::string bytes = characters_.bytes_of(characters, path.string());
      tokens_.emplace(bytes, static_cast<Token>(token));
      bytes_[static_cast<std::size_t>(token)] = std::move(bytes);
    }
    for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
      byte_tokens_[byte] = token_of(std::string(1, static_cast<char>(byte)), path.string());
    }
  }

  void read_merges(const std::filesystem::path& path) {
    std::ifstream stream = open(path);
    const std::string where = path.string();
    std::int32_t rank = 0;
    for (std::string line; std::getline(stream, line);) {
      if (line.empty() || (rank == 0 && line.starts_with("#version"))) {
        continue;
      }
      const std::size_t space = line.find(' ');
      SING_CHECK(space != std::string::npos && line.find(' ', space + 1) == std::string::npos,
                 "[{}] wanted lines of two tokens, got '{}'", where, line);
      const std::string left = characters_.bytes_of(line.substr(0, space), where);
      const std::string right = characters_.bytes_of(line.substr(space + 1), where);
      merges_.emplace(Pair(token_of(left, where), token_of(right, where)),
                      Merge{rank++, token_of(left + right, where)});
    }
    SING_CHECK(rank > 0, "[{}] wanted lines of two tokens, got none", where);
  }

  Token token_of(const std::string& bytes, const std::string& where) const {
    const auto found = tokens_.find(bytes);
    SING_CHECK(found != tokens_.end(), "[{}] wanted one of the tokens, got '{}'", where,
               valid_utf8(bytes));
    return found->second;
  }

  // A queue holds the possible merges. One whose tokens have been merged otherwise since is
  // skipped.
  std::vector<Token> merged(std::string_view word) const {
    struct Part {
      Token token;
      std::size_t before, after;  // neighbors
    };
    struct Candidate {
      std::int32_t rank;
      std::size_t left, right;
      Pair pair;
      bool operator>(const Candidate& other) const {
        return std::pair(rank, left) > std::pair(other.rank, other.left);
      }
    };
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    constexpr Token kGone = -1;
    std::vector<Part> parts(word.size());
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto consider = [&](std::size_t left, std::size_t right) {
      if (left != kNone && right != kNone) {
        const Pair pair(parts[left].token, parts[right].token);
        if (const auto merge = merges_.find(pair); merge != merges_.end()) {
          queue.push({merge->second.rank, left, right, pair});
        }
      }
    };
    for (std::size_t at = 0; at < word.size(); ++at) {
      parts[at] = {byte_tokens_[static_cast<unsigned char>(word[at])], at == 0 ? kNone : at - 1,
                   at + 1 == word.size() ? kNone : at + 1};
    }
    for (std::size_t at = 0; at + 1 < word.size(); ++at) {
      consider(at, at + 1);
    }
    while (!queue.empty()) {
      const Candidate next = queue.top();
      queue.pop();
      Part& left = parts[next.left];
      Part& right = parts[next.right];
      if (Pair(left.token, right.token) != next.pair || left.after != next.right) {
        continue;
      }
      left.token = merges_.at(next.pair).result;
      left.after = right.after;
      right.token = kGone;
      if (left.after != kNone) {
        parts[left.after].before = next.left;
      }
      consider(left.before, next.left);
      consider(next.left, left.after);
    }
    std::vector<Token> tokens;
    for (const Part& part : parts) {
      if (part.token != kGone) {
        tokens.push_back(part.token);
      }
    }
    return tokens;
  }

  ByteCharacters characters_;
  std::vector<std::string> bytes_;  // one entry per token
  std::unordered_map<std::string, Token> tokens_;
  std::array<Token, 256> byte_tokens_{};
  std::unordered_map<Pair, Merge, PairHash> merges_;
};

}  // namespace

std::unique_ptr<Vocabulary> make_gpt2_vocabulary(const std::filesystem::path& folder) {
  return std::make_unique<Gpt2Vocabulary>(folder);
}

}  // namespace sing::lab::text
