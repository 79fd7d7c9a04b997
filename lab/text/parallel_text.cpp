// Reads and splits parallel text.
#include "lab/text/parallel_text.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "lab/random/shuffled.hpp"
#include "lab/text/lines.hpp"
#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

constexpr std::uint32_t kSplitPurpose = 0x73706c74;  // no other random numbers are drawn with it

std::optional<std::string_view> column_of(std::string_view line, std::int64_t number) {
  for (std::int64_t column = 1; column < number; ++column) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return std::nullopt;
    }
    line.remove_prefix(tab + 1);
  }
  return line.substr(0, line.find('\t'));
}

// Returns what sentences are compared by.
std::string folded(std::string_view sentence) {
  std::string letters;
  for (const char character : sentence) {
    const bool is_upper = character >= 'A' && character <= 'Z';
    const bool is_letter = (character >= 'a' && character <= 'z') || character < 0;
    if (is_upper || is_letter || (character >= '0' && character <= '9')) {
      letters += is_upper ? static_cast<char>(character - 'A' + 'a') : character;
    }
  }
  return letters.empty() ? std::string(sentence) : letters;
}

// The sentences of one part in both languages, folded.
class Sentences {
 public:
  bool has_either(const std::string& source, const std::string& target) const {
    return source_.contains(source) || target_.contains(target);
  }
  void add(const std::string& source, const std::string& target) {
    source_.insert(source);
    target_.insert(target);
  }

 private:
  std::unordered_set<std::string> source_, target_;
};

}  // namespace

void ParallelText::add(std::string source_line, std::string target_line) {
  source.push_back(std::move(source_line));
  target.push_back(std::move(target_line));
}

ParallelText read_parallel_text(const std::filesystem::path& source,
                                const std::filesystem::path& target) {
  ParallelText text{read_lines(source), read_lines(target)};
  SING_CHECK(text.source.size() == text.target.size(),
             "[text] wanted as many lines in '{}' as the {} of '{}', got {}", target.string(),
             text.source.size(), source.string(), text.target.size());
  SING_CHECK(text.size() > 0, "[text] wanted lines in '{}', got none", source.string());
  return text;
}

ParallelText read_parallel_table(const std::filesystem::path& path, std::int64_t source_column,
                                 std::int64_t target_column) {
  ParallelText text;
  for (const std::string& line : read_lines(path)) {
    const auto source = column_of(line, source_column);
    const auto target = column_of(line, target_column);
    SING_CHECK(source && target, "[text] wanted columns {} and {} in line {} of '{}', got '{}'",
               source_column, target_column, text.size() + 1, path.string(), line);
    text.add(std::string(*source), std::string(*target));
  }
  SING_CHECK(text.size() > 0, "[text] wanted lines in '{}', got none", path.string());
  return text;
}

ParallelText without_empty_lines(ParallelText text) {
  ParallelText kept;
  for (std::size_t pair = 0; pair < text.size(); ++pair) {
    if (!split_words(text.source[pair]).empty() && !split_words(text.target[pair]).empty()) {
      kept.add(std::move(text.source[pair]), std::move(text.target[pair]));
    }
  }
  return kept;
}

SplitText split_text(const ParallelText& text, std::int64_t validation_count,
                     std::int64_t test_count) {
  SplitText split;
  Sentences evaluated;  // those of either part
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::vector<std::uint64_t> rest;
  for (const std::uint64_t place :
       random::shuffled(static_cast<std::int64_t>(text.size()), {0, 0, kSplitPurpose})) {
    const std::string& source = text.source[place];
    const std::string& target = text.target[place];
    if (!seen.emplace(source, target).second) {
      ++split.repeated;
      continue;
    }
    const std::string source_key = folded(source);
    const std::string target_key = folded(target);
    const bool is_test = static_cast<std::int64_t>(split.test.size()) < test_count;
    const bool is_validation =
        static_cast<std::int64_t>(split.validation.size()) < validation_count;
    if (!is_test && !is_validation) {
      rest.push_back(place);
    } else if (evaluated.has_either(source_key, target_key)) {
      ++split.kept_apart;
    } else {
      evaluated.add(source_key, target_key);
      (is_test ? split.test : split.validation).add(source, target);
    }
  }
  std::sort(rest.begin(), rest.end());  // training keeps the order of the text
  for (const std::uint64_t place : rest) {
    if (evaluated.has_either(folded(text.source[place]), folded(text.target[place]))) {
      ++split.kept_apart;
    } else {
      split.training.add(text.source[place], text.target[place]);
    }
  }
  SING_CHECK(static_cast<std::int64_t>(split.test.size()) == test_count &&
                 static_cast<std::int64_t>(split.validation.size()) == validation_count &&
                 split.training.size() > 0,
             "[text] wanted {} pairs for the test, {} for validation and others to train on, got "
             "{}, {} and {} of {} pairs",
             test_count, validation_count, split.test.size(), split.validation.size(),
             split.training.size(), text.size());
  return split;
}

}  // namespace sing::lab::text
