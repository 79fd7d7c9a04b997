// Tokenizes and shortens.
#include "lab/choice/choice_sequences.hpp"

#include <vector>

namespace sing::lab::choice {

std::array<encoder::Sequence, kEndings> sequences_of(const ChoiceItem& item,
                                                     const encoder::TextPairs& pairs,
                                                     std::int64_t length) {
  const std::vector<text::PlacedToken> context = pairs.tokens(item.context);
  const auto room = static_cast<std::size_t>(length - pairs.special_count());
  std::array<encoder::Sequence, kEndings> sequences;
  for (std::size_t each = 0; each < kEndings; ++each) {
    const std::string& ending = item.endings[each];
    std::vector<text::PlacedToken> first = context;
    std::vector<text::PlacedToken> second =
        pairs.tokens(item.begin.empty() ? ending : item.begin + " " + ending);
    while (first.size() + second.size() > room) {
      (first.size() > second.size() ? first : second).pop_back();
    }
    sequences[each] = pairs.join(first, second);
  }
  return sequences;
}

}  // namespace sing::lab::choice
