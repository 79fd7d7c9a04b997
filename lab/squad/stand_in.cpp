// Writes the sentences of the stand-in.
#include "lab/squad/stand_in.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "lab/random/random_stream.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

constexpr std::uint64_t kSeed = 1;

using Words = std::array<std::string_view, 8>;

// A kind of sentence, the question that asks about it, and the words that may fill its gap.
struct Fact {
  std::string_view before, after, question;
  Words fillings;
};
constexpr std::array<Fact, 4> kFacts = {{
    {"the painting was made by",
     ".",
     "who made the painting?",
     {"anna", "boris", "clara", "david", "emma", "felix", "greta", "hugo"}},
    {"people can see it in",
     ".",
     "where can people see the painting?",
     {"paris", "rome", "vienna", "madrid", "london", "oslo", "dublin", "athens"}},
    {"it was sold in",
     ".",
     "when was the painting sold?",
     {"march", "april", "may", "june", "july", "august", "october", "december"}},
    {"most of its colors are",
     ".",
     "which color has the painting?",
     {"red", "green", "blue", "white", "black", "yellow", "brown", "gray"}},
}};
constexpr std::array<std::string_view, 4> kFillers = {
    "many visitors come every day.", "its frame is old and heavy.", "nobody knows its price.",
    "the room is small and quiet."};

template <class List>
const auto& any_of(const List& list, random::RandomStream& random) {
  return list[random.below(static_cast<std::uint32_t>(list.size()))];
}

// Adds the words of a text, with punctuation as words of its own.
void add_words(std::set<std::string>& words, std::string_view text) {
  std::string word;
  for (const char each : text) {
    if (each >= 'a' && each <= 'z') {
      word += each;
      continue;
    }
    words.insert(std::exchange(word, {}));
    words.insert(std::string(1, each));
  }
  words.insert(word);
}

}  // namespace

std::vector<Paragraph> make_stand_in(std::int64_t paragraphs, std::uint32_t purpose) {
  std::vector<Paragraph> list;
  for (std::int64_t number = 0; number < paragraphs; ++number) {
    random::RandomStream random(kSeed, static_cast<std::uint64_t>(number), purpose);
    std::array<std::size_t, kFacts.size()> order = {0, 1, 2, 3};
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
    }
    Paragraph paragraph{static_cast<std::size_t>(number), {}, {}};
    for (const std::size_t place : order) {
      const Fact& fact = kFacts[place];
      const std::string filling(any_of(fact.fillings, random));
      paragraph.context += fmt::format("{}{} ", paragraph.context.empty() ? "" : " ", fact.before);
      paragraph.questions.push_back({fmt::format("stand-in-{}-{}-{}", purpose, number, place),
                                     std::string(fact.question),
                                     {{filling, paragraph.context.size()}}});
      paragraph.context += fmt::format("{}{}", filling, fact.after);
      if (random.below(2) == 0) {
        paragraph.context += fmt::format(" {}", any_of(kFillers, random));
      }
    }
    list.push_back(std::move(paragraph));
  }
  return list;
}

std::vector<std::string> stand_in_words() {
  std::set<std::string> words;
  for (const Fact& fact : kFacts) {
    for (const std::string_view text : {fact.before, fact.after, fact.question}) {
      add_words(words, text);
    }
    for (const std::string_view filling : fact.fillings) {
      add_words(words, filling);
    }
  }
  for (const std::string_view filler : kFillers) {
    add_words(words, filler);
  }
  words.erase("");
  words.erase(" ");
  return {words.begin(), words.end()};
}

}  // namespace sing::lab::squad
