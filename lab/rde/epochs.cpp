// Lists the images of an epoch.
#include "lab/rde/epochs.hpp"

#include <cstddef>
#include <numeric>

#include "lab/random/shuffled.hpp"

namespace sing::lab::rde {
namespace {

// Scenes use the purposes up to 0x8000'0000.
constexpr std::uint32_t kOrderPurpose = 0x8000'0001;

std::vector<std::uint64_t> count_from(std::uint64_t first, std::int64_t count) {
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

}  // namespace

std::vector<std::uint64_t> training_indices(const SetOptions& options, std::uint64_t seed,
                                            std::uint64_t epoch) {
  if (!options.fixed) {
    return count_from(epoch * static_cast<std::uint64_t>(options.train_count), options.train_count);
  }
  return random::shuffled(options.train_count, random::RandomStream(seed, epoch, kOrderPurpose));
}

std::vector<std::uint64_t> evaluation_indices(const SetOptions& options, data::EvaluationSet set) {
  return count_from(set == data::EvaluationSet::kTest ? kTestImages : kValidationImages,
                    options.test_count);
}

}  // namespace sing::lab::rde
