// Checks `sing data text`: what it writes, that it writes it again, what it refuses.
#include "lab/translation/preparation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lab/text/words.hpp"
#include "lab/translation/prepared_text.hpp"
#include "lab/translation/stand_in.hpp"
#include "sing/base/message.hpp"
#include "tests/lab/main/run_words.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::translation {
namespace {

using test::message_of;
using test::read_whole;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A table of 60 pairs of different sentences.
std::string table() {
  std::string lines;
  for (const char* noun : {"Hund", "Vogel", "Käfer", "Fluß", "Baum"}) {
    for (const char* verb : {"sieht", "hört", "findet", "malt"}) {
      for (const char* thing : {"Haus", "Bild", "Tor"}) {
        lines += fmt::format("Der {} {} das {}.\tthe {}s {} of {}\n", noun, verb, thing, thing,
                             verb, noun);
      }
    }
  }
  return lines;
}

constexpr PreparationOptions kSmall = {.vocabulary = 70, .validation_count = 4, .test_count = 6};

TEST(Preparation, EncodedSentencesAreTheTextOfTheirReferences) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", table());
  const PreparationSummary summary =
      prepare_text({.pairs = folder / "table"}, kSmall, folder / "out");
  const PreparedText text = read_prepared_text(folder / "out");
  EXPECT_EQ(text.digest, summary.digest);
  EXPECT_TRUE(text.one_vocabulary);
  EXPECT_EQ(text.source_tokenizer->size(), 70);
  EXPECT_EQ(text.training.count(), summary.training);
  EXPECT_EQ(text.validation.count(), 4);
  ASSERT_EQ(text.test.count(), 6);
  for (std::int64_t number = 0; number < 6; ++number) {
    EXPECT_EQ(text.target_tokenizer->decode(text.test.target.sentence(number)),
              text.test.references[static_cast<std::size_t>(number)]);
    EXPECT_THAT(table(),
                HasSubstr(text.source_tokenizer->decode(text.test.source.sentence(number)) + "\t" +
                          text.test.references[static_cast<std::size_t>(number)]));
  }
}

TEST(Preparation, PreparingAgainWritesTheSameBytes) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", table());
  for (const char* out : {"one", "two"}) {
    prepare_text({.pairs = folder / "table"}, kSmall, folder / out);
  }
  for (const char* name : {kIndexFile, kPairsFile, kSentencePieceFile, "test.target.txt"}) {
    EXPECT_EQ(read_whole(folder / "one" / name), read_whole(folder / "two" / name)) << name;
  }
}

TEST(Preparation, TheTokenizerLearnsFromTheTrainingPartAlone) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", table());
  prepare_text({.pairs = folder / "table"}, kSmall, folder / "out");
  const PreparedText text = read_prepared_text(folder / "out");
  PreparationFiles files;
  const auto write_part = [&](const EncodedPairs& part, const char* name) {
    std::string source;
    std::string target;
    for (std::int64_t number = 0; number < part.count(); ++number) {
      source += text.source_tokenizer->decode(part.source.sentence(number)) + "\n";
      target += text.target_tokenizer->decode(part.target.sentence(number)) + "\n";
    }
    write_whole(folder / (std::string(name) + ".source"), source);
    write_whole(folder / (std::string(name) + ".target"), target);
  };
  write_part(text.training, "train");
  write_part(text.test, "test");
  prepare_text({.source = folder / "train.source",
                .target = folder / "train.target",
                .validation_source = folder / "test.source",
                .validation_target = folder / "test.target",
                .test_source = folder / "test.source",
                .test_target = folder / "test.target"},
               kSmall, folder / "again");
  EXPECT_EQ(read_whole(folder / "again" / kSentencePieceFile),
            read_whole(folder / "out" / kSentencePieceFile));
}

TEST(Preparation, CodesAndDictionariesOfFairseqAreUsedAsTheyAre) {
  const test::TemporaryFolder folder;
  write_whole(folder / "code", "#version: 0.2\nl o\ne r</w>\n");
  write_whole(folder / "dict.de", "lo@@ 9\nw@@ 5\ner 3\n");
  write_whole(folder / "dict.en", "b 2\na 1\n");
  write_whole(folder / "de", "lower er\n");
  write_whole(folder / "en", "a b c\n");
  const PreparationFiles files = {.source = folder / "de",
                                  .target = folder / "en",
                                  .validation_source = folder / "de",
                                  .validation_target = folder / "en",
                                  .test_source = folder / "de",
                                  .test_target = folder / "en",
                                  .codes = folder / "code",
                                  .source_dictionary = folder / "dict.de",
                                  .target_dictionary = folder / "dict.en"};
  prepare_text(files, {}, folder / "out");
  const PreparedText text = read_prepared_text(folder / "out");
  EXPECT_FALSE(text.one_vocabulary);
  const auto pieces = [](const EncodedSentences& part) {
    return std::vector<Piece>(part.sentence(0).begin(), part.sentence(0).end());
  };
  EXPECT_THAT(pieces(text.training.source), ElementsAre(4, 5, 6, 6, text::kEnd));
  EXPECT_THAT(pieces(text.test.target), ElementsAre(5, 4, text::kUnknown, text::kEnd));
  EXPECT_THAT(text.test.references, ElementsAre("a b c"));
}

TEST(Preparation, TextThatIsAlreadySegmentedHasJoinedReferences) {
  const test::TemporaryFolder folder;
  write_whole(folder / "dict", "lo@@ 9\nwer 5\n");
  write_whole(folder / "de", "lo@@ wer\n");
  prepare_text({.source = folder / "de",
                .target = folder / "de",
                .validation_source = folder / "de",
                .validation_target = folder / "de",
                .test_source = folder / "de",
                .test_target = folder / "de",
                .source_dictionary = folder / "dict",
                .target_dictionary = folder / "dict"},
               {}, folder / "out");
  const PreparedText text = read_prepared_text(folder / "out");
  EXPECT_TRUE(text.one_vocabulary);
  EXPECT_THAT(text.test.references, ElementsAre("lower"));
}

TEST(Preparation, LongAndUnequalPairsAreNotTrainedOn) {
  const test::TemporaryFolder folder;
  write_whole(folder / "dict", "a 1\n");
  write_whole(folder / "de", "a\na a a\na\na a\n");
  write_whole(folder / "en", "a\na a a\na a a\na\n");
  PreparationFiles files = {.source = folder / "de",
                            .target = folder / "en",
                            .validation_source = folder / "de",
                            .validation_target = folder / "en",
                            .test_source = folder / "de",
                            .test_target = folder / "en",
                            .source_dictionary = folder / "dict",
                            .target_dictionary = folder / "dict"};
  EXPECT_EQ(prepare_text(files, {.max_pieces = 2}, folder / "out").training, 2);
  EXPECT_EQ(prepare_text(files, {.max_ratio = 2}, folder / "out").training, 3);
  EXPECT_EQ(read_prepared_text(folder / "out").test.count(), 4);
}

TEST(Preparation, FilesThatDoNotFitTogetherAreRefused) {
  const auto refused = [](const PreparationFiles& files) {
    return message_of<std::invalid_argument>([&] { prepare_text(files, {}, "nowhere"); });
  };
  EXPECT_THAT(refused({}), HasSubstr("wanted --source and --target, or --pairs"));
  EXPECT_THAT(refused({.source = "a"}), HasSubstr("wanted --source and --target, or --pairs"));
  EXPECT_THAT(refused({.source = "a", .target = "b", .pairs = "c"}), HasSubstr("or --pairs"));
  EXPECT_THAT(refused({.pairs = "a", .test_source = "b"}), HasSubstr("both --test-source and"));
  EXPECT_THAT(refused({.pairs = "a", .test_source = "b", .test_target = "c"}),
              HasSubstr("both validation and test"));
  EXPECT_THAT(refused({.pairs = "a", .codes = "b"}), HasSubstr("wanted dictionaries with --codes"));
}

TEST(PreparedText, ADamagedFileIsNamed) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", table());
  prepare_text({.pairs = folder / "table"}, kSmall, folder / "out");
  for (const char* name : {kPairsFile, kSentencePieceFile, "validation.target.txt"}) {
    const std::string content = read_whole(folder / "out" / name);
    write_whole(folder / "out" / name, content.substr(0, content.size() - 1));
    EXPECT_THAT(message_of<FileError>([&] { read_prepared_text(folder / "out"); }),
                HasSubstr(std::string(name) + "': wanted SHA-256"));
    write_whole(folder / "out" / name, content);
  }
  write_whole(folder / "out" / kIndexFile, "{}");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_prepared_text(folder / "out"); }),
              HasSubstr("wanted an index of the format"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_prepared_text(folder / "none"); }),
              HasSubstr("wanted a folder made by `sing data text`"));
}

TEST(DataTextCommand, SaysWhatItWrote) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", table());
  const auto [code, out, error] =
      test::run_words({"data", "text", "--pairs", folder / "table", "--vocabulary", "70",
                       "--validation-count", "4", "--test-count", "6", "--out", folder / "out"});
  EXPECT_EQ(code, 0) << error;
  EXPECT_THAT(out, HasSubstr("0 pairs are left out because a sentence is empty"));
  EXPECT_THAT(out, HasSubstr("4 for validation, 6 for the test; 70 source and 70 target pieces"));
}

TEST(StandIn, PartsAreDisjointAndTheTargetIsARearrangement) {
  const PreparedText text = make_stand_in(300, 50);
  EXPECT_EQ(text.training.count(), 300);
  EXPECT_EQ(text.test.count(), 50);
  std::set<std::string> sources;
  for (const EncodedPairs* const part : {&text.training, &text.validation, &text.test}) {
    for (std::int64_t number = 0; number < part->count(); ++number) {
      sources.insert(text.source_tokenizer->decode(part->source.sentence(number)));
      EXPECT_EQ(part->source.length(number), part->target.length(number));
    }
  }
  EXPECT_EQ(sources.size(), 400U);
  EXPECT_EQ(text.target_tokenizer->decode(text.test.target.sentence(0)), text.test.references[0]);
}

}  // namespace
}  // namespace sing::lab::translation
