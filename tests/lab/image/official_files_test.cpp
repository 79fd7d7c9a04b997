// Checks SHA-256, the readers of CIFAR-100 and MNIST, and the messages for files that do not belong
// to them.
#include "lab/image/official_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "lab/cifar100/cifar100_files.hpp"
#include "lab/data/packed_file.hpp"
#include "lab/data/sha256.hpp"
#include "lab/image/small_images.hpp"
#include "lab/main/program.hpp"
#include "lab/mnist/mnist_files.hpp"
#include "sing/base/error.hpp"
#include "tests/lab/main/run_words.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::image {
namespace {

using test::message_of;
using test::write_whole;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string hash_of(const std::string& text) {
  return data::hexadecimal(data::sha256(std::as_bytes(std::span(text))));
}

// The messages are the examples of FIPS 180-4, and lengths near the block size.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SmallImages, DigestIsThatOfPixelsAndLabels) {
  const SmallSet set{.shape = {}, .subsets = {{{{'a'}, {'b'}}, {{'c'}, {}}}}};
  EXPECT_EQ(digest_of(set), hash_of("abc"));
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(300, 'x');
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    data::Sha256 sum;
    sum.add(std::as_bytes(std::span(text).first(cut)));
    sum.add(std::as_bytes(std::span(text).subspan(cut)));
    ASSERT_EQ(data::hexadecimal(sum.digest()), hash_of(text)) << cut;
  }
}

void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
}

// The files have the right size and are nearly all zeros.
TEST(Cifar100Files, RecordsAreCoarseFineRedGreenBlue) {
  const test::TemporaryFolder folder;
  const auto put = [&](const char* name, std::uint64_t bytes) {
    std::string first(2 * 3074, '\0');
    first[1] = 7;
    first[2] = 10;         // red of the first pixel
    first[2 + 1024] = 20;  // green
    first[3073] = 30;      // blue of the last
    first[3074 + 1] = 99;
    first[3074 + 2] = 40;
    write_whole(folder / name, first);
    std::filesystem::resize_file(folder / name, bytes);
  };
  put("train.bin", 153'700'000);
  put("test.bin", 30'740'000);
  const SmallSet set = cifar100::read_set(folder.path());
  EXPECT_EQ(set.subsets[0].count(), 50'000);
  EXPECT_EQ(set.subsets[1].count(), 10'000);
  const SmallSubset& test_set = set.subsets[1];
  EXPECT_EQ(test_set.labels[0], 7);
  EXPECT_EQ(test_set.labels[1], 99);
  EXPECT_EQ(test_set.pixels[0], 10);
  EXPECT_EQ(test_set.pixels[1024], 20);
  EXPECT_EQ(test_set.pixels[3071], 30);
  EXPECT_EQ(test_set.pixels[3072], 40);
  std::filesystem::resize_file(folder / "test.bin", 30'740'000 - 1);
  EXPECT_THAT(message_of<FileError>([&] { cifar100::read_set(folder.path()); }),
              HasSubstr("test.bin': wanted 30740000 bytes, got 30739999"));
}

TEST(Cifar100Files, MissingFilesAreNamedWithWhatToDo) {
  const test::TemporaryFolder folder;
  write_whole(folder / "test.bin", "x");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { cifar100::read_set(folder.path()); }),
              AllOf(HasSubstr("[cifar100] wanted train.bin in '" + folder.path().string() + "'"),
                    HasSubstr("--data FOLDER"), HasSubstr("--stand-in"),
                    HasSubstr("the task rde needs none")));
}

std::string idx(std::initializer_list<int> axes, const std::string& values) {
  std::string text = {0, 0, 8, static_cast<char>(axes.size())};
  for (const int axis : axes) {
    text += {0, 0, 0, static_cast<char>(axis)};
  }
  return text + values;
}

TEST(MnistFiles, PlainAndPackedFilesAreRead) {
  const test::TemporaryFolder folder;
  std::string pixels(2 * 784, '\0');
  pixels[784 + 29] = 77;
  write_whole(folder / "train-images-idx3-ubyte", idx({2, 28, 28}, pixels));
  write_gzip(folder / "train-labels-idx1-ubyte.gz", idx({2}, "\x05\x09"));
  write_gzip(folder / "t10k-images-idx3-ubyte.gz", idx({1, 28, 28}, pixels.substr(784)));
  write_whole(folder / "t10k-labels-idx1-ubyte", idx({1}, "\x03"));
  const SmallSet set = mnist::read_set(folder.path());
  EXPECT_EQ(set.subsets[0].labels, (std::vector<std::uint8_t>{5, 9}));
  EXPECT_EQ(set.subsets[0].pixels[784 + 29], 77);
  EXPECT_EQ(set.subsets[1].pixels[29], 77);
  const auto refused = [&](const std::string& labels) {
    write_whole(folder / "t10k-labels-idx1-ubyte", labels);
    return message_of<FileError>([&] { mnist::read_set(folder.path()); });
  };
  EXPECT_THAT(refused(idx({1}, "\x0A")), HasSubstr("wanted a label below 10 for each image"));
  EXPECT_THAT(refused(idx({2}, "\x01\x01")), HasSubstr("wanted a label below 10 for each image"));
  EXPECT_THAT(refused(idx({2}, "\x01")), HasSubstr("wanted 2 values, got 1"));
  EXPECT_THAT(refused("abc"), HasSubstr("wanted an idx header, got less"));
  EXPECT_THAT(refused(idx({1, 1}, "\x01")), HasSubstr("wanted an idx file of bytes with 1 axes"));
}

TEST(MnistFiles, ATruncatedPackedFileIsRefused) {
  const test::TemporaryFolder folder;
  write_gzip(folder / "x.gz", std::string(5000, 'q') + "end");
  const std::string packed = test::read_whole(folder / "x.gz");
  write_whole(folder / "x.gz", packed.substr(0, packed.size() - 12));
  EXPECT_THAT(message_of<FileError>([&] { data::read_packed(folder / "x.gz", 100'000); }),
              HasSubstr("x.gz': it is truncated"));
  EXPECT_THAT(message_of<FileError>([&] { data::read_packed(folder / "none", 1); }),
              HasSubstr("none': cannot open it"));
}

TEST(DataCommand, SaysWhatIsWrongWithCifarFiles) {
  const test::TemporaryFolder folder;
  write_whole(folder / "train.bin", std::string(3074, '\0'));
  write_whole(folder / "test.bin", "");
  std::filesystem::resize_file(folder / "test.bin", 30'740'000);
  write_whole(folder / "cifar-100-python.tar.gz", "x");
  const test::WordsOutcome outcome =
      test::run_words({"data", "cifar100", "--from", folder.path().string(),
                       (folder / "cifar-100-python.tar.gz").string()});
  EXPECT_EQ(outcome.code, command::kFailure);
  EXPECT_THAT(outcome.out, HasSubstr("train.bin: wanted 153700000 bytes, got 3074\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("test.bin: wanted SHA-256 d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0"
                        "b659061746f8224a, got "));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("tar.gz: wanted a file of the set (train.bin, test.bin), unpacked or as .gz"));
  EXPECT_THAT(outcome.error, HasSubstr("3 of 3 missing or wrong: see above"));
}

// Existing files are checked even if others are missing.
TEST(DataCommand, NamesMissingFilesAndFoldersInTheirPlace) {
  const test::TemporaryFolder folder;
  write_whole(folder / "train.bin", "x");
  const test::WordsOutcome missing =
      test::run_words({"data", "cifar100", "--from", folder.path().string()});
  EXPECT_EQ(missing.code, command::kFailure);
  EXPECT_THAT(missing.out, HasSubstr("train.bin: wanted 153700000 bytes, got 1\n"));
  EXPECT_THAT(missing.out, HasSubstr("test.bin: wanted this file or its .gz, got neither\n"));
  EXPECT_THAT(missing.error, HasSubstr("2 of 2 missing or wrong"));
  std::filesystem::create_directory(folder / "test.bin");
  EXPECT_THAT(test::run_words({"data", "cifar100", "--from", folder.path().string()}).out,
              HasSubstr("test.bin: wanted a file, got a folder\n"));
}

}  // namespace
}  // namespace sing::lab::image
