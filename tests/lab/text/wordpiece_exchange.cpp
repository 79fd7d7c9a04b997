// Tokenizes the texts of tests/lab/text/wordpiece_test.py and tools/compare_wordpiece.py.
//
// wordpiece_exchange VOCABULARY TEXTS RESULT lower|cased reads VOCABULARY, a token per line, and
// TEXTS, a JSON array, and writes RESULT, an array per text of [id, first byte, end byte].
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/text/wordpiece.hpp"

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("wordpiece_exchange VOCABULARY TEXTS RESULT lower|cased\n", stderr);
    return 2;
  }
  try {
    const sing::lab::text::WordPiece wordpiece(sing::lab::text::read_vocabulary(arguments[1]),
                                               std::string(arguments[4]) == "lower");
    std::ifstream texts(arguments[2]);
    nlohmann::json result = nlohmann::json::array();
    for (const nlohmann::json& text : nlohmann::json::parse(texts)) {
      nlohmann::json list = nlohmann::json::array();
      for (const auto& token : wordpiece.tokens(text.get<std::string>())) {
        list.push_back({token.id, token.begin, token.end});
      }
      result.push_back(std::move(list));
    }
    std::ofstream(arguments[3]) << result;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
