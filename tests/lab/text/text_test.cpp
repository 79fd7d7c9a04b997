// Checks the parts that turn text into tokens, without files of real vocabularies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lab/text/code_points.hpp"
#include "lab/text/gpt2_vocabulary.hpp"
#include "lab/text/gpt2_words.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/simple_vocabularies.hpp"
#include "lab/text/stand_in_text.hpp"
#include "lab/text/text_files.hpp"
#include "sing/base/message.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::text {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ByteVocabulary, ATokenIsAByte) {
  const auto vocabulary = make_byte_vocabulary();
  EXPECT_EQ(vocabulary->size(), 256);
  const std::string text("a\xff\0z", 4);
  const std::vector<Token> tokens = vocabulary->encode(text);
  EXPECT_THAT(tokens, ElementsAre(97, 255, 0, 122));
  EXPECT_EQ(vocabulary->decode(tokens), text);
}

TEST(CharacterVocabulary, HasTheCharactersInTheirOrder) {
  const auto vocabulary = make_character_vocabulary(
      "zaé🙂\xff"
      "a");
  // U+0061, U+007A, U+00E9 and U+1F642; the byte that is not UTF-8 comes last.
  EXPECT_EQ(vocabulary->size(), 5);
  EXPECT_THAT(vocabulary->encode("éz🙂a\xff"), ElementsAre(2, 1, 3, 0, 4));
  EXPECT_EQ(vocabulary->decode(vocabulary->encode("zaé🙂")), "zaé🙂");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { vocabulary->encode("az€"); }),
              HasSubstr("wanted one of the 5 characters of the vocabulary, got U+20AC at byte 2"));
}

TEST(ValidUtf8, ReplacesOnlyBytesThatAreNotValid) {
  EXPECT_EQ(valid_utf8("aé\xff\xc3"), "aé\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xEF\xBF\xBD"), "\xEF\xBF\xBD");
}

// The examples follow from the regular expression in gpt2_words.hpp.
TEST(Gpt2Words, AreTheMatchesOfTheRegularExpression) {
  EXPECT_THAT(gpt2_words("Hello, world's  end"),
              ElementsAre("Hello", ",", " world", "'s", " ", " end"));
  EXPECT_THAT(gpt2_words("I'LL we'll"), ElementsAre("I", "'", "LL", " we", "'ll"));
  EXPECT_THAT(gpt2_words("a\n\n b"), ElementsAre("a", "\n\n", " b"));
  EXPECT_THAT(gpt2_words("a\tb"), ElementsAre("a", "\t", "b"));
  EXPECT_THAT(gpt2_words("x2²Ⅷ+½"), ElementsAre("x", "2²Ⅷ", "+", "½"));
  EXPECT_THAT(gpt2_words("été\u00a0日本 e\u0301"),
              ElementsAre("été", "\u00a0", "日本", " e", "\u0301"));
  EXPECT_THAT(gpt2_words("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(gpt2_words(" \xff."), ElementsAre(" \xff."));
  EXPECT_TRUE(gpt2_words("").empty());
}

// Merges: h e (rank 0), he l (1), l o (2), l l (3).
class SmallVocabulary : public testing::Test {
 protected:
  SmallVocabulary() {
    // Byte n is token n, and the results of the merges follow.
    std::string json;
    const auto add = [&](const std::string& key) {
      json += (json.empty() ? "{\"" : ", \"") + key + "\": " + std::to_string(next_++);
    };
    int other = 0;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      const int code = printable ? byte : 256 + other++;
      std::string key;
      if (code < 128) {
        key = code == '"' || code == '\\' ? std::string("\\") + static_cast<char>(code)
                                          : std::string(1, static_cast<char>(code));
      } else {
        key = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
      }
      add(key);
    }
    for (const char* merged : {"he", "hel", "lo", "ll"}) {
      add(merged);
    }
    write_whole(folder_ / "encoder.json", json + "}");
    write_whole(folder_ / "vocab.bpe", "#version: 0.2\nh e\nhe l\nl o\nl l\n");
  }

  TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(SmallVocabulary, MergesTheLowestRankFirst) {
  const auto vocabulary = make_gpt2_vocabulary(folder_.path());
  EXPECT_EQ(vocabulary->size(), 260);
  // hello: he l l o → hel l o → hel lo.
  EXPECT_THAT(vocabulary->encode("hello"), ElementsAre(257, 258));
  EXPECT_THAT(vocabulary->encode("llll"), ElementsAre(259, 259));
  EXPECT_THAT(vocabulary->encode("lll"), ElementsAre(259, 'l'));
  EXPECT_THAT(vocabulary->encode("hell o"), ElementsAre(257, 'l', ' ', 'o'));
  std::string every;
  for (int byte = 255; byte >= 0; --byte) {
    every += static_cast<char>(byte);
  }
  EXPECT_EQ(vocabulary->decode(vocabulary->encode(every)), every);
}

TEST_F(SmallVocabulary, BrokenFilesAreNamed) {
  const auto message = [&] {
    return message_of<std::exception>([&] { make_gpt2_vocabulary(folder_.path()); });
  };
  write_whole(folder_ / "vocab.bpe", "#version: 0.2\nh e\nh e l\n");
  EXPECT_THAT(message(), HasSubstr("vocab.bpe] wanted lines of two tokens, got 'h e l'"));
  write_whole(folder_ / "vocab.bpe", "h o\n");
  EXPECT_THAT(message(), HasSubstr("vocab.bpe] wanted one of the tokens, got 'ho'"));
  write_whole(folder_ / "encoder.json", "{\"a\": 0, \"b\": 0}");
  EXPECT_THAT(message(), HasSubstr("encoder.json] wanted every number from 0 to 1 once, got 0"));
  write_whole(folder_ / "encoder.json", "[]");
  EXPECT_THAT(message(), HasSubstr("encoder.json] wanted a JSON object"));
  std::filesystem::remove(folder_ / "encoder.json");
  EXPECT_THAT(message(), HasSubstr("encoder.json] cannot be read"));
}

TEST(TextFiles, AreReadInTheOrderOfTheirPaths) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "text/b");
  std::filesystem::create_directories(folder / "text/.git");
  write_whole(folder / "text/b/one.txt", "second ");
  write_whole(folder / "text/a.txt", "first ");
  write_whole(folder / "text/c", "third");
  write_whole(folder / "text/.git/x", "hidden");
  write_whole(folder / "text/picture", std::string("a\0b", 3));
  const TextFiles files = read_text_files(folder / "text");
  EXPECT_EQ(files.text, "first second third");
  EXPECT_EQ(files.files, 3);
  EXPECT_THAT(files.left_out, ElementsAre("picture"));
  EXPECT_EQ(read_text_files(folder / "text").digest, files.digest);
  EXPECT_EQ(read_text_files(folder / "text/c").text, "third");
  // The same text in other files has another digest.
  write_whole(folder / "text/a.txt", "first s");
  write_whole(folder / "text/b/one.txt", "econd ");
  EXPECT_EQ(read_text_files(folder / "text").text, files.text);
  EXPECT_NE(read_text_files(folder / "text").digest, files.digest);
}

// A FIFO would block a reader forever, and a symbolic link to itself cannot be followed.
TEST(TextFiles, EntriesThatAreNoFilesAreLeftOutAndNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "text/b");
  write_whole(folder / "text/a.txt", "text");
  ASSERT_EQ(::mkfifo((folder / "text/b/fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder / "text/loop");
  std::filesystem::create_symlink("b", folder / "text/folder");
  const TextFiles files = read_text_files(folder / "text");
  EXPECT_EQ(files.text, "text");
  EXPECT_THAT(files.left_out, ElementsAre("b/fifo", "folder", "loop"));
  for (const char* name : {"text/b/fifo", "text/loop"}) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { read_text_files(folder / name); }),
                HasSubstr("wanted a file or a folder of text, got '"));
  }
  EXPECT_THAT(message_of<FileError>([&] { read_lines(folder / "text/b/fifo"); }),
              HasSubstr("fifo': cannot open it"));
}

TEST(TextFiles, WithoutTextSayWhatIsWanted) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_text_files(folder / "absent"); }),
              HasSubstr("wanted a file or a folder of text, got '"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_text_files(folder.path()); }),
              HasSubstr("got 0 files without any"));
}

TEST(StandInText, DependsOnlyOnItsArguments) {
  const std::string text = make_stand_in_text(3, 5000);
  EXPECT_GE(text.size(), 5000U);
  EXPECT_EQ(make_stand_in_text(3, 5000), text);
  EXPECT_NE(make_stand_in_text(4, 5000), text);
  EXPECT_EQ(make_stand_in_text(3, 8000).substr(0, text.size()), text);
}

}  // namespace
}  // namespace sing::lab::text
