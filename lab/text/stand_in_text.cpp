// Generates sentences from a small grammar.
#include "lab/text/stand_in_text.hpp"

#include <iterator>
#include <string_view>

#include "lab/random/random_stream.hpp"

namespace sing::lab::text {
namespace {

constexpr std::uint32_t kStandInPurpose = 0x7E57;
constexpr std::uint32_t kSentencesPerLine = 4;

struct Subject {
  std::string_view one, many, verb_of_one, verb_of_many;
};
constexpr Subject kSubjects[] = {{"dog", "dogs", "chases", "chase"},
                                 {"child", "children", "draws", "draw"},
                                 {"farmer", "farmers", "feeds", "feed"},
                                 {"teacher", "teachers", "praises", "praise"},
                                 {"sailor", "sailors", "follows", "follow"}};
constexpr std::string_view kAdjectives[] = {"old", "small", "quiet", "clever", "hungry", "red"};
constexpr std::string_view kObjects[] = {"the horse", "a boat",    "the moon",
                                         "a letter",  "the river", "two birds"};
constexpr std::string_view kTimes[] = {"today", "every morning", "in winter", "at night"};

class Writer {
 public:
  explicit Writer(std::uint64_t seed, std::uint64_t line) : random_(seed, line, kStandInPurpose) {}

  std::string line() {
    std::string text;
    for (std::uint32_t number = 0; number < kSentencesPerLine; ++number) {
      text.append(number > 0 ? " " : "").append(sentence());
    }
    return text + "\n";
  }

 private:
  template <class List>
  const auto& one_of(const List& list) {
    return list[random_.below(static_cast<std::uint32_t>(std::size(list)))];
  }

  std::string sentence() {
    const Subject& subject = one_of(kSubjects);
    const bool many = random_.below(2) == 0;
    std::string text(many ? "All " : "The ");
    if (random_.below(2) == 0) {
      text.append(one_of(kAdjectives)).append(" ");
    }
    text.append(many ? subject.many : subject.one).append(" ");
    text.append(many ? subject.verb_of_many : subject.verb_of_one).append(" ");
    text.append(one_of(kObjects));
    if (random_.below(3) == 0) {
      text.append(" ").append(one_of(kTimes));
    }
    return text + ".";
  }

  random::RandomStream random_;
};

}  // namespace

std::string make_stand_in_text(std::uint64_t seed, std::int64_t bytes) {
  std::string text;
  for (std::uint64_t line = 0; static_cast<std::int64_t>(text.size()) < bytes; ++line) {
    text += Writer(seed, line).line();
  }
  return text;
}

std::string stand_in_text_notice() {
  return "STAND-IN DATA: generated sentences. These figures show that the program runs and nothing "
         "else.";
}

}  // namespace sing::lab::text
