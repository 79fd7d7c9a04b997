// Lets tests/lab/text/*_test.py call the text tools.
//
// text_exchange bleu HYPOTHESES REFERENCES     prints sacrebleu's and fairseq's score, then the
//                                              tokens of 13a of every line of both files
// text_exchange segment CODES FILE             prints the pieces of every line
#include <cstdio>
#include <string>

#include "lab/text/bleu.hpp"
#include "lab/text/byte_pair_codes.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace {

using namespace sing::lab;

void print(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + word;
  }
  std::puts(line.c_str());
}

void run(const std::string& action, const std::string& first, const std::string& second) {
  SING_CHECK(action == "bleu" || action == "segment",
             "[text_exchange] wanted bleu or segment, got '{}'", action);
  if (action == "segment") {
    const text::BytePairCodes codes(first);
    for (const std::string& line : text::read_lines(second)) {
      print(codes.segment(line));
    }
    return;
  }
  const std::vector<std::string> hypotheses = text::read_lines(first);
  const std::vector<std::string> references = text::read_lines(second);
  const text::BleuScores scores = text::bleu_of(hypotheses, references);
  std::printf("%.17g %.17g\n", scores.sacrebleu, scores.tokenized);
  for (const std::vector<std::string>* const lines : {&hypotheses, &references}) {
    for (const std::string& line : *lines) {
      print(text::tokenize_13a(line));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("text_exchange bleu HYPOTHESES REFERENCES | segment CODES FILE\n", stderr);
    return 2;
  }
  try {
    run(arguments[1], arguments[2], arguments[3]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
