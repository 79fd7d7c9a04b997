// Checks safetensors files against bytes written by the format's own Python package, by round trips
// and by every kind of damaged file.
#include "sing/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "sing/base/error.hpp"
#include "sing/io/system_file_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing {
namespace {

using test::message_of;
using test::read_whole;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the file that safetensors 0.8.0 writes with numpy.save_file for weight (2, 2) float32,
// größe () int64, h (1) float16.
std::string python_file() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"größe":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("weight":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)"
      R"("h":{"dtype":"F16","shape":[1],"data_offsets":[24,26]}}  )";
  const std::string payload(
      "\x07\0\0\0\0\0\0\0"
      "\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\x40\x40"
      "\0\x3e",
      26);
  return std::string("\xd0\0\0\0\0\0\0\0", 8) + header + payload;
}

std::string file_of(const std::string& header, const std::string& payload) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + payload;
}

std::string read_tensor(const SafetensorsReader& reader, const TensorEntry& entry) {
  std::string bytes(byte_size_of(entry).value(), '\0');
  reader.read(entry, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

TensorBytes tensor_of(TensorEntry entry, const std::string& bytes) {
  return {std::move(entry), reinterpret_cast<const std::byte*>(bytes.data())};
}

// Checks that the message names the file and the error.
void expect_refused(const std::string& file_bytes, const std::string& reason) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "state.safetensors";
  write_whole(path, file_bytes);
  EXPECT_THAT(message_of<FileError>([&] { SafetensorsReader reader(path); }),
              AllOf(HasSubstr(path.string()), HasSubstr(reason)));
}

void expect_header_refused(const std::string& header, const std::string& payload,
                           const std::string& reason) {
  SCOPED_TRACE(header.substr(0, 200));
  expect_refused(file_of(header, payload), reason);
}

std::string header_with_tensor(const std::string& description) {
  return "{\"w\":{" + description + "}}";
}

TEST(SafetensorsReader, ReadsAFileOfThePythonPackage) {
  const TemporaryFolder folder;
  write_whole(folder / "python.safetensors", python_file());
  const SafetensorsReader reader(folder / "python.safetensors");

  EXPECT_THAT(reader.metadata(),
              ElementsAre(std::pair<const std::string, std::string>("format", "pt")));
  EXPECT_THAT(reader.tensors(), ElementsAre(TensorEntry{"größe", Dtype::kInt64, {}},
                                            TensorEntry{"weight", Dtype::kFloat32, {2, 2}},
                                            TensorEntry{"h", Dtype::kFloat16, {1}}));
  std::array<float, 4> weight = {};
  reader.read(*reader.find("weight"), reinterpret_cast<std::byte*>(weight.data()));
  EXPECT_THAT(weight, ElementsAre(1.0F, -2.0F, 0.5F, 3.0F));
  std::int64_t count = 0;
  reader.read(*reader.find("größe"), reinterpret_cast<std::byte*>(&count));
  EXPECT_EQ(count, 7);
  EXPECT_EQ(read_tensor(reader, *reader.find("h")), std::string("\0\x3e", 2));
  EXPECT_EQ(reader.find("absent"), nullptr);
}

TEST(SafetensorsReader, OrdersTensorsByTheirBytesNotByTheirPlaceInTheHeader) {
  const TemporaryFolder folder;
  write_whole(folder / "a", file_of(R"({"late":{"dtype":"F16","shape":[1],"data_offsets":[2,4]},)"
                                    R"("early":{"data_offsets":[0,2],"shape":[1],"dtype":"BF16"}})",
                                    "abcd"));
  const SafetensorsReader reader(folder / "a");
  EXPECT_THAT(reader.tensors(), ElementsAre(TensorEntry{"early", Dtype::kBFloat16, {1}},
                                            TensorEntry{"late", Dtype::kFloat16, {1}}));
  EXPECT_EQ(read_tensor(reader, reader.tensors()[0]), "ab");
  EXPECT_EQ(read_tensor(reader, reader.tensors()[1]), "cd");
}

TEST(SafetensorsReader, RefusesAnEntryOfAnotherFile) {
  const TemporaryFolder folder;
  write_whole(folder / "a", python_file());
  const SafetensorsReader reader(folder / "a");
  std::byte unused{};
  for (const TensorEntry& foreign :
       {TensorEntry{"other", Dtype::kFloat16, {1}}, TensorEntry{"h", Dtype::kFloat16, {2}},
        TensorEntry{"h", Dtype::kBFloat16, {1}}}) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { reader.read(foreign, &unused); }),
                HasSubstr("'" + foreign.name + "'"));
  }
}

TEST(SafetensorsReader, SaysWhenTheFileShrinksBehindIt) {
  const TemporaryFolder folder;
  write_whole(folder / "a", python_file());
  const SafetensorsReader reader(folder / "a");
  std::filesystem::resize_file(folder / "a", python_file().size() - 1);
  EXPECT_THAT(message_of<FileError>([&] { read_tensor(reader, *reader.find("h")); }),
              AllOf(HasSubstr((folder / "a").string()), HasSubstr("became shorter")));
}

TEST(SafetensorsReader, RefusesEveryTruncationAndAnyExtraByte) {
  const std::string whole = python_file();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    expect_refused(whole.substr(0, length), "truncated");
  }
  expect_refused(whole + 'x', "wanted 26 bytes of tensors after the header, got 27");
  expect_refused(file_of("{}", "x"), "wanted 0 bytes of tensors after the header, got 1");
}

TEST(SafetensorsReader, RefusesForeignFiles) {
  expect_refused("", "got 0");
  expect_refused("\x89PNG\r\n\x1a\n and some more bytes of the picture", "not a safetensors file");
  expect_refused(file_of("", ""), "begins with '{'");
  expect_refused(file_of(" {}", ""), "begins with '{'");
  expect_refused(file_of("\xef\xbb\xbf{}", ""), "begins with '{'");
  expect_refused(file_of("[]", ""), "begins with '{'");
}

TEST(SafetensorsReader, RefusesAHeaderAboveTheLimitOfTheFormat) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "large";
  const std::uint64_t length = kMaxHeaderBytes + 1;
  write_whole(path, std::string(reinterpret_cast<const char*>(&length), sizeof length));
  std::filesystem::resize_file(path, 8 + length);  // sparse: takes no disk space
  EXPECT_THAT(message_of<FileError>([&] { SafetensorsReader reader(path); }),
              AllOf(HasSubstr(path.string()), HasSubstr("at most 100000000")));
}

TEST(SafetensorsReader, SaysWhyAPathCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<FileError>([&] { SafetensorsReader reader(folder / "missing"); }),
              AllOf(HasSubstr((folder / "missing").string()), HasSubstr("No such file")));
  EXPECT_THAT(message_of<FileError>([&] { SafetensorsReader reader(folder.path()); }),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("a directory")));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<FileError>([&] { SafetensorsReader reader(folder / "pipe"); }),
              HasSubstr("wanted a regular file"));

  const auto number_of = [](const std::filesystem::path& path) {
    try {
      SafetensorsReader reader(path);
      return 0;
    } catch (const SystemFileError& error) {
      return error.number;
    }
  };
  EXPECT_EQ(number_of(folder / "missing"), ENOENT);
  EXPECT_EQ(number_of(folder.path()), EISDIR);

  write_whole(folder / "secret", python_file());
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::none);
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;  // root could read the file
  if (is_root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const std::string message =
      message_of<FileError>([&] { SafetensorsReader reader(folder / "secret"); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(message, AllOf(HasSubstr("secret"), HasSubstr("Permission denied")));
}

TEST(SafetensorsReader, RefusesTextThatIsNotJson) {
  for (const std::string& header :
       {std::string("{"), std::string("{}}"), std::string("{} x"), std::string("{/**/}"),
        std::string(R"({"a" 1})"), std::string(R"({"w":{"shape":[1,]}})"),
        std::string(R"({"w":{"shape":[1e999]}})"), std::string("{\"\xff\":{}}"),
        std::string(R"({"\ud800":{}})"), std::string("{}\0", 3),
        std::string("{\"a\0b\":{}}", 10)}) {
    expect_header_refused(header, "", "wanted valid JSON");
  }
}

TEST(SafetensorsReader, RefusesAnotherStructure) {
  expect_header_refused(R"({"w":1})", "", R"("w": wanted an object, got 1)");
  expect_header_refused(R"({"w":[]})", "", R"("w": wanted an object, got an array)");
  expect_header_refused(R"({"w":null})", "", "got null");
  expect_header_refused(R"({"w":{"dtype":{}}})", "", R"("w": "dtype": wanted a string)");
  expect_header_refused(R"({"w":{"dtype":3}})", "", R"("w": "dtype": wanted a string, got 3)");
  expect_header_refused(R"({"w":{"dtype":"F32","shape":"2"}})", "",
                        R"("w": "shape": wanted an array)");
  expect_header_refused(R"({"w":{"color":"red"}})", "",
                        R"("w": wanted the keys dtype, shape and data_offsets, got "color")");
  expect_header_refused(R"({"__metadata__":{"a":1}})", "", R"("a": wanted a string, got 1)");
  expect_header_refused(R"({"__metadata__":{"a":{}}})", "", R"("a": wanted a string)");
  expect_header_refused(R"({"__metadata__":"a"})", "", R"("__metadata__": wanted an object)");
  for (const std::string& open : {std::string("["), std::string("{\"a\":")}) {
    std::string bomb = "{\"w\":";
    for (int depth = 0; depth < 1'000'000; ++depth) {
      bomb += open;
    }
    expect_header_refused(bomb, "", "\"w\": ");
  }
}

TEST(SafetensorsReader, RefusesKeysThatOccurTwiceOrNotAtAll) {
  const std::string empty = R"("dtype":"F32","shape":[0],"data_offsets":[0,0])";
  expect_header_refused(R"({"w":{)" + empty + R"(},"w":{)" + empty + "}}", "",
                        R"(wanted each key once, got "w" twice)");
  expect_header_refused(header_with_tensor(empty + R"(,"shape":[0])"), "",
                        R"("w": wanted each key once, got "shape" twice)");
  expect_header_refused(R"({"__metadata__":{"a":"1","a":"2"}})", "",
                        R"("__metadata__": wanted each key once, got "a" twice)");
  expect_header_refused(R"({"__metadata__":{},"__metadata__":{}})", "",
                        R"(wanted each key once, got "__metadata__" twice)");
  expect_header_refused(header_with_tensor(R"("dtype":"F32","shape":[0])"), "", "data_offsets");
  expect_header_refused(header_with_tensor(R"("dtype":"F32","data_offsets":[0,0])"), "", "shape");
  expect_header_refused(header_with_tensor(R"("shape":[0],"data_offsets":[0,0])"), "", "dtype");
}

TEST(SafetensorsReader, RefusesBadDtypesAndShapes) {
  const auto refuse = [](const std::string& dtype, const std::string& shape, const auto& reason) {
    expect_header_refused(header_with_tensor(R"("dtype":")" + dtype + R"(","shape":)" + shape +
                                             R"(,"data_offsets":[0,4])"),
                          "abcd", reason);
  };
  refuse("I32", "[1]", R"("w": "dtype": wanted one of F32, F64, BF16, F16, I64, got "I32")");
  refuse("f32", "[1]", R"(got "f32")");
  refuse("F32", "[-1]", R"("w": "shape": wanted an integer from 0 to 9223372036854775807, got -1)");
  refuse("F32", "[1.0]", R"("w": "shape": wanted an integer)");
  refuse("F32", "[1e0]", R"("w": "shape": wanted an integer)");
  refuse("F32", "[true]", "got a boolean");
  refuse("F32", "[\"1\"]", R"(got "1")");
  refuse("F32", "[[1]]", R"("w": wanted at most 3 levels of nesting, got more)");
  refuse("F32", "[9223372036854775808]", "got 9223372036854775808");
  refuse("F32", "[99999999999999999999999]", "wanted an integer");
  refuse("F32", "[9223372036854775807]", "that fits 64 bits");
  refuse("F32", "[4294967296,4294967296]", "that fits 64 bits");  // 4 · 2⁶⁴ would wrap to 0
  refuse("F32", "[2]", "wanted 8 bytes for its shape and dtype, got 4");
  refuse("F64", "[1]", "wanted 8 bytes");
  refuse("F16", "[]", "wanted 2 bytes");
}

TEST(SafetensorsReader, RefusesHolesOverlapsAndBadOffsets) {
  const auto refuse = [](const std::string& first, const std::string& second, const auto& reason) {
    expect_header_refused(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":)" + first +
                              R"(},"b":{"dtype":"F16","shape":[1],"data_offsets":)" + second + "}}",
                          "abcd", reason);
  };
  refuse("[0,2]", "[1,3]", R"("b": "data_offsets": wanted to begin at 2)");
  refuse("[0,2]", "[0,2]", R"("b": "data_offsets": wanted to begin at 2)");
  refuse("[0,2]", "[3,5]", R"("b": "data_offsets": wanted to begin at 2)");
  refuse("[2,4]", "[4,6]", R"("a": "data_offsets": wanted to begin at 0)");
  refuse("[2,0]", "[2,4]", R"("a": "data_offsets": wanted [begin, end])");
  refuse("[0]", "[2,4]", R"("a": "data_offsets": wanted [begin, end])");
  refuse("[0,2,2]", "[2,4]", R"("a": "data_offsets": wanted [begin, end])");
  refuse("[-2,0]", "[2,4]", "got -2");
  refuse("[18446744073709551614,18446744073709551615]", "[2,4]", "wanted 2 bytes");
  refuse("[18446744073709551613,18446744073709551615]", "[0,2]", "wanted to begin at 2");
}

TEST(SafetensorsReader, ShowsHostileNamesEscapedAndCut) {
  const std::string name = R"(\u0000\u001b[31m)" + std::string(5'000'000, 'n');
  const TemporaryFolder folder;
  write_whole(folder / "a", file_of("{\"" + name + "\":1}", ""));
  const std::string message =
      message_of<FileError>([&] { SafetensorsReader reader(folder / "a"); });
  EXPECT_THAT(message, HasSubstr(R"("\u0000\u001b[31mnnn)"));
  EXPECT_LT(message.size(), 400U);
}

// The names of the fuzz target's seeds say whether they must be accepted.
TEST(ParseSafetensorsHeader, AcceptsAndRefusesTheFuzzCorpusAsNamed) {
  int accepted = 0;
  int refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(SING_TEST_DATA "/fuzz/corpus")) {
    SCOPED_TRACE(file.path());
    const std::string input = read_whole(file.path());
    std::uint64_t payload_bytes = 0;
    ASSERT_GE(input.size(), sizeof payload_bytes);
    std::memcpy(&payload_bytes, input.data(), sizeof payload_bytes);
    const auto parse = [&] {
      parse_safetensors_header(std::as_bytes(std::span(input)).subspan(sizeof payload_bytes),
                               payload_bytes);
    };
    if (file.path().filename().string().starts_with("accept_")) {
      EXPECT_NO_THROW(parse());
      ++accepted;
    } else {
      EXPECT_THROW(parse(), FileError);
      ++refused;
    }
  }
  EXPECT_GE(accepted, 10);
  EXPECT_GE(refused, 20);
}

TEST(WriteSafetensors, WritesTheBytesOfThePythonPackage) {
  const TemporaryFolder folder;
  const std::array<float, 4> weight = {1.0F, -2.0F, 0.5F, 3.0F};
  const std::int64_t count = 7;
  const std::uint16_t half = 0x3e00;
  const std::vector<TensorBytes> tensors = {
      {{"weight", Dtype::kFloat32, {2, 2}}, reinterpret_cast<const std::byte*>(weight.data())},
      {{"h", Dtype::kFloat16, {1}}, reinterpret_cast<const std::byte*>(&half)},
      {{"größe", Dtype::kInt64, {}}, reinterpret_cast<const std::byte*>(&count)}};
  write_safetensors(folder / "a", {{"format", "pt"}}, tensors);
  EXPECT_EQ(read_whole(folder / "a"), python_file());
}

TEST(WriteSafetensors, RoundTripsEveryDtypeRankAndName) {
  const TemporaryFolder folder;
  std::vector<std::string> bytes;
  std::vector<TensorEntry> entries;
  const std::vector<std::vector<std::int64_t>> shapes = {
      {}, {1}, {7}, {0}, {3, 0, std::numeric_limits<std::int64_t>::max()}, {2, 3, 5}};
  const std::vector<std::string> names = {
      "", "a.b/c", "größe 重み \U0001F600", std::string("nul\0inside", 10), "\"\\\n\x1b", "plain"};
  for (const Dtype dtype :
       {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt64, Dtype::kBFloat16, Dtype::kFloat64}) {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      entries.push_back({names[k] + std::string(name_of(dtype)), dtype, shapes[k]});
      std::string content(byte_size_of(entries.back()).value(), '\0');
      for (std::size_t i = 0; i < content.size(); ++i) {
        content[i] = static_cast<char>(31 * entries.size() + 7 * i);
      }
      bytes.push_back(content);
    }
  }
  std::vector<TensorBytes> tensors;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    tensors.push_back(tensor_of(entries[k], bytes[k]));
  }
  const std::map<std::string, std::string> metadata = {
      {"", ""}, {"version", "1"}, {"größe", std::string("a\0\"", 3)}};
  write_safetensors(folder / "a", metadata, tensors);

  const SafetensorsReader reader(folder / "a");
  EXPECT_EQ(reader.metadata(), metadata);
  ASSERT_EQ(reader.tensors().size(), entries.size());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    ASSERT_NE(reader.find(entries[k].name), nullptr) << entries[k].name;
    EXPECT_EQ(*reader.find(entries[k].name), entries[k]);
    EXPECT_EQ(read_tensor(reader, entries[k]), bytes[k]) << entries[k].name;
  }
}

TEST(WriteSafetensors, WritesAFileWithoutTensors) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {}, {});
  EXPECT_EQ(read_whole(folder / "a"), file_of("{}      ", ""));
  EXPECT_TRUE(SafetensorsReader(folder / "a").tensors().empty());
}

TEST(WriteSafetensors, AlignsEveryTensorToItsElements) {
  const TemporaryFolder folder;
  const std::string bytes(64, 'x');
  const std::vector<TensorBytes> tensors = {tensor_of({"half", Dtype::kFloat16, {3}}, bytes),
                                            tensor_of({"single", Dtype::kFloat32, {1}}, bytes),
                                            tensor_of({"double", Dtype::kFloat64, {1}}, bytes)};
  write_safetensors(folder / "a", {{"odd", "length"}}, tensors);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, read_whole(folder / "a").data(), sizeof header_bytes);
  EXPECT_EQ(header_bytes % 8, 0U);
  const SafetensorsReader reader(folder / "a");
  std::vector<std::string> order;
  for (const TensorEntry& entry : reader.tensors()) {
    order.push_back(entry.name);
  }
  EXPECT_THAT(order, ElementsAre("double", "single", "half"));
}

TEST(WriteSafetensors, RefusesMistakesBeforeTouchingTheFile) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a";
  write_whole(path, "old");
  const std::string bytes(64, 'x');
  const auto refuse = [&](const std::map<std::string, std::string>& metadata,
                          const std::vector<TensorBytes>& tensors, const std::string& reason) {
    EXPECT_THAT(
        message_of<std::invalid_argument>([&] { write_safetensors(path, metadata, tensors); }),
        AllOf(HasSubstr("[safetensors]"), HasSubstr(reason)));
    EXPECT_EQ(read_whole(path), "old");
    EXPECT_THAT(folder.names(), ElementsAre("a"));
  };
  const TensorBytes good = tensor_of({"w", Dtype::kFloat32, {2}}, bytes);
  constexpr std::int64_t kLarge = std::int64_t{1} << 61;
  refuse({}, {good, good}, "\"w\"");
  refuse({}, {tensor_of({"__metadata__", Dtype::kFloat32, {2}}, bytes)}, "__metadata__");
  refuse({}, {tensor_of({"\xff", Dtype::kFloat32, {2}}, bytes)}, "UTF-8");
  refuse({{"key", "\xff"}}, {good}, "UTF-8");
  refuse({}, {tensor_of({"w", Dtype::kFloat32, {2, -1}}, bytes)}, "[2,-1]");
  refuse({}, {tensor_of({"w", Dtype::kFloat64, {kLarge}}, bytes)}, "\"w\": wanted sizes");
  refuse({},
         {tensor_of({"v", Dtype::kFloat32, {kLarge}}, bytes),
          tensor_of({"w", Dtype::kFloat32, {kLarge}}, bytes)},
         "\"w\": wanted sizes");
  refuse({}, {{{"w", Dtype::kFloat32, {2}}, nullptr}}, "'w': wanted its bytes");
  refuse({}, {tensor_of({"w", static_cast<Dtype>(99), {2}}, bytes)},
         "\"w\": wanted a dtype of the format, got 99");
  refuse({{"key", std::string(kMaxHeaderBytes, 'x')}}, {}, "at most 100000000");
}

}  // namespace
}  // namespace sing
