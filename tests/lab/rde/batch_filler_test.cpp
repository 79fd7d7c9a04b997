// Checks that batches have the same bytes everywhere, and that all their parts agree.
#include "lab/rde/batch_filler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lab/rde/epochs.hpp"
#include "lab/rde/set_file.hpp"
#include "tests/lab/rde/variants.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::rde {
namespace {

using sing::test::message_of;
using ::testing::HasSubstr;

struct Batch {
  Batch(const RdeOptions& options, std::size_t count)
      : images(count * pixels_of(options), -1),
        targets(images.size(), -1),
        rectangles(images.size(), 255),
        greys(count * static_cast<std::size_t>(options.rectangles + 1), -1),
        levels(greys.size(), -1) {}

  static std::size_t pixels_of(const RdeOptions& options) {
    return static_cast<std::size_t>(options.image_size * options.image_size);
  }
  BatchBuffers buffers() {
    return {images.data(), targets.data(), rectangles.data(), greys.data(), levels.data()};
  }
  bool operator==(const Batch&) const = default;

  std::vector<float> images;
  std::vector<float> targets;
  std::vector<std::uint8_t> rectangles;
  std::vector<float> greys;
  std::vector<float> levels;
};

std::vector<std::uint64_t> indices_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

Batch filled(const RdeOptions& options, const std::vector<std::uint64_t>& indices, int threads) {
  Batch batch(options, indices.size());
  BatchFiller(options, 42, threads).fill(indices, batch.buffers());
  return batch;
}

// Computes the 64-bit FNV-1a hash.
class Hash {
 public:
  template <class Element>
  void add(const std::vector<Element>& elements) {
    for (const std::byte byte : std::as_bytes(std::span(elements))) {
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// These are the bytes of 32 training and 32 test images: changing them makes a new data set, whose
// results cannot be compared with those of the old one.
TEST(RdeBatchFiller, MakesTheSameBytesOnEveryMachine) {
  const std::map<std::string, std::uint64_t> expected = {
      {"default", 0x38a0102bc6cd2e0c}, {"one", 0x2a220c8b9ebe508d},
      {"two", 0x05747385488cfff6},     {"chain", 0x282c821fc06e4dbf},
      {"eight", 0x2a3f9fdc0da01376},   {"chain_of_five", 0xf3fad21db47f0979},
      {"small", 0xbafb1a01afa48b5f},   {"odd_size", 0xed740db98903ff5d},
  };
  for (const test::Variant& variant : test::variants()) {
    Hash hash;
    for (const std::uint64_t split : {std::uint64_t{0}, kTestImages}) {
      const Batch batch = filled(variant.options, indices_from(split, 32), 2);
      hash.add(batch.images);
      hash.add(batch.targets);
      hash.add(batch.rectangles);
      hash.add(batch.greys);
      hash.add(batch.levels);
    }
    EXPECT_EQ(hash.value(), expected.at(variant.name))
        << variant.name << " 0x" << std::hex << hash.value();
  }
}

TEST(RdeBatchFiller, TheNumberOfThreadsChangesNoByte) {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 61U}) {
    const auto indices = indices_from(1000, count);
    const Batch one = filled({}, indices, 1);
    for (const int threads : {2, 3, 8}) {
      EXPECT_TRUE(filled({}, indices, threads) == one) << count << " images, " << threads;
    }
  }
}

TEST(RdeBatchFiller, AnImageDoesNotDependOnItsPlaceInTheBatch) {
  const Batch there = filled({}, {7, 5, 6, 5}, 2);
  const Batch alone = filled({}, {5}, 1);
  const std::size_t pixels = 128 * 128;
  for (const std::size_t place : {1U, 3U}) {
    EXPECT_TRUE(std::equal(alone.images.begin(), alone.images.end(),
                           there.images.begin() + static_cast<std::ptrdiff_t>(place * pixels)));
    EXPECT_TRUE(
        std::equal(alone.greys.begin(), alone.greys.end(),
                   there.greys.begin() + static_cast<std::ptrdiff_t>(place * alone.greys.size())));
  }
}

TEST(RdeBatchFiller, TheSmallPartsHoldTheWholeImage) {
  for (const test::Variant& variant : test::variants()) {
    const Batch batch = filled(variant.options, indices_from(0, 10), 2);
    const std::size_t pixels = Batch::pixels_of(variant.options);
    const auto entries = static_cast<std::size_t>(variant.options.rectangles + 1);
    for (std::size_t at = 0; at < batch.images.size(); ++at) {
      const std::size_t entry = at / pixels * entries + batch.rectangles[at];
      ASSERT_EQ(batch.images[at], batch.greys[entry]) << variant.name;
      ASSERT_EQ(batch.targets[at], batch.levels[entry]) << variant.name;
    }
  }
}

TEST(RdeBatchFiller, ANullPartIsLeftOut) {
  Batch batch({}, 2);
  const Batch whole = filled({}, {0, 1}, 1);
  BatchFiller filler({}, 42, 1);
  const std::vector<std::uint64_t> indices = {0, 1};
  filler.fill(indices, {.targets = batch.targets.data()});
  EXPECT_EQ(batch.targets, whole.targets);
  EXPECT_EQ(batch.images, std::vector<float>(2 * 128 * 128, -1.0F));
  filler.fill(indices, {.rectangles = batch.rectangles.data(), .levels = batch.levels.data()});
  EXPECT_EQ(batch.rectangles, whole.rectangles);
  EXPECT_EQ(batch.levels, whole.levels);
}

TEST(RdeBatchFiller, RethrowsTheExceptionOfAThread) {
  const RdeOptions impossible{
      .rectangles = 5, .image_size = 4, .min_side = 1, .max_side = 4, .min_visible = 1};
  BatchFiller filler(impossible, 0, 2);
  const auto indices = indices_from(0, 8);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { filler.fill(indices, {}); }),
              HasSubstr("got none"));
}

TEST(RdeBatchFiller, RefusesBadOptions) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { BatchFiller({.min_side = 0}, 0, 1); }),
              HasSubstr("wanted min_side"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { BatchFiller({}, 0, 0); }),
              HasSubstr("at least 1 thread, got 0"));
}

// The set has more images than one piece of the stream.
TEST(RdeSetFile, HoldsTheBytesOfTheBatch) {
  const sing::test::TemporaryFolder folder;
  const RdeOptions options = test::variants().at(6).options;
  const auto indices = indices_from(kTestImages, 300);
  write_set(folder / "set.safetensors", {options, 42, 2}, indices);
  const std::string text = sing::test::read_whole(folder / "set.safetensors");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data(), 8);
  const Batch batch = filled(options, indices, 1);
  std::string expected;
  const auto append = [&](const auto& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    const std::size_t before = expected.size();
    expected.resize(before + bytes.size());
    std::memcpy(expected.data() + before, bytes.data(), bytes.size());
  };
  append(batch.images);
  append(batch.targets);
  append(batch.rectangles);
  EXPECT_TRUE(text.substr(8 + header_bytes) == expected);
  const std::string header = text.substr(8, header_bytes);
  EXPECT_THAT(header, HasSubstr(R"("split":"test")"));
  EXPECT_THAT(header, HasSubstr(R"("seed":"42")"));
  EXPECT_THAT(header, HasSubstr(R"("labels":"stack")"));
  EXPECT_THAT(header, HasSubstr(R"("image_size":"32")"));
}

}  // namespace
}  // namespace sing::lab::rde
