// Writes the sentences of the stand-in.
#include "lab/choice/stand_in.hpp"

#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "lab/random/random_stream.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::choice {
namespace {

constexpr std::uint64_t kSeed = 2;

struct Craft {
  std::string_view person, work;
};
constexpr std::array<Craft, 8> kCrafts = {{{"cook", "stirs a hot soup"},
                                           {"painter", "mixes some blue color"},
                                           {"sailor", "pulls on the long rope"},
                                           {"farmer", "waters the young plants"},
                                           {"tailor", "threads a thin needle"},
                                           {"baker", "kneads the soft dough"},
                                           {"doctor", "listens to a heart"},
                                           {"teacher", "reads from a book"}}};
constexpr std::array<std::string_view, 4> kPlaces = {"morning", "evening", "rain", "sun"};
constexpr std::array<std::string_view, 3> kNames = {"she", "he", "everyone"};

template <class List>
const auto& any_of(const List& list, random::RandomStream& random) {
  return list[random.below(static_cast<std::uint32_t>(list.size()))];
}

}  // namespace

std::vector<ChoiceItem> make_stand_in(std::int64_t count, std::uint32_t purpose) {
  std::vector<ChoiceItem> items;
  for (std::int64_t number = 0; number < count; ++number) {
    random::RandomStream random(kSeed, static_cast<std::uint64_t>(number), purpose);
    std::array<std::size_t, kCrafts.size()> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
    }
    const std::size_t right = random.below(kEndings);
    ChoiceItem item{fmt::format("{} looks at a {} in the {}.", any_of(kNames, random),
                                kCrafts[order[right]].person, any_of(kPlaces, random)),
                    "the person",
                    {},
                    static_cast<std::int64_t>(right)};
    for (std::size_t each = 0; each < kEndings; ++each) {
      item.endings[each] = fmt::format("{}.", kCrafts[order[each]].work);
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<std::string> stand_in_words() {
  std::set<std::string> words = {"looks", "at", "a", "in", "the", "person", "."};
  const auto add = [&](std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      words.emplace(text.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  for (const Craft& each : kCrafts) {
    add(each.person);
    add(each.work);
  }
  for (const std::string_view each : kPlaces) {
    add(each);
  }
  for (const std::string_view each : kNames) {
    add(each);
  }
  return {words.begin(), words.end()};
}

}  // namespace sing::lab::choice
