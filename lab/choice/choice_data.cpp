// Reads the files of a set and divides them by context.
#include "lab/choice/choice_data.hpp"

#include <algorithm>
#include <unordered_map>

#include "lab/choice/choice_files.hpp"
#include "lab/data/sha256.hpp"
#include "lab/random/shuffled.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::choice {
namespace {

constexpr std::uint64_t kSplitSeed = 0;
constexpr std::uint32_t kSplitPurpose = 0xC401CE;
constexpr std::size_t kTenths = 10;
constexpr std::size_t kTestTenths = 2;

enum class SplitPart : std::uint8_t { kTraining, kValidation, kTest };

// SplitPart of each context, by its place in the order of the first questions.
std::vector<SplitPart> parts_of(std::size_t contexts) {
  SING_CHECK(contexts >= kTenths, "[choice] wanted {} contexts or more to divide, got {}", kTenths,
             contexts);
  const std::vector<std::uint64_t> order = random::shuffled(
      static_cast<std::int64_t>(contexts), random::RandomStream(kSplitSeed, 0, kSplitPurpose));
  const std::size_t test = contexts * kTestTenths / kTenths;
  const std::size_t validation = contexts / kTenths;
  std::vector<SplitPart> parts(contexts, SplitPart::kTraining);
  for (std::size_t i = 0; i < test + validation; ++i) {
    parts[order[i]] = i < test ? SplitPart::kTest : SplitPart::kValidation;
  }
  return parts;
}

ChoiceData read_swag(const std::filesystem::path& folder, data::EvaluationSet evaluate_on) {
  data::Sha256 hash;
  const auto read = [&](const char* name) {
    const std::filesystem::path path = folder / name;
    const std::string content = read_choice_file(path);
    hash.add(std::as_bytes(std::span(content)));
    return parse_swag(content, path.string());
  };
  ChoiceData data{.training = read("train.csv"), .evaluation = {}, .digest = {}, .notice = {}};
  if (evaluate_on == data::EvaluationSet::kTest) {
    data.evaluation = read("val.csv");
  } else {
    // SWAG's own validation set is the test set, so a part of the training set stands for it; the
    // tenths that split() tests on are trained on.
    ChoiceSplit parts = split(data.training);
    data.training = std::move(parts.training);
    data.training.insert(data.training.end(), parts.test.begin(), parts.test.end());
    data.evaluation = std::move(parts.validation);
  }
  data.digest = data::hexadecimal(hash.digest());
  return data;
}

}  // namespace

ChoiceSplit split(const std::vector<ChoiceItem>& items) {
  std::unordered_map<std::string, std::size_t> contexts;
  for (const ChoiceItem& item : items) {
    contexts.emplace(item.context, contexts.size());
  }
  const std::vector<SplitPart> parts = parts_of(contexts.size());
  ChoiceSplit divided;
  for (const ChoiceItem& item : items) {
    const SplitPart part = parts[contexts.at(item.context)];
    (part == SplitPart::kTraining     ? divided.training
     : part == SplitPart::kValidation ? divided.validation
                                      : divided.test)
        .push_back(item);
  }
  return divided;
}

ChoiceData read_choice_data(ChoiceSet set, const std::filesystem::path& path,
                            data::EvaluationSet evaluate_on) {
  if (set == ChoiceSet::kSwag) {
    return read_swag(path, evaluate_on);
  }
  const std::string content = read_choice_file(path);
  ChoiceSplit parts = split(set == ChoiceSet::kHellaSwag ? parse_hellaswag(content, path.string())
                                                         : parse_codah(content, path.string()));
  const bool validates = evaluate_on == data::EvaluationSet::kValidation;
  return {
      .training = std::move(parts.training),
      .evaluation = std::move(validates ? parts.validation : parts.test),
      .digest = data::hexadecimal(data::sha256(std::as_bytes(std::span(content)))),
      .notice = fmt::format("STAND-IN FOR SWAG: {} in a division of our own, 7 tenths for "
                            "training, 1 for validation, 2 for the test; its accuracy compares "
                            "with no published number",
                            set == ChoiceSet::kHellaSwag ? "HellaSwag's validation set" : "CODAH")};
}

}  // namespace sing::lab::choice
