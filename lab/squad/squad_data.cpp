// Reads and divides the sets.
#include "lab/squad/squad_data.hpp"

#include <algorithm>
#include <unordered_set>

#include "lab/data/mapped_file.hpp"
#include "lab/data/sha256.hpp"
#include "lab/random/shuffled.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

constexpr std::uint64_t kHoldOutSeed = 0;
constexpr std::uint32_t kHoldOutPurpose = 0x5AD;
constexpr std::size_t kHoldOutShare = 10;  // one of so many

}  // namespace

std::vector<Paragraph> hold_out_articles(std::vector<Paragraph>& training) {
  const std::size_t articles = training.empty() ? 0 : training.back().article + 1;
  SING_CHECK(articles >= 2, "[squad] wanted 2 articles or more to hold some out, got {}", articles);
  const std::vector<std::uint64_t> order = random::shuffled(
      static_cast<std::int64_t>(articles), random::RandomStream(kHoldOutSeed, 0, kHoldOutPurpose));
  const std::size_t count = std::max<std::size_t>(1, articles / kHoldOutShare);
  const std::unordered_set<std::uint64_t> chosen(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  const auto first_held = std::stable_partition(
      training.begin(), training.end(),
      [&](const Paragraph& paragraph) { return !chosen.contains(paragraph.article); });
  std::vector<Paragraph> held(std::make_move_iterator(first_held),
                              std::make_move_iterator(training.end()));
  training.erase(first_held, training.end());
  return held;
}

SquadTexts read_squad_folder(const std::filesystem::path& folder, data::EvaluationSet evaluate_on) {
  data::Sha256 hash;
  const auto read = [&](const char* name) {
    std::vector<Paragraph> paragraphs = read_squad(folder / name);
    hash.add(data::MappedFile(folder / name).bytes());
    return paragraphs;
  };
  SquadTexts texts;
  texts.training = read("train-v1.1.json");
  texts.evaluation = evaluate_on == data::EvaluationSet::kValidation
                         ? hold_out_articles(texts.training)
                         : read("dev-v1.1.json");
  texts.digest = data::hexadecimal(hash.digest());
  return texts;
}

}  // namespace sing::lab::squad
