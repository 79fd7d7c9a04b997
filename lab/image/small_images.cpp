// Tells one set from another.
#include "lab/image/small_images.hpp"

#include "lab/image/sha256.hpp"

namespace sing::image {

std::string digest_of(const SmallSet& set) {
  Sha256 hash;
  for (const SmallSubset& subset : set.subsets) {
    hash.add(std::as_bytes(std::span(subset.pixels)));
    hash.add(std::as_bytes(std::span(subset.labels)));
  }
  return hexadecimal(hash.digest());
}

}  // namespace sing::image
