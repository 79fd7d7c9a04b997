// Generates a pair of languages.
#include "lab/translation/stand_in.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/random/random_stream.hpp"
#include "lab/text/dictionary_tokenizer.hpp"
#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::translation {
namespace {

constexpr std::uint32_t kSentencePurpose = 0x746f7973;

struct Word {
  const char* source;
  const char* target;
};
constexpr Word kNouns[] = {{"hund", "chien"},    {"katze", "chat"},  {"vogel", "oiseau"},
                           {"haus", "maison"},   {"blume", "fleur"}, {"stern", "astre"},
                           {"fluss", "riviere"}, {"berg", "mont"},   {"baum", "arbre"},
                           {"wolke", "nuage"}};
constexpr Word kAdjectives[] = {
    {"gross", "grand"}, {"klein", "petit"}, {"alt", "vieux"}, {"rot", "rouge"}, {"weit", "loin"}};
constexpr Word kVerbs[] = {{"sieht", "voit"},    {"malt", "peint"},    {"kennt", "connait"},
                           {"sucht", "cherche"}, {"findet", "trouve"}, {"liebt", "aime"}};

struct Sentence {
  std::string source, target;
};

template <std::size_t count>
std::uint32_t draw(random::RandomStream& random, const Word (&)[count]) {
  return random.below(static_cast<std::uint32_t>(count));
}

// Every second noun is of the other gender.
Sentence noun_phrase(random::RandomStream& random) {
  const std::uint32_t noun = draw(random, kNouns);
  const bool definite = random.below(2) == 0;
  const bool feminine = noun % 2 == 1;
  const char* const article = definite ? (feminine ? "la" : "le") : (feminine ? "une" : "un");
  Sentence phrase{definite ? "das " : "ein ", std::string(article) + " " + kNouns[noun].target};
  if (random.below(2) == 0) {
    const Word adjective = kAdjectives[draw(random, kAdjectives)];
    phrase.source += std::string(adjective.source) + " ";
    phrase.target += std::string(" ") + adjective.target;
  }
  phrase.source += kNouns[noun].source;
  return phrase;
}

Sentence draw_sentence(std::uint64_t number) {
  random::RandomStream random(0, number, kSentencePurpose);
  const Sentence subject = noun_phrase(random);
  const Word verb = kVerbs[draw(random, kVerbs)];
  const Sentence object = noun_phrase(random);
  return {subject.source + " " + verb.source + " " + object.source,
          subject.target + " " + object.target + " " + verb.target};
}

std::unique_ptr<Tokenizer> tokenizer_of(const std::vector<Sentence>& sentences,
                                        std::string Sentence::* side) {
  std::map<std::string, std::int64_t> counts;
  for (const Sentence& sentence : sentences) {
    for (const std::string_view word : text::split_words(sentence.*side)) {
      ++counts[std::string(word)];
    }
  }
  return text::make_dictionary_tokenizer(nullptr, text::Dictionary(counts, 1));
}

}  // namespace

PreparedText make_stand_in(std::int64_t training_count, std::int64_t test_count) {
  constexpr std::uint64_t kMostDrawn = 1'000'000;
  const auto wanted = static_cast<std::size_t>(training_count + 2 * test_count);
  std::vector<Sentence> sentences;
  std::set<std::string> seen;
  for (std::uint64_t number = 0; sentences.size() < wanted; ++number) {
    SING_CHECK(number < kMostDrawn,
               "[translation] wanted at most as many sentences as the stand-in languages have, got "
               "{}",
               wanted);
    Sentence sentence = draw_sentence(number);
    if (seen.insert(sentence.source).second) {
      sentences.push_back(std::move(sentence));
    }
  }
  PreparedText prepared;
  prepared.source_tokenizer = tokenizer_of(sentences, &Sentence::source);
  prepared.target_tokenizer = tokenizer_of(sentences, &Sentence::target);
  for (std::size_t place = 0; place < sentences.size(); ++place) {
    const auto number = static_cast<std::int64_t>(place);
    EncodedPairs& part = number < test_count       ? prepared.test
                         : number < 2 * test_count ? prepared.validation
                                                   : prepared.training;
    part.source.add(prepared.source_tokenizer->encode(sentences[place].source));
    part.target.add(prepared.target_tokenizer->encode(sentences[place].target));
    if (&part != &prepared.training) {
      part.references.push_back(sentences[place].target);
    }
  }
  return prepared;
}

}  // namespace sing::lab::translation
