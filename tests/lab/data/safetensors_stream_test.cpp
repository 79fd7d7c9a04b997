// Checks streamed safetensors files, using the library's reader for the types that it knows.
#include "lab/data/safetensors_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sing/base/error.hpp"
#include "sing/io/safetensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::data {
namespace {

using test::message_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Element>
std::span<const std::byte> bytes_of(const std::vector<Element>& elements) {
  return std::as_bytes(std::span(elements));
}

TEST(SafetensorsStream, TheLibraryReadsWhatWasWrittenInPieces) {
  const test::TemporaryFolder folder;
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 0.5F);
  SafetensorsStream file(folder / "x", {{"seed", "3"}},
                         {{"b", ElementType::kFloat32, {2, 2}}, {"a", ElementType::kFloat32, {2}}});
  file.write(bytes_of(values).first(7));
  file.write(bytes_of(values).subspan(7));
  file.commit();
  const SafetensorsReader reader(folder / "x");
  EXPECT_EQ(reader.metadata().at("seed"), "3");
  ASSERT_EQ(reader.tensors().size(), 2U);
  std::vector<float> read(6);
  reader.read(*reader.find("b"), reinterpret_cast<std::byte*>(read.data()));
  reader.read(*reader.find("a"), reinterpret_cast<std::byte*>(read.data() + 4));
  EXPECT_EQ(read, values);
  EXPECT_EQ(reader.find("b")->shape, (std::vector<std::int64_t>{2, 2}));
}

TEST(SafetensorsStream, BytesFollowFloats) {
  const test::TemporaryFolder folder;
  SafetensorsStream file(folder / "x", {},
                         {{"f", ElementType::kFloat32, {1, 3}}, {"u", ElementType::kUInt8, {5}}});
  file.write(bytes_of(std::vector<float>{1, 2, 3}));
  file.write(bytes_of(std::vector<std::uint8_t>{9, 8, 7, 6, 5}));
  file.commit();
  const std::string text = test::read_whole(folder / "x");
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(text.size(), 8 + length + 17);
  const auto header = nlohmann::json::parse(text.substr(8, length));
  EXPECT_EQ(header["f"]["dtype"], "F32");
  EXPECT_EQ(header["u"]["dtype"], "U8");
  EXPECT_EQ(header["u"]["data_offsets"], (std::vector<int>{12, 17}));
  EXPECT_EQ(text.substr(8 + length + 12), "\x09\x08\x07\x06\x05");
}

TEST(SafetensorsStream, WithoutAllBytesNoFileAppears) {
  const test::TemporaryFolder folder;
  {
    SafetensorsStream file(folder / "x", {}, {{"u", ElementType::kUInt8, {5}}});
    file.write(bytes_of(std::vector<std::uint8_t>{1, 2, 3}));
    EXPECT_THAT(message_of<std::logic_error>([&] { file.commit(); }), HasSubstr("2 bytes"));
    EXPECT_THAT(message_of<std::logic_error>(
                    [&] { file.write(bytes_of(std::vector<std::uint8_t>{1, 2, 3})); }),
                HasSubstr("at most 2 more bytes, got 3"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SafetensorsStream, RefusesShapesThatCannotBe) {
  const test::TemporaryFolder folder;
  const auto message = [&](const std::vector<std::int64_t>& shape) {
    return message_of<std::invalid_argument>(
        [&] { SafetensorsStream(folder / "x", {}, {{"huge", ElementType::kFloat32, shape}}); });
  };
  EXPECT_THAT(message({-1}), HasSubstr("huge"));
  EXPECT_THAT(message({std::int64_t{1} << 40, std::int64_t{1} << 40}), HasSubstr("huge"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace sing::lab::data
