// Tests that a checkpoint's checksum covers everything in the file.
#include "lab/loop/content_checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sing::test {
namespace {

using Metadata = std::map<std::string, std::string>;

const std::array<std::uint8_t, 8> kOnes = {1, 1, 1, 1, 1, 1, 1, 1};
const std::array<std::uint8_t, 8> kTwos = {2, 2, 2, 2, 2, 2, 2, 2};

TensorBytes tensor(const std::string& name, const std::array<std::uint8_t, 8>& bytes,
                   Dtype dtype = Dtype::kFloat32, const std::vector<std::int64_t>& shape = {2}) {
  return {{name, dtype, shape}, reinterpret_cast<const std::byte*>(bytes.data())};
}

std::string sum_of(const std::vector<TensorBytes>& tensors, const Metadata& metadata = {}) {
  return lab::loop::content_checksum(tensors, metadata);
}

TEST(ContentChecksum, DoesNotDependOnTheOrderOfTensors) {
  EXPECT_EQ(sum_of({tensor("a", kOnes), tensor("b", kTwos)}),
            sum_of({tensor("b", kTwos), tensor("a", kOnes)}));
}

// zlib.crc32(b"state = 1\na float32 [2]\n" + b"\1" * 8 + b"b float32 [2]\n" + b"\2" * 8) in Python.
TEST(ContentChecksum, IsTheCrcOfTheContentInTheOrderOfNames) {
  EXPECT_EQ(sum_of({tensor("b", kTwos), tensor("a", kOnes)}, {{"state", "1"}}), "0a5acd4b");
}

TEST(ContentChecksum, CoversNamesTypesShapesAndBytes) {
  const std::string sum = sum_of({tensor("a", kOnes), tensor("b", kTwos)});
  EXPECT_NE(sum, sum_of({tensor("a", kTwos), tensor("b", kOnes)}));
  EXPECT_NE(sum, sum_of({tensor("a", kOnes), tensor("c", kTwos)}));
  EXPECT_NE(sum, sum_of({tensor("a", kOnes), tensor("b", kOnes)}));
  EXPECT_NE(sum, sum_of({tensor("a", kOnes)}));
  EXPECT_NE(sum, sum_of({tensor("a", kOnes), tensor("b", kTwos, Dtype::kInt64, {1})}));
  EXPECT_NE(sum, sum_of({tensor("a", kOnes), tensor("b", kTwos, Dtype::kFloat32, {1, 2})}));
}

TEST(ContentChecksum, CoversMetadataExceptItself) {
  const std::vector<TensorBytes> tensors = {tensor("a", kOnes)};
  const std::string sum = sum_of(tensors, {{"state", "1"}, {"format", "x"}});
  EXPECT_NE(sum, sum_of(tensors, {{"state", "2"}, {"format", "x"}}));
  EXPECT_NE(sum, sum_of(tensors, {{"state", "x"}, {"format", "1"}}));
  EXPECT_NE(sum, sum_of(tensors, {{"state", "1"}}));
  EXPECT_EQ(sum, sum_of(tensors, {{"state", "1"}, {"format", "x"}, {"checksum", "abc"}}));
}

}  // namespace
}  // namespace sing::test
