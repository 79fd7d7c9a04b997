// Prepares parallel text.
#include "lab/translation/preparation.hpp"

#include "lab/data/packed_file.hpp"
#include "lab/text/dictionary_tokenizer.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/parallel_text.hpp"
#include "lab/text/sentence_pieces.hpp"
#include "lab/translation/prepared_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::translation {
namespace {

constexpr std::uint64_t kMostTokenizerBytes = std::uint64_t{1} << 30;

void check_files(const PreparationFiles& files) {
  const bool two = !files.source.empty() && !files.target.empty();
  const bool any = !files.source.empty() || !files.target.empty();
  SING_CHECK(two != !files.pairs.empty() && two == any,
             "[data text] wanted --source and --target, or --pairs, got {}",
             files.pairs.empty() ? any ? "one of the two" : "none of them" : "both");
  const auto complete = [](const char* part, const auto& one, const auto& other) {
    SING_CHECK(one.empty() == other.empty(),
               "[data text] wanted both --{0}-source and --{0}-target or neither, got one", part);
  };
  complete("validation", files.validation_source, files.validation_target);
  complete("test", files.test_source, files.test_target);
  SING_CHECK(files.validation_source.empty() == files.test_source.empty(),
             "[data text] wanted files for both validation and test or for neither, got one");
  SING_CHECK(files.source_dictionary.empty() == files.target_dictionary.empty(),
             "[data text] wanted both --source-dictionary and --target-dictionary or neither, got "
             "one");
  SING_CHECK(files.codes.empty() || !files.source_dictionary.empty(),
             "[data text] wanted dictionaries with --codes, got none");
}

std::vector<std::string> notes_of(const text::SplitText& split) {
  return {
      fmt::format("{} pairs occur more than once and are left out after the first", split.repeated),
      fmt::format("{} pairs are left out because a part for evaluation has one of their "
                  "sentences",
                  split.kept_apart)};
}

text::SplitText read_parts(const PreparationFiles& files, const PreparationOptions& options,
                           std::vector<std::string>& notes) {
  const text::ParallelText given =
      files.pairs.empty()
          ? text::read_parallel_text(files.source, files.target)
          : text::read_parallel_table(files.pairs, options.source_column, options.target_column);
  const std::size_t count = given.size();
  text::ParallelText whole = text::without_empty_lines(given);
  notes.push_back(
      fmt::format("{} pairs are left out because a sentence is empty", count - whole.size()));
  if (files.test_source.empty()) {
    text::SplitText split = text::split_text(whole, options.validation_count, options.test_count);
    for (std::string& note : notes_of(split)) {
      notes.push_back(std::move(note));
    }
    return split;
  }
  return {.training = std::move(whole),
          .validation = text::read_parallel_text(files.validation_source, files.validation_target),
          .test = text::read_parallel_text(files.test_source, files.test_target)};
}

std::string tokenizer_content(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> content = data::read_packed(path, kMostTokenizerBytes);
  return {content.begin(), content.end()};
}

// Sets the tokenizers and returns their files.
std::vector<TokenizerFile> make_tokenizers(const PreparationFiles& files,
                                           const PreparationOptions& options,
                                           const text::ParallelText& training,
                                           PreparedText& prepared) {
  if (files.source_dictionary.empty()) {
    std::vector<std::string> lines = training.source;
    lines.insert(lines.end(), training.target.begin(), training.target.end());
    std::string model = text::train_sentence_pieces(lines, options.vocabulary);
    prepared.source_tokenizer = text::make_sentence_piece_tokenizer(model);
    prepared.target_tokenizer = prepared.source_tokenizer;
    prepared.one_vocabulary = true;
    return {{kSentencePieceFile, std::move(model)}};
  }
  std::shared_ptr<const text::BytePairCodes> codes;
  std::vector<TokenizerFile> list = {
      {kSourceDictionaryFile, tokenizer_content(files.source_dictionary)},
      {kTargetDictionaryFile, tokenizer_content(files.target_dictionary)}};
  if (!files.codes.empty()) {
    codes = std::make_shared<const text::BytePairCodes>(files.codes);
    list.push_back({kCodesFile, tokenizer_content(files.codes)});
  }
  prepared.source_tokenizer =
      text::make_dictionary_tokenizer(codes, text::Dictionary(files.source_dictionary));
  prepared.target_tokenizer =
      text::make_dictionary_tokenizer(codes, text::Dictionary(files.target_dictionary));
  return list;
}

bool is_too_long(const PreparationOptions& options, std::size_t source, std::size_t target) {
  const auto shorter = static_cast<double>(std::min(source, target));
  const auto longer = static_cast<double>(std::max(source, target));
  return longer > static_cast<double>(options.max_pieces) || shorter == 0 ||
         (options.max_ratio > 0 && longer > options.max_ratio * shorter);
}

void encode_training(const PreparationOptions& options, const text::ParallelText& part,
                     PreparedText& prepared, std::vector<std::string>& notes) {
  std::int64_t too_long = 0;
  for (std::size_t pair = 0; pair < part.size(); ++pair) {
    const std::vector<Piece> source = prepared.source_tokenizer->encode(part.source[pair]);
    const std::vector<Piece> target = prepared.target_tokenizer->encode(part.target[pair]);
    if (is_too_long(options, source.size(), target.size())) {
      ++too_long;
      continue;
    }
    prepared.training.source.add(source);
    prepared.training.target.add(target);
  }
  notes.push_back(
      fmt::format("{} training pairs are left out because of max_pieces or max_ratio", too_long));
  SING_CHECK(prepared.training.count() > 0,
             "[data text] wanted training pairs of at most {} pieces, got none",
             options.max_pieces);
}

// A reference is the text of its line: segmented lines are put together again.
void encode_part(const text::ParallelText& part, bool is_segmented, const PreparedText& prepared,
                 EncodedPairs& pairs) {
  for (std::size_t pair = 0; pair < part.size(); ++pair) {
    pairs.source.add(prepared.source_tokenizer->encode(part.source[pair]));
    pairs.target.add(prepared.target_tokenizer->encode(part.target[pair]));
    pairs.references.push_back(is_segmented ? text::join_pieces(part.target[pair])
                                            : part.target[pair]);
  }
}

}  // namespace

PreparationSummary prepare_text(const PreparationFiles& files, const PreparationOptions& options,
                                const std::filesystem::path& out) {
  validate(options, "data text");
  check_files(files);
  PreparationSummary summary;
  const text::SplitText parts = read_parts(files, options, summary.notes);
  PreparedText prepared;
  const std::vector<TokenizerFile> tokenizers =
      make_tokenizers(files, options, parts.training, prepared);
  encode_training(options, parts.training, prepared, summary.notes);
  const bool is_segmented = !files.source_dictionary.empty() && files.codes.empty();
  encode_part(parts.validation, is_segmented, prepared, prepared.validation);
  encode_part(parts.test, is_segmented, prepared, prepared.test);
  summary.digest = write_prepared_text(out, prepared, tokenizers, summary.notes);
  summary.training = prepared.training.count();
  summary.validation = prepared.validation.count();
  summary.test = prepared.test.count();
  summary.source_pieces = prepared.source_tokenizer->size();
  summary.target_pieces = prepared.target_tokenizer->size();
  return summary;
}

}  // namespace sing::lab::translation
