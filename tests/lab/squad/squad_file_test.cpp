// Checks what is read from SQuAD's JSON, and that each fault of a file is named with its place.
#include "lab/squad/squad_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "lab/squad/squad_data.hpp"
#include "lab/squad/stand_in.hpp"
#include "sing/base/error.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::squad {
namespace {

using test::message_of;
using ::testing::HasSubstr;

// The second answer begins at character 4, which is byte 5, because é has two bytes.
constexpr const char* kFile = R"({"version": "1.1", "data": [
  {"title": "A", "paragraphs": [{"context": "é was here", "qas": [
    {"id": "1", "question": "who?", "answers": [{"text": "é", "answer_start": 0}]},
    {"id": "2", "question": "what?", "answers": [{"text": "as", "answer_start": 3},
                                                  {"text": "here", "answer_start": 6}]}]}]},
  {"title": "B", "paragraphs": [{"context": "x", "qas": []}, {"context": "y z", "qas": [
    {"id": "3", "question": "y?", "answers": [{"text": "z", "answer_start": 2}]}]}]}]})";

TEST(SquadFile, AnswersBeginAtBytesOfTheContext) {
  const std::vector<Paragraph> paragraphs = parse_squad(kFile, "file");
  ASSERT_EQ(paragraphs.size(), 3U);
  EXPECT_EQ(paragraphs[0].article, 0U);
  EXPECT_EQ(paragraphs[2].article, 1U);
  EXPECT_TRUE(paragraphs[1].questions.empty());
  ASSERT_EQ(paragraphs[0].questions.size(), 2U);
  const Question& question = paragraphs[0].questions[1];
  EXPECT_EQ(question.id, "2");
  EXPECT_EQ(question.text, "what?");
  ASSERT_EQ(question.answers.size(), 2U);
  EXPECT_EQ(question.answers[0].begin, 4U);
  EXPECT_EQ(question.answers[1].begin, 7U);
}

std::string with(const std::string& before, const std::string& after) {
  std::string text = kFile;
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

TEST(SquadFile, EachFaultIsNamedWithItsPlace) {
  const auto message = [](const std::string& content) {
    return message_of<FileError>([&] { parse_squad(content, "some.json"); });
  };
  EXPECT_THAT(message("{\"data\": [1"), HasSubstr("[squad] 'some.json': wanted JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("wanted an object at the top, got array"));
  EXPECT_THAT(message("{}"), HasSubstr("wanted a member 'data' at the top, got none"));
  EXPECT_THAT(message(R"({"data": []})"), HasSubstr("wanted questions, got none"));
  EXPECT_THAT(message(with("\"é was here\"", "7")),
              HasSubstr("wanted text at data[0].paragraphs[0].context, got number"));
  EXPECT_THAT(message(with(R"({"text": "z", "answer_start": 2})", "")),
              HasSubstr("wanted an answer, as every question of SQuAD v1.1 has at "
                        "data[1].paragraphs[1].qas[0], got none"));
  EXPECT_THAT(message(with(R"("id": "3")", R"("id": "1")")),
              HasSubstr("wanted an id that occurs once at data[1].paragraphs[1].qas[0], got '1' "
                        "again"));
  EXPECT_THAT(message(with("\"answer_start\": 6", "\"answer_start\": 5")),
              HasSubstr("wanted the place of 'here' in the context at "
                        "data[0].paragraphs[0].qas[1].answers[1].answer_start, got 5"));
  EXPECT_THAT(message(with("\"answer_start\": 6", "\"answer_start\": 600")), HasSubstr("got 600"));
  EXPECT_THAT(message(with("\"answer_start\": 6", "\"answer_start\": -1")), HasSubstr("got -1"));
  EXPECT_THAT(message_of<FileError>([] { read_squad("absent/train-v1.1.json"); }),
              HasSubstr("got no readable 'absent/train-v1.1.json'"));
  const test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(message_of<FileError>([&] { read_squad(folder / "fifo"); }),
              HasSubstr("got no readable '"));
}

TEST(SquadData, ATenthOfTheArticlesIsHeldOutAsAWhole) {
  std::vector<Paragraph> training;
  for (std::size_t article = 0; article < 30; ++article) {
    training.push_back({article, "one", {}});
    training.push_back({article, "two", {}});
  }
  std::vector<Paragraph> again = training;
  const std::vector<Paragraph> held = hold_out_articles(training);
  EXPECT_EQ(held.size(), 6U);
  EXPECT_EQ(training.size(), 54U);
  std::set<std::size_t> articles;
  for (const Paragraph& each : held) {
    articles.insert(each.article);
  }
  EXPECT_EQ(articles.size(), 3U);
  for (const Paragraph& each : training) {
    EXPECT_FALSE(articles.contains(each.article));
  }
  EXPECT_EQ(hold_out_articles(again).front().article, held.front().article);
  std::vector<Paragraph> one = {{0, "one", {}}};
  EXPECT_THROW(hold_out_articles(one), std::invalid_argument);
}

TEST(SquadStandIn, AnswersStandInTheirContextAndSetsDiffer) {
  const std::vector<Paragraph> training = make_stand_in(50, 1);
  std::set<std::string> contexts;
  for (const Paragraph& paragraph : training) {
    contexts.insert(paragraph.context);
    ASSERT_EQ(paragraph.questions.size(), 4U);
    for (const Question& question : paragraph.questions) {
      const Answer& answer = question.answers.front();
      EXPECT_EQ(paragraph.context.substr(answer.begin, answer.text.size()), answer.text);
    }
  }
  EXPECT_EQ(contexts.size(), 50U);
  for (const Paragraph& paragraph : make_stand_in(50, 2)) {
    EXPECT_FALSE(contexts.contains(paragraph.context));
  }
}

}  // namespace
}  // namespace sing::lab::squad
