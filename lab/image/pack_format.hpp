// Defines the layout of a pack file, which is little-endian:
//
//   PackHeader | the images' bytes | index | PackFooter
//
// The index holds the number of classes (u32), the length (u32) and bytes of each class name, the
// numbers of training and of test images (u64 each), and a PackEntry for every image, training
// images first.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "lab/data/sha256.hpp"

namespace sing::lab::image {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::array<char, 8> kPackBegin = {'S', 'I', 'N', 'G', 'P', 'A', 'C', 'K'};
inline constexpr std::array<char, 8> kPackEnd = {'P', 'A', 'C', 'K', 'E', 'N', 'D', '.'};
inline constexpr std::uint32_t kPackVersion = 1;

struct PackHeader {
  std::array<char, 8> begin = kPackBegin;
  std::uint32_t version = kPackVersion;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PackHeader) == 16);

struct PackEntry {
  std::uint64_t offset = 0;    // from the start of the file
  std::uint64_t checksum = 0;  // the first 8 bytes of the SHA-256 of the image's bytes
  std::uint32_t bytes = 0;
  std::uint32_t label = 0;
  std::uint16_t width = 0;
  std::uint16_t height = 0;
  std::uint32_t encoding = 0;  // an Encoding
};
static_assert(sizeof(PackEntry) == 32);

// The footer comes last, so that a truncated file is recognized by its absence.
struct PackFooter {
  std::uint64_t index_offset = 0;
  std::uint64_t index_bytes = 0;
  data::Digest index_digest{};  // SHA-256 of the index
  std::array<char, 8> end = kPackEnd;
};
static_assert(sizeof(PackFooter) == 56);

inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  const data::Digest digest = data::sha256(bytes);
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    checksum |= std::uint64_t{digest[i]} << (8 * i);
  }
  return checksum;
}

}  // namespace sing::lab::image
