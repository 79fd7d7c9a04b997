// Checks byte pair codes, dictionaries and sentencepiece models on small texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "lab/text/dictionary_tokenizer.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/sentence_pieces.hpp"
#include "lab/text/words.hpp"
#include "sing/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::text {
namespace {

using test::message_of;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Utf8, InvalidBytesAreFound) {
  EXPECT_TRUE(is_utf8("aß€😀"));
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\xAF", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Lines, PlainAndPackedFilesHaveTheSameLines) {
  const test::TemporaryFolder folder;
  const std::string content =
      "\xEF\xBB\xBF"
      "eins\r\n\nzwei ü";
  write_whole(folder / "a", content);
  const gzFile packed = gzopen((folder / "b.gz").c_str(), "wb");
  gzwrite(packed, content.data(), static_cast<unsigned>(content.size()));
  gzclose(packed);
  EXPECT_THAT(read_lines(folder / "a"), ElementsAre("eins", "", "zwei ü"));
  EXPECT_EQ(read_lines(folder / "b.gz"), read_lines(folder / "a"));
}

TEST(Lines, ALineThatIsNotUtf8IsNamed) {
  const test::TemporaryFolder folder;
  write_whole(folder / "a", "one\ntw\xFFo\n");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_lines(folder / "a"); }),
              HasSubstr("[text] wanted UTF-8 in line 2 of '" + (folder / "a").string() + "'"));
}

BytePairCodes codes_of(const std::string& content) {
  const test::TemporaryFolder folder;
  write_whole(folder / "code", content);
  return BytePairCodes(folder / "code");
}

// "lower": l o w e r</w> → lo w e r</w> → lo w er</w>; "low": l o w</w> → lo w</w> → low</w>.
TEST(BytePairCodes, MergesInTheOrderInWhichTheyWereLearned) {
  const BytePairCodes codes = codes_of("#version: 0.2\nl o\ne r</w>\nlo w</w>\n");
  EXPECT_THAT(codes.segment("lower low"), ElementsAre("lo@@", "w@@", "er", "low"));
  EXPECT_THAT(codes.segment("  r  "), ElementsAre("r"));
  EXPECT_THAT(codes.segment(" "), IsEmpty());
}

// Version 0.1 has the end of a word as a piece of its own: "er" is e r </w> → er </w> → er.
TEST(BytePairCodes, InVersion1TheEndOfAWordIsAPiece) {
  EXPECT_THAT(codes_of("e r\ner </w>\n").segment("er err"), ElementsAre("er", "er@@", "r"));
}

// "aaaa" with the pair a a merges places 0 and 2, not the overlapping place 1, and the last a has
// the end of the word: aa a a</w>.
TEST(BytePairCodes, OverlappingPairsAreMergedFromTheLeft) {
  EXPECT_THAT(codes_of("#version: 0.2\na a\n").segment("aaaa"), ElementsAre("aa@@", "a@@", "a"));
}

TEST(BytePairCodes, CharactersAreNotCut) {
  EXPECT_THAT(codes_of("#version: 0.2\nü b\n").segment("übß€"), ElementsAre("üb@@", "ß@@", "€"));
}

TEST(BytePairCodes, ABrokenFileIsNamedWithItsLine) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { codes_of("#version: 0.2\na b\nabc\n"); }),
              HasSubstr("wanted two pieces separated by a space in line 3 of"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { codes_of("#version: 0.3\na b\n"); }),
              HasSubstr("wanted version 0.1 or 0.2 in line 1"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { codes_of("#version: 0.2\n"); }),
              HasSubstr("wanted merges"));
}

TEST(JoinPieces, UndoesTheSegmentation) {
  EXPECT_EQ(join_pieces("lo@@ w@@ er low"), "lower low");
  EXPECT_EQ(join_pieces("a b@@"), "a b");  // a translation may end inside a word
}

TEST(Dictionary, NumbersFollowFairseqsSpecialPieces) {
  const test::TemporaryFolder folder;
  write_whole(folder / "dict", ", 235382\nund 85671\nein@@ 3\n");
  const Dictionary dictionary(folder / "dict");
  EXPECT_EQ(dictionary.size(), 7);
  EXPECT_EQ(dictionary.number_of("<s>"), 0);
  EXPECT_EQ(dictionary.number_of("<pad>"), 1);
  EXPECT_EQ(dictionary.number_of("</s>"), 2);
  EXPECT_EQ(dictionary.number_of("nichts"), 3);
  EXPECT_EQ(dictionary.number_of(","), 4);
  EXPECT_EQ(dictionary.piece(6), "ein@@");
  EXPECT_EQ(dictionary.text(), ", 235382\nund 85671\nein@@ 3\n");
}

TEST(Dictionary, ABrokenFileIsNamedWithItsLine) {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    write_whole(folder / "dict", content);
    return message_of<std::invalid_argument>([&] { Dictionary{folder / "dict"}; });
  };
  EXPECT_THAT(refused("a 1\nb\n"), HasSubstr("wanted a piece and its count in line 2 of"));
  EXPECT_THAT(refused("a 1\nb x\n"), HasSubstr("got 'b x'"));
  EXPECT_THAT(refused("a 1\na 2\n"), HasSubstr("wanted each piece once, got 'a' again in line 2"));
  EXPECT_THAT(refused(""), HasSubstr("wanted pieces in"));
}

TEST(Dictionary, IsMadeInTheOrderOfTheCounts) {
  EXPECT_EQ(Dictionary({{"b", 2}, {"a", 2}, {"c", 9}, {"d", 1}}, 2).text(), "c 9\na 2\nb 2\n");
}

TEST(DictionaryTokenizer, EncodesAndDecodes) {
  const auto codes =
      std::make_shared<const BytePairCodes>(codes_of("#version: 0.2\nl o\ne r</w>\n"));
  const auto tokenizer =
      make_dictionary_tokenizer(codes, Dictionary({{"lo@@", 3}, {"w@@", 2}, {"er", 1}}, 1));
  const std::vector<Piece> pieces = tokenizer->encode("lower x");
  EXPECT_THAT(pieces, ElementsAre(4, 5, 6, kUnknown));
  EXPECT_EQ(tokenizer->decode(std::vector<Piece>{kBegin, 4, 5, 6, kUnknown, kEnd, kPadding}),
            "lower <unk>");
}

std::vector<std::string> sample_lines() {
  std::vector<std::string> lines;
  for (const char* noun : {"Hund", "Vogel", "Käfer", "Fluß", "Baum"}) {
    for (const char* verb : {"sieht", "hört", "findet", "malt"}) {
      lines.push_back(std::string("Der ") + noun + " " + verb + " das Haus.");
      lines.push_back(std::string("the ") + noun + "s of " + verb + ", 2,5 % and more…");
    }
  }
  return lines;
}

TEST(SentencePieces, TrainingTwiceGivesTheSameBytes) {
  const std::string model = train_sentence_pieces(sample_lines(), 80);
  EXPECT_EQ(train_sentence_pieces(sample_lines(), 80), model);
  EXPECT_EQ(make_sentence_piece_tokenizer(model)->size(), 80);
}

TEST(SentencePieces, EveryLineComesBackUnchanged) {
  const auto tokenizer = make_sentence_piece_tokenizer(train_sentence_pieces(sample_lines(), 80));
  for (const std::string& line : sample_lines()) {
    const std::vector<Piece> pieces = tokenizer->encode(line);
    EXPECT_EQ(tokenizer->decode(pieces), line);
    EXPECT_LT(pieces.size(), characters_of(line).size());
    EXPECT_THAT(pieces, ::testing::Each(::testing::Ge(static_cast<Piece>(kSpecialPieces))));
  }
}

TEST(SentencePieces, TooLittleTextAndForeignModelsAreRefused) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { train_sentence_pieces({"ab"}, 1000); }),
              HasSubstr("[sentencepiece] wanted text for 1000 pieces"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { make_sentence_piece_tokenizer("no model"); }),
              HasSubstr("[sentencepiece] wanted a model"));
}

}  // namespace
}  // namespace sing::lab::text
