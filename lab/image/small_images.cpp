// Computes the digest of a set of small images.
#include "lab/image/small_images.hpp"

#include "lab/data/sha256.hpp"

namespace sing::lab::image {

std::string digest_of(const SmallSet& set) {
  data::Sha256 hash;
  for (const SmallSubset& subset : set.subsets) {
    hash.add(std::as_bytes(std::span(subset.pixels)));
    hash.add(std::as_bytes(std::span(subset.labels)));
  }
  return data::hexadecimal(hash.digest());
}

}  // namespace sing::lab::image
