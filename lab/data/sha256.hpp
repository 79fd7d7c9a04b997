// Computes SHA-256 (FIPS 180-4), which identifies official files and packs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sing::lab::data {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  Digest digest() const;  // digest of all bytes added so far

 private:
  void take_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t bytes_ = 0;
};

Digest sha256(std::span<const std::byte> bytes);

std::string hexadecimal(const Digest& digest);

}  // namespace sing::lab::data
