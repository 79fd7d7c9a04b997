// Writes and reads prepared text.
#include "lab/translation/prepared_text.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "lab/data/packed_file.hpp"
#include "lab/data/sha256.hpp"
#include "lab/text/dictionary_tokenizer.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/sentence_pieces.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"
#include "sing/io/safetensors.hpp"

namespace sing::lab::translation {
namespace {

constexpr const char* kFormat = "sing parallel text 1";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;

struct Part {
  const char* name;
  EncodedPairs PreparedText::* pairs;
  const char* references;  // file; null for the training part
};
constexpr Part kParts[] = {{"training", &PreparedText::training, nullptr},
                           {"validation", &PreparedText::validation, "validation.target.txt"},
                           {"test", &PreparedText::test, "test.target.txt"}};

std::string sha256_of(std::string_view content) {
  return data::hexadecimal(data::sha256(std::as_bytes(std::span(content))));
}

std::string content_of(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> content = data::read_packed(path, kMostBytes);
  return {content.begin(), content.end()};
}

// Tensors "<part>.<side>" with all pieces and "<part>.<side>.ends", int64.
std::string pairs_content(const PreparedText& prepared) {
  std::map<std::string, std::vector<std::int64_t>> numbers;
  for (const Part& part : kParts) {
    const EncodedPairs& pairs = prepared.*part.pairs;
    for (const auto& [side, sentences] :
         {std::pair{"source", &pairs.source}, {"target", &pairs.target}}) {
      const std::string name = fmt::format("{}.{}", part.name, side);
      numbers[name] = {sentences->pieces().begin(), sentences->pieces().end()};
      numbers[name + ".ends"] = sentences->ends();
    }
  }
  std::vector<TensorBytes> tensors;
  for (const auto& [name, values] : numbers) {
    tensors.push_back({{name, Dtype::kInt64, {static_cast<std::int64_t>(values.size())}},
                       reinterpret_cast<const std::byte*>(values.data())});
  }
  return format_safetensors({}, tensors);
}

std::vector<std::int64_t> read_numbers(const SafetensorsReader& reader, const std::string& name) {
  const TensorEntry* const entry = reader.find(name);
  if (entry == nullptr || entry->dtype != Dtype::kInt64 || entry->shape.size() != 1) {
    throw FileError(
        fmt::format("[translation] '{}': wanted int64 numbers '{}', got none", kPairsFile, name));
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(entry->shape[0]));
  reader.read(*entry, reinterpret_cast<std::byte*>(numbers.data()));
  return numbers;
}

EncodedSentences read_sentences(const SafetensorsReader& reader, const std::string& name,
                                std::int64_t vocabulary) {
  const std::vector<std::int64_t> numbers = read_numbers(reader, name);
  const auto fail = [&](const char* what) {
    throw FileError(fmt::format("[translation] '{}': wanted {} in '{}'", kPairsFile, what, name));
  };
  EncodedSentences sentences;
  std::int64_t begin = 0;
  for (const std::int64_t end : read_numbers(reader, name + ".ends")) {
    if (end <= begin || end > static_cast<std::int64_t>(numbers.size())) {
      fail("ends of sentences in their order");
    }
    std::vector<Piece> pieces;
    for (std::int64_t place = begin; place < end; ++place) {
      const std::int64_t number = numbers[static_cast<std::size_t>(place)];
      if (number < 0 || number >= vocabulary) {
        fail("numbers of the vocabulary's pieces");
      }
      pieces.push_back(static_cast<Piece>(number));
    }
    if (pieces.back() != text::kEnd) {
      fail("</s> at the end of each sentence");
    }
    pieces.pop_back();
    sentences.add(pieces);
    begin = end;
  }
  return sentences;
}

nlohmann::json read_index(const std::filesystem::path& folder, std::string& content) {
  const std::filesystem::path path = folder / kIndexFile;
  SING_CHECK(std::filesystem::is_regular_file(path),
             "[translation] wanted a folder made by `sing data text` (--data FOLDER), got '{}'; "
             "without data: --stand-in trains on a generated pair of languages",
             folder.string());
  content = content_of(path);
  nlohmann::json index = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
  SING_CHECK(index.is_object() && index.value("format", "") == kFormat && index.contains("files") &&
                 index["files"].is_object(),
             "[translation] wanted an index of the format '{}', got '{}'", kFormat, path.string());
  return index;
}

void check_files(const std::filesystem::path& folder, const nlohmann::json& index) {
  for (const auto& [name, wanted] : index["files"].items()) {
    const std::string found = sha256_of(content_of(folder / name));
    if (wanted != found) {
      throw FileError(fmt::format("[translation] '{}': wanted SHA-256 {}, got {}",
                                  (folder / name).string(), wanted.dump(), found));
    }
  }
}

}  // namespace

void EncodedSentences::add(std::span<const Piece> pieces) {
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  pieces_.push_back(text::kEnd);
  ends_.push_back(static_cast<std::int64_t>(pieces_.size()));
}

std::span<const Piece> EncodedSentences::sentence(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  const std::int64_t begin = place == 0 ? 0 : ends_[place - 1];
  return std::span(pieces_).subspan(static_cast<std::size_t>(begin),
                                    static_cast<std::size_t>(ends_[place] - begin));
}

void load_tokenizers(const std::filesystem::path& folder, PreparedText& prepared) {
  if (std::filesystem::exists(folder / kSentencePieceFile)) {
    prepared.source_tokenizer =
        text::make_sentence_piece_tokenizer(content_of(folder / kSentencePieceFile));
    prepared.target_tokenizer = prepared.source_tokenizer;
    prepared.one_vocabulary = true;
    return;
  }
  std::shared_ptr<const text::BytePairCodes> codes;
  if (std::filesystem::exists(folder / kCodesFile)) {
    codes = std::make_shared<const text::BytePairCodes>(folder / kCodesFile);
  }
  const text::Dictionary source(folder / kSourceDictionaryFile);
  const text::Dictionary target(folder / kTargetDictionaryFile);
  prepared.one_vocabulary = source.text() == target.text();
  prepared.source_tokenizer = text::make_dictionary_tokenizer(codes, source);
  prepared.target_tokenizer = text::make_dictionary_tokenizer(codes, target);
}

std::string write_prepared_text(const std::filesystem::path& folder, const PreparedText& prepared,
                                const std::vector<TokenizerFile>& files,
                                const std::vector<std::string>& notes) {
  std::filesystem::create_directories(folder);
  nlohmann::json hashes = nlohmann::json::object();
  const auto write = [&](const std::string& name, const std::string& content) {
    replace_file(folder / name, content);
    hashes[name] = sha256_of(content);
  };
  nlohmann::json counts = nlohmann::json::object();
  for (const TokenizerFile& file : files) {
    write(file.name, file.content);
  }
  write(kPairsFile, pairs_content(prepared));
  for (const Part& part : kParts) {
    const EncodedPairs& pairs = prepared.*part.pairs;
    counts[part.name] = pairs.count();
    if (part.references != nullptr) {
      std::string lines;
      for (const std::string& reference : pairs.references) {
        lines += reference + "\n";
      }
      write(part.references, lines);
    }
  }
  const nlohmann::json index = {{"format", kFormat},
                                {"pairs", counts},
                                {"source_pieces", prepared.source_tokenizer->size()},
                                {"target_pieces", prepared.target_tokenizer->size()},
                                {"notes", notes},
                                {"files", hashes}};
  const std::string content = index.dump(2) + "\n";
  replace_file(folder / kIndexFile, content);
  return sha256_of(content);
}

PreparedText read_prepared_text(const std::filesystem::path& folder) {
  std::string content;
  const nlohmann::json index = read_index(folder, content);
  check_files(folder, index);
  PreparedText prepared;
  prepared.digest = sha256_of(content);
  load_tokenizers(folder, prepared);
  const SafetensorsReader reader(folder / kPairsFile);
  for (const Part& part : kParts) {
    EncodedPairs& pairs = prepared.*part.pairs;
    pairs.source = read_sentences(reader, fmt::format("{}.source", part.name),
                                  prepared.source_tokenizer->size());
    pairs.target = read_sentences(reader, fmt::format("{}.target", part.name),
                                  prepared.target_tokenizer->size());
    if (part.references != nullptr) {
      pairs.references = text::read_lines(folder / part.references);
    }
    const auto references = static_cast<std::int64_t>(pairs.references.size());
    if (pairs.source.count() != pairs.target.count() ||
        (part.references != nullptr && references != pairs.count())) {
      throw FileError(fmt::format(
          "[translation] '{}': wanted as many sentences as translations of "
          "the {} part, got {}, {} and {} references",
          folder.string(), part.name, pairs.source.count(), pairs.target.count(), references));
    }
  }
  return prepared;
}

}  // namespace sing::lab::translation
