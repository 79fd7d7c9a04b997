// Computes the digest of a set of small images, and splits one.
#include "lab/image/small_images.hpp"

#include "lab/data/sha256.hpp"
#include "lab/image/hold_out.hpp"

namespace sing::lab::image {
namespace {

SmallSubset chosen(const SmallSubset& from, const std::vector<std::uint64_t>& places,
                   std::int64_t values) {
  SmallSubset subset;
  for (const std::uint64_t place : places) {
    const auto first = from.pixels.begin() + static_cast<std::int64_t>(place) * values;
    subset.pixels.insert(subset.pixels.end(), first, first + values);
    subset.labels.push_back(from.labels[place]);
  }
  return subset;
}

}  // namespace

SmallSet with_validation(const SmallSet& set) {
  const SmallSubset& training = set.subsets[0];
  const HoldOut split = hold_out(training.count());
  return {set.shape,
          {chosen(training, split.kept, set.shape.values()),
           chosen(training, split.held, set.shape.values())}};
}

std::string digest_of(const SmallSet& set) {
  data::Sha256 hash;
  for (const SmallSubset& subset : set.subsets) {
    hash.add(std::as_bytes(std::span(subset.pixels)));
    hash.add(std::as_bytes(std::span(subset.labels)));
  }
  return data::hexadecimal(hash.digest());
}

}  // namespace sing::lab::image
