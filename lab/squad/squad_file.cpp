// Parses the JSON of a SQuAD file and checks every part of it.
#include "lab/squad/squad_file.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>

#include "lab/data/open_file.hpp"
#include "lab/text/code_points.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

using Json = nlohmann::json;

// A value of the file and where it stands, as in data[0].paragraphs[2].context.
class Node {
 public:
  Node(const Json& json, const std::string& file, std::string place)
      : json_(json), file_(file), place_(std::move(place)) {}

  [[noreturn]] void refuse(const std::string& wanted, const std::string& got) const {
    throw FileError(fmt::format("[squad] '{}': wanted {} at {}, got {}", file_, wanted,
                                place_.empty() ? "the top" : place_, got));
  }

  Node member(const char* key) const {
    if (!json_.is_object()) {
      refuse("an object", json_.type_name());
    }
    const auto found = json_.find(key);
    if (found == json_.end()) {
      refuse(fmt::format("a member '{}'", key), "none");
    }
    return {*found, file_, place_.empty() ? key : fmt::format("{}.{}", place_, key)};
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!json_.is_array()) {
      refuse("an array", json_.type_name());
    }
    for (std::size_t index = 0; index < json_.size(); ++index) {
      visit(Node(json_[index], file_, fmt::format("{}[{}]", place_, index)));
    }
  }

  std::string text() const {
    if (!json_.is_string()) {
      refuse("text", json_.type_name());
    }
    return json_.get<std::string>();
  }

  std::size_t place() const {
    if (!json_.is_number_unsigned()) {
      refuse("a number that is not negative", json_.dump());
    }
    return json_.get<std::size_t>();
  }

 private:
  const Json& json_;
  const std::string& file_;
  std::string place_;
};

Answer answer_of(const Node& node, const std::string& context,
                 const std::vector<text::CodePoint>& characters) {
  Answer answer{node.member("text").text(), 0};
  const Node start = node.member("answer_start");
  const std::size_t character = start.place();  // Python counts code points
  if (character < characters.size()) {
    answer.begin = characters[character].begin;
  }
  if (answer.text.empty() || character >= characters.size() ||
      context.compare(answer.begin, answer.text.size(), answer.text) != 0) {
    start.refuse(fmt::format("the place of '{}' in the context", answer.text),
                 std::to_string(character));
  }
  return answer;
}

Json parse(const std::string& content, const std::string& name) {
  try {
    return Json::parse(content);
  } catch (const Json::exception& problem) {
    throw FileError(
        fmt::format("[squad] '{}': wanted JSON as in SQuAD v1.1: {}", name, problem.what()));
  }
}

}  // namespace

std::vector<Paragraph> parse_squad(const std::string& content, const std::string& name) {
  const Json json = parse(content, name);
  std::vector<Paragraph> paragraphs;
  std::unordered_set<std::string> ids;
  std::size_t article = 0;
  Node(json, name, "").member("data").for_each([&](const Node& each_article) {
    each_article.member("paragraphs").for_each([&](const Node& each) {
      Paragraph paragraph{article, each.member("context").text(), {}};
      const std::vector<text::CodePoint> characters = text::code_points_of(paragraph.context);
      each.member("qas").for_each([&](const Node& asked) {
        Question question{asked.member("id").text(), asked.member("question").text(), {}};
        if (!ids.insert(question.id).second) {
          asked.refuse("an id that occurs once", fmt::format("'{}' again", question.id));
        }
        asked.member("answers").for_each([&](const Node& answer) {
          question.answers.push_back(answer_of(answer, paragraph.context, characters));
        });
        if (question.answers.empty()) {
          asked.refuse("an answer, as every question of SQuAD v1.1 has", "none");
        }
        paragraph.questions.push_back(std::move(question));
      });
      paragraphs.push_back(std::move(paragraph));
    });
    ++article;
  });
  if (ids.empty()) {
    throw FileError(fmt::format("[squad] '{}': wanted questions, got none", name));
  }
  return paragraphs;
}

std::vector<Paragraph> read_squad(const std::filesystem::path& path) {
  std::ifstream file = data::open_file(path);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    throw FileError(
        fmt::format("[squad] wanted a file of SQuAD v1.1, got no readable '{}'", path.string()));
  }
  return parse_squad(content.str(), path.string());
}

}  // namespace sing::lab::squad
