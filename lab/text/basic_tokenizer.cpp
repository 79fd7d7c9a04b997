// Implements the steps of BERT's basic tokenizer in the order of Hugging Face's BertNormalizer.
#include "lab/text/basic_tokenizer.hpp"

#include <algorithm>

namespace sing::lab::text {
namespace {

// The tabulator and line ends are control characters for Unicode and white space for BERT.
bool is_dropped(std::int32_t code_point) {
  return code_point == 0 || code_point == kReplacementCharacter ||
         (is_control(code_point) && code_point != '\t' && code_point != '\n' && code_point != '\r');
}

// The blocks of CJK ideographs that BERT writes apart.
bool is_ideograph(std::int32_t code_point) {
  struct Block {
    std::int32_t first, last;
  };
  static constexpr Block kBlocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kBlocks), std::end(kBlocks), [&](const Block& block) {
    return block.first <= code_point && code_point <= block.last;
  });
}

// ASCII symbols count as punctuation, though Unicode says otherwise of $, +, <, =, >, ^, `, | and
// ~.
bool is_bert_punctuation(std::int32_t code_point) {
  const bool is_ascii_symbol =
      (code_point >= 33 && code_point <= 47) || (code_point >= 58 && code_point <= 64) ||
      (code_point >= 91 && code_point <= 96) || (code_point >= 123 && code_point <= 126);
  return is_ascii_symbol || is_punctuation(code_point);
}

// Characters without those that BERT drops; a space on both sides of an ideograph.
std::vector<CodePoint> cleaned(std::string_view text) {
  std::vector<CodePoint> list;
  list.reserve(text.size());
  for (const CodePoint& each : code_points_of(text)) {
    if (is_dropped(each.value)) {
      continue;
    }
    if (is_ideograph(each.value)) {
      list.insert(list.end(), {{' ', each.begin, each.begin}, each, {' ', each.end, each.end}});
    } else {
      list.push_back(each);
    }
  }
  return list;
}

// Decomposes canonically, drops nonspacing marks and lowers the case.
std::vector<CodePoint> folded(const std::vector<CodePoint>& characters) {
  std::vector<CodePoint> list;
  list.reserve(characters.size());
  for (const CodePoint& each : characters) {
    const Decomposition parts = decomposition_of(each.value);
    for (int part = 0; part < parts.count; ++part) {
      list.push_back({parts.parts[part], each.begin, each.end});
    }
  }
  // Canonical order: a run of marks is sorted by combining class, and marks of one class stay.
  const auto is_starter = [](const CodePoint& each) { return combining_class(each.value) == 0; };
  for (auto begin = list.begin(); begin != list.end();) {
    begin = std::find_if_not(begin, list.end(), is_starter);
    const auto end = std::find_if(begin, list.end(), is_starter);
    std::stable_sort(begin, end, [](const CodePoint& one, const CodePoint& other) {
      return combining_class(one.value) < combining_class(other.value);
    });
    begin = end;
  }
  std::erase_if(list, [](const CodePoint& each) { return is_nonspacing_mark(each.value); });
  for (CodePoint& each : list) {
    each.value = lower_case_of(each.value);
  }
  return list;
}

}  // namespace

std::vector<BasicWord> basic_words(std::string_view text, bool lower_case) {
  const std::vector<CodePoint> clean = cleaned(text);
  const std::vector<CodePoint> characters = lower_case ? folded(clean) : clean;
  std::vector<BasicWord> words;
  bool is_open = false;  // whether the last word may get another character
  for (const CodePoint& each : characters) {
    if (is_white_space(each.value)) {
      is_open = false;
    } else if (is_bert_punctuation(each.value)) {
      words.push_back({each});
      is_open = false;
    } else {
      if (!is_open) {
        words.emplace_back();
      }
      words.back().push_back(each);
      is_open = true;
    }
  }
  return words;
}

}  // namespace sing::lab::text
