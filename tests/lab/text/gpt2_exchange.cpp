// Encodes texts with a vocabulary of GPT-2 for gpt2_test.py: reads texts that end in a zero byte,
// writes the tokens of each on a line, and checks that they decode to the same bytes.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "lab/text/gpt2_vocabulary.hpp"

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "wanted the folder of a vocabulary\n";
    return 2;
  }
  try {
    const auto vocabulary = sing::lab::text::make_gpt2_vocabulary(words[1]);
    for (std::string text; std::getline(std::cin, text, '\0');) {
      const auto tokens = vocabulary->encode(text);
      for (const auto token : tokens) {
        std::cout << token << ' ';
      }
      std::cout << '\n';
      if (vocabulary->decode(tokens) != text) {
        std::cerr << "wanted the text back, got another one for '" << text << "'\n";
        return 1;
      }
    }
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
  return 0;
}
