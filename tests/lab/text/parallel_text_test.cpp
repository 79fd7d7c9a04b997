// Checks how sentences and their translations are read and split.
#include "lab/text/parallel_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sing/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::text {
namespace {

using test::message_of;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParallelText, TwoFilesMustHaveAsManyLines) {
  const test::TemporaryFolder folder;
  write_whole(folder / "de", "eins\nzwei\n");
  write_whole(folder / "en", "one\ntwo\n");
  EXPECT_THAT(read_parallel_text(folder / "de", folder / "en").target, ElementsAre("one", "two"));
  write_whole(folder / "en", "one\n");
  const std::string message =
      message_of<std::invalid_argument>([&] { read_parallel_text(folder / "de", folder / "en"); });
  EXPECT_THAT(message, HasSubstr("[text] wanted as many lines in '" + (folder / "en").string()));
  EXPECT_THAT(message, HasSubstr("got 1"));
  EXPECT_THAT(message_of<FileError>([&] { read_parallel_text(folder / "fr", folder / "en"); }),
              HasSubstr("fr': cannot open it"));
}

TEST(ParallelText, ColumnsOfATableAreChosenByNumber) {
  const test::TemporaryFolder folder;
  write_whole(folder / "table", "Hi.\tHallo!\tsource\nGo.\tGeh.\n");
  const ParallelText text = read_parallel_table(folder / "table", 2, 1);
  EXPECT_THAT(text.source, ElementsAre("Hallo!", "Geh."));
  EXPECT_THAT(text.target, ElementsAre("Hi.", "Go."));
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { read_parallel_table(folder / "table", 3, 1); }),
      HasSubstr("wanted columns 3 and 1 in line 2 of"));
}

TEST(ParallelText, PairsWithAnEmptySideAreLeftOut) {
  const ParallelText kept = without_empty_lines({{"a", "b", " ", "d"}, {"x", "", "z", "w"}});
  EXPECT_THAT(kept.source, ElementsAre("a", "d"));
  EXPECT_THAT(kept.target, ElementsAre("x", "w"));
}

// 400 pairs of 80 source and 100 target sentences, so that most share a sentence with others; every
// tenth pair differs from another one in punctuation alone.
ParallelText tangled() {
  ParallelText text;
  for (int pair = 0; pair < 400; ++pair) {
    const int source = pair % 80;
    const std::string mark = pair % 10 == 0 ? "!" : ".";
    text.add("Satz " + std::to_string(source) + mark, "sentence " + std::to_string(pair % 100));
  }
  return text;
}

std::set<std::string> words_of(const std::vector<std::string>& lines) {
  std::set<std::string> words;
  for (const std::string& line : lines) {
    words.insert(line.substr(0, line.find_first_of(".!")));
  }
  return words;
}

void expect_disjoint(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  for (const std::string& word : words_of(one)) {
    EXPECT_FALSE(words_of(other).contains(word)) << word;
  }
}

TEST(SplitText, NoSentenceOfAnEvaluationIsElsewhere) {
  const ParallelText text = tangled();
  const SplitText split = split_text(text, 5, 7);
  EXPECT_EQ(split.validation.size(), 5U);
  EXPECT_EQ(split.test.size(), 7U);
  EXPECT_GT(split.training.size(), 20U);
  const auto& [training, validation, test, repeated, apart] = split;
  for (const auto& [one, other] :
       {std::pair{&training, &validation}, {&training, &test}, {&validation, &test}}) {
    expect_disjoint(one->source, other->source);
    expect_disjoint(one->target, other->target);
  }
  EXPECT_EQ(split.training.size() + 12 + static_cast<std::size_t>(repeated + apart), text.size());
}

TEST(SplitText, IsTheSameEveryTime) {
  EXPECT_EQ(split_text(tangled(), 5, 7).test.source, split_text(tangled(), 5, 7).test.source);
}

TEST(SplitText, RepeatedPairsAreLeftOut) {
  const SplitText split = split_text({{"a", "b", "a", "c"}, {"x", "y", "x", "z"}}, 1, 1);
  EXPECT_EQ(split.repeated, 1);
  EXPECT_EQ(split.training.size(), 1U);
}

TEST(SplitText, TooFewPairsAreRefused) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { split_text({{"a", "b"}, {"x", "y"}}, 1, 1); }),
              HasSubstr("others to train on, got 1, 1 and 0 of 2 pairs"));
}

}  // namespace
}  // namespace sing::lab::text
