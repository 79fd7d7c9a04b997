// Reads question answering in the JSON schema of SQuAD v1.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sing::lab::squad {

// A part of a context that answers a question.
struct Answer {
  std::string text;
  std::size_t begin;  // byte of the context
};

struct Question {
  std::string id, text;
  std::vector<Answer> answers;  // at least one
};

struct Paragraph {
  std::size_t article;  // paragraphs of one article have the same number
  std::string context;
  std::vector<Question> questions;
};

// Throws FileError that names the file and the place in it: text that is no JSON, another schema,
// questions without an answer as in SQuAD 2.0, an id that occurs twice, and an answer that its
// context does not have at answer_start.
std::vector<Paragraph> read_squad(const std::filesystem::path& path);

// The same for the content of a file. Messages use `name`.
std::vector<Paragraph> parse_squad(const std::string& content, const std::string& name);

}  // namespace sing::lab::squad
