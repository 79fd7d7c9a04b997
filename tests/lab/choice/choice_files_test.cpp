// Checks what is read from the files of multiple choice, how they are divided, and that faults are
// named with their line.
#include "lab/choice/choice_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "lab/choice/choice_data.hpp"
#include "lab/choice/choice_sequences.hpp"
#include "lab/choice/csv.hpp"
#include "lab/choice/stand_in.hpp"
#include "sing/base/error.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::choice {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, QuotedFieldsHoldCommasLineEndsAndQuotationMarks) {
  const std::vector<CsvRow> rows = parse_csv("a,\"b, \"\"c\"\"\nd\",\r\n\n,\"\",e\nlast", "file");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[0].fields, ElementsAre("a", "b, \"c\"\nd", ""));
  EXPECT_THAT(rows[1].fields, ElementsAre("", "", "e"));
  EXPECT_THAT(rows[2].fields, ElementsAre("last"));
  EXPECT_EQ(rows[1].line, 4U);
}

TEST(Csv, AnOpenQuotationMarkIsNamed) {
  const auto message = [](const char* content) {
    return message_of<FileError>([&] { parse_csv(content, "x.csv"); });
  };
  EXPECT_THAT(message("a\nb,\"c\nd"),
              HasSubstr("'x.csv': wanted fields separated by commas, got a quotation mark that is "
                        "not closed in line 2"));
  EXPECT_THAT(message("\"a\"b"), HasSubstr("text behind a closing quotation mark in line 1"));
}

constexpr const char* kSwagHeader =
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,"
    "label\n";

TEST(Swag, ColumnsAreFoundByTheHeader) {
  const std::string row =
      "0,v,1,s,\"Members walk, slowly.\",A drum line,gold,\"passes, by.\",has heard.,arrives.,"
      "turns.,2\n";
  const std::vector<ChoiceItem> items = parse_swag(kSwagHeader + row, "file");
  const ChoiceItem wanted{"Members walk, slowly.",
                          "A drum line",
                          {"passes, by.", "has heard.", "arrives.", "turns."},
                          2};
  EXPECT_THAT(items, ElementsAre(wanted));
}

TEST(Swag, FaultsAreNamedWithTheirLine) {
  const auto message = [](const std::string& content) {
    return message_of<FileError>([&] { parse_swag(content, "train.csv"); });
  };
  // The test set of SWAG has no labels.
  EXPECT_THAT(message("sent1,sent2,ending0,ending1,ending2,ending3\n"),
              HasSubstr("[choice] 'train.csv', line 1: wanted a header with 'label', got"));
  EXPECT_THAT(message(""), HasSubstr("got an empty file"));
  EXPECT_THAT(message(kSwagHeader), HasSubstr("wanted questions, got none"));
  EXPECT_THAT(message(std::string(kSwagHeader) + "1,2\n"), HasSubstr("line 2: wanted 12 fields, "
                                                                     "got 2"));
  EXPECT_THAT(message(std::string(kSwagHeader) + "0,v,1,s,a,b,g,0,1,2,3,4\n"),
              HasSubstr("line 2: wanted the right ending's place, 0 to 3, got '4'"));
}

TEST(HellaSwag, SixLinesAreAQuestion) {
  const std::vector<ChoiceItem> items =
      parse_hellaswag("Roof: A man sits. he\n3\nw\nx\ny\nz\nB: c\n0\n1\n2\n3\n4\n", "file");
  const ChoiceItem first{"Roof: A man sits. he", "", {"w", "x", "y", "z"}, 3};
  const ChoiceItem second{"B: c", "", {"1", "2", "3", "4"}, 0};
  EXPECT_THAT(items, ElementsAre(first, second));
  const auto message = [](const std::string& content) {
    return message_of<FileError>([&] { parse_hellaswag(content, "h.txt"); });
  };
  EXPECT_THAT(message("a\n0\n1\n2\n3\n4\nb\n1\n"),
              HasSubstr("'h.txt', line 7: wanted six lines per question, got 2 at the end"));
  EXPECT_THAT(message("a\nnone\n1\n2\n3\n4\n"),
              HasSubstr("line 2: wanted the right ending's place"));
  EXPECT_THAT(message("a\n0\n1\n\n3\n4\n"), HasSubstr("line 4: wanted an ending"));
}

TEST(Codah, SevenFieldsAreAQuestion) {
  const std::vector<ChoiceItem> items =
      parse_codah("o\tI am\tone\ttwo\tthree\tfour\t1\r\n", "file");
  const ChoiceItem wanted{"I am", "", {"one", "two", "three", "four"}, 1};
  EXPECT_THAT(items, ElementsAre(wanted));
  EXPECT_THAT(message_of<FileError>([] { parse_codah("o\tI am\t1\n", "c.tsv"); }),
              HasSubstr("'c.tsv', line 1: wanted seven fields separated by tabulators, got 3"));
}

TEST(ChoiceSplit, KeepsTheQuestionsOfAContextTogether) {
  std::vector<ChoiceItem> items;
  for (int number = 0; number < 200; ++number) {
    items.push_back({"context " + std::to_string(number % 50), std::to_string(number), {}, 0});
  }
  const ChoiceSplit parts = split(items);
  EXPECT_EQ(parts.test.size(), 40U);
  EXPECT_EQ(parts.validation.size(), 20U);
  EXPECT_EQ(parts.training.size(), 140U);
  std::set<std::string> trained, tested;
  for (const ChoiceItem& item : parts.training) {
    trained.insert(item.context);
  }
  for (const ChoiceItem& item : parts.test) {
    tested.insert(item.context);
    EXPECT_FALSE(trained.contains(item.context));
  }
  for (const ChoiceItem& item : parts.validation) {
    EXPECT_FALSE(trained.contains(item.context) || tested.contains(item.context));
  }
  EXPECT_EQ(split(items).test, parts.test);
  items.resize(9);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { split(items); }),
              HasSubstr("wanted 10 contexts or more to divide, got 9"));
}

TEST(ChoiceData, SwagsValidationSetIsTheTestSet) {
  const test::TemporaryFolder folder;
  std::string training = kSwagHeader;
  for (int number = 0; number < 20; ++number) {
    training += "0,v,1,s,train " + std::to_string(number) + ",b,g,w,x,y,z,1\n";
  }
  test::write_whole(folder / "train.csv", training);
  test::write_whole(folder / "val.csv", std::string(kSwagHeader) + "0,v,1,s,a,b,g,w,x,y,z,0\n");
  const ChoiceData test =
      read_choice_data(ChoiceSet::kSwag, folder / ".", data::EvaluationSet::kTest);
  EXPECT_EQ(test.training.size(), 20U);
  EXPECT_EQ(test.evaluation.size(), 1U);
  EXPECT_EQ(test.notice, "");
  const ChoiceData validation =
      read_choice_data(ChoiceSet::kSwag, folder / ".", data::EvaluationSet::kValidation);
  EXPECT_EQ(validation.training.size(), 18U);
  EXPECT_EQ(validation.evaluation.size(), 2U);
  EXPECT_THAT(validation.evaluation.front().context, HasSubstr("train"));
}

TEST(ChoiceData, OwnDivisionsAreNamedAsStandIns) {
  const test::TemporaryFolder folder;
  std::string content;
  for (int number = 0; number < 20; ++number) {
    content += "c\tcontext " + std::to_string(number) + "\tw\tx\ty\tz\t1\n";
  }
  test::write_whole(folder / "full_data.tsv", content);
  const ChoiceData data =
      read_choice_data(ChoiceSet::kCodah, folder / "full_data.tsv", data::EvaluationSet::kTest);
  EXPECT_EQ(data.training.size(), 14U);
  EXPECT_EQ(data.evaluation.size(), 4U);
  EXPECT_THAT(data.notice, HasSubstr("STAND-IN FOR SWAG: CODAH in a division of our own"));
}

TEST(ChoiceSequences, TheLongerTextLosesItsEnd) {
  std::vector<std::string> vocabulary;
  for (const std::string_view each : encoder::special_tokens(model::EncoderKind::kBert)) {
    vocabulary.emplace_back(each);
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary.emplace_back(1, letter);
  }
  const encoder::TextPairs pairs(model::EncoderKind::kBert, vocabulary, true);
  const ChoiceItem item{"a b c d", "e", {"f g h", "f", "f", "f"}, 0};
  const auto sequences = sequences_of(item, pairs, 8);
  // Five tokens remain of a b c d | e f g h. Of texts of equal length the second loses one.
  EXPECT_THAT(sequences[0].ids, ElementsAre(0, 4, 5, 6, 1, 8, 9, 1));
  EXPECT_THAT(sequences[1].ids, ElementsAre(0, 4, 5, 6, 1, 8, 9, 1));
  EXPECT_THAT(sequences_of(item, pairs, 80)[1].ids, ElementsAre(0, 4, 5, 6, 7, 1, 8, 9, 1));
}

TEST(ChoiceFiles, WhatIsNoFileIsRefused) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char* name : {"fifo", "absent", "."}) {
    EXPECT_THAT(message_of<FileError>([&] { read_choice_file(folder / name); }),
                HasSubstr("got no readable '"));
  }
}

TEST(ChoiceStandIn, TheRightEndingBelongsToTheContext) {
  const std::vector<ChoiceItem> items = make_stand_in(400, 1);
  std::array<int, kEndings> places{};
  for (const ChoiceItem& item : items) {
    const bool has_cook = item.context.find(" cook ") != std::string::npos;
    const bool stirs = item.endings[static_cast<std::size_t>(item.right)].find("stirs") == 0;
    EXPECT_EQ(has_cook, stirs) << item.context;
    ++places[static_cast<std::size_t>(item.right)];
  }
  // Each place is right for 100 of 400, within 5 standard deviations of sqrt(400 / 4 · 3 / 4)
  // = 8.7.
  for (const int count : places) {
    EXPECT_NEAR(count, 100, 44);
  }
}

}  // namespace
}  // namespace sing::lab::choice
