// Scores the answers of tests/lab/squad/answer_score_test.py.
//
// answer_score_exchange CASES RESULT reads CASES, a JSON array of [answer, [right answers]], and
// writes RESULT, an array of [normalized answer, exact match, F1].
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/squad/answer_score.hpp"

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("answer_score_exchange CASES RESULT\n", stderr);
    return 2;
  }
  try {
    std::ifstream cases(arguments[1]);
    nlohmann::json result = nlohmann::json::array();
    for (const nlohmann::json& each : nlohmann::json::parse(cases)) {
      const auto answer = each[0].get<std::string>();
      const auto texts = each[1].get<std::vector<std::string>>();
      const std::vector<std::string_view> right(texts.begin(), texts.end());
      const auto score = sing::lab::squad::score_answer(answer, right);
      result.push_back({sing::lab::squad::normalized_answer(answer), score.exact_match, score.f1});
    }
    std::ofstream(arguments[2]) << result;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
