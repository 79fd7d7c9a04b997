// Checks image folders and packs of them: round trips, bad images, damaged packs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lab/image/image_sources.hpp"
#include "lab/image/jpeg_decoder.hpp"
#include "lab/image/pack_writer.hpp"
#include "lab/image/resize.hpp"
#include "sing/base/error.hpp"
#include "tests/lab/image/sample_images.hpp"

namespace sing::lab::image {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string stored_bytes(const ImageSource& source, Split subset, std::size_t index) {
  std::vector<std::byte> buffer;
  const StoredImage image = source.fetch(subset, index, buffer);
  return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
}

RgbImage decoded(const std::string& bytes) {
  JpegDecoder decoder;
  decoder.open(std::as_bytes(std::span(bytes)), "x");
  RgbImage image;
  decoder.decode(image);
  return image;
}

TEST(ImageFolder, ListsInOrderOfNames) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  test::put_file(folder / "train/cat/.hidden", "x");
  const ImageFolder found = list_image_folder(folder.path());
  EXPECT_THAT(found.classes, ElementsAre("cat", "dog"));
  ASSERT_THAT(found.images[0], SizeIs(10));
  EXPECT_EQ(found.images[0][0].path, "train/cat/a.JPEG");
  EXPECT_EQ(found.images[0][9].path, "train/dog/pixel.jpg");
  EXPECT_EQ(found.images[0][9].label, 1U);
  EXPECT_THAT(found.images[1], SizeIs(6));
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { list_image_folder(folder.path()); }),
              HasSubstr("/train' with one folder of JPEG or PNG files per class, got none"));
  test::put_sample_folder(folder.path());
  test::put_file(folder / "val/zebra/x.jpg", "x");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { list_image_folder(folder.path()); }),
              HasSubstr("val/zebra': wanted a class that train/ also has"));
}

TEST(ImageFolder, BadImagesAreNamedAndSkippedOrRefused) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  ImageFolder good = list_image_folder(folder.path());
  EXPECT_THAT(drop_bad_images(good, BadImages::kRefuse, 2), IsEmpty());
  EXPECT_THAT(good.images[0], SizeIs(10));
  test::put_bad_files(folder.path());
  ImageFolder listed = list_image_folder(folder.path());
  const std::string refusal =
      message_of<FileError>([&] { drop_bad_images(listed, BadImages::kRefuse, 2); });
  for (const char* name : {"train/cat/cut.JPEG", "train/dog/empty.JPEG", "val/dog/text.JPEG"}) {
    EXPECT_THAT(refusal, HasSubstr(name));
  }
  EXPECT_THAT(refusal, HasSubstr("(or --bad-images skip), got 3 that are not"));
  listed = list_image_folder(folder.path());
  EXPECT_THAT(drop_bad_images(listed, BadImages::kSkip, 2), SizeIs(3));
  EXPECT_THAT(listed.images[0], SizeIs(10));
  EXPECT_THAT(listed.images[1], SizeIs(6));
}

// A FIFO would block a reader forever, and a symbolic link to itself cannot be followed.
TEST(ImageFolder, EntriesThatAreNoFilesAreBadImages) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  ASSERT_EQ(::mkfifo((folder / "train/cat/fifo.jpg").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop.jpg", folder / "val/dog/loop.jpg");
  ImageFolder listed = list_image_folder(folder.path());
  const std::vector<std::string> wrong = drop_bad_images(listed, BadImages::kSkip, 2);
  ASSERT_THAT(wrong, SizeIs(2));
  EXPECT_THAT(wrong[0], HasSubstr("fifo.jpg': wanted a regular file, got something else"));
  EXPECT_THAT(wrong[1], HasSubstr("loop.jpg': cannot open it: Too many levels"));
  EXPECT_THAT(listed.images[0], SizeIs(10));
  EXPECT_THAT(listed.images[1], SizeIs(6));
}

TEST(Pack, KeepsSmallJpegsAsTheyAreAndShrinksLargeOnes) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  const ImageFolder listed = list_image_folder(folder.path());
  const PackSummary summary = write_pack(listed, {}, 1, folder / "pack");
  EXPECT_EQ(summary.images, 16U);
  EXPECT_EQ(summary.bytes, std::filesystem::file_size(folder / "pack"));
  const auto pack = open_pack(folder / "pack");
  EXPECT_THAT(pack->classes(), ElementsAre("cat", "dog"));
  EXPECT_EQ(pack->count(Split::kTraining), 10U);
  EXPECT_EQ(pack->count(Split::kTest), 6U);
  EXPECT_EQ(pack->label(Split::kTraining, 4), 0U);
  EXPECT_EQ(pack->label(Split::kTraining, 5), 1U);
  EXPECT_EQ(stored_bytes(*pack, Split::kTraining, 0),
            test::read_whole(folder / "train/cat/a.JPEG"));
  EXPECT_EQ(stored_bytes(*pack, Split::kTest, 5), test::read_whole(folder / "val/dog/2.JPEG"));
  const RgbImage large = decoded(stored_bytes(*pack, Split::kTraining, 1));
  EXPECT_EQ(large.width, 400);
  EXPECT_EQ(large.height, 96);
  const RgbImage inks = decoded(stored_bytes(*pack, Split::kTraining, 3));  // now red, green, blue
  EXPECT_EQ(inks.width, 33);
  EXPECT_NO_THROW(check_pack(folder / "pack"));
  write_pack(listed, {}, 3, folder / "again");
  EXPECT_EQ(test::read_whole(folder / "again"), test::read_whole(folder / "pack"));
}

// One image has the same name and different bytes; a folder's digest covers only names and sizes.
TEST(Pack, DigestsTellOtherImages) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder / "a");
  test::put_sample_folder(folder / "b");
  const auto digests = [&](const std::filesystem::path& root) {
    const ImageFolder listed = list_image_folder(root);
    write_pack(listed, {}, 1, folder / "pack");
    return std::pair(make_folder_source(listed)->digest(), open_pack(folder / "pack")->digest());
  };
  const auto first = digests(folder / "a");
  EXPECT_EQ(digests(folder / "b"), first);
  EXPECT_THAT(first.first, SizeIs(64));
  EXPECT_THAT(first.second, SizeIs(64));
  test::put_file(folder / "b/val/cat/0.JPEG", test::sample_jpeg(80, 61, 99));
  EXPECT_NE(digests(folder / "b").first, first.first);
  EXPECT_NE(digests(folder / "b").second, first.second);
}

TEST(Pack, RawImagesAreTheDecodedPixels) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  write_pack(list_image_folder(folder.path()), {.format = Encoding::kRaw}, 2, folder / "pack");
  const auto pack = open_pack(folder / "pack");
  const std::string raw = stored_bytes(*pack, Split::kTraining, 0);
  const RgbImage image = decoded(test::read_whole(folder / "train/cat/a.JPEG"));
  EXPECT_EQ(raw, std::string(image.bytes.begin(), image.bytes.end()));
  std::vector<std::byte> buffer;
  const StoredImage large = pack->fetch(Split::kTraining, 1, buffer);
  EXPECT_EQ(large.size, (ImageSize{400, 96}));
  EXPECT_EQ(large.bytes.size(), 3U * 400 * 96);
}

TEST(Pack, BadImagesAreSkippedOrRefusedAndThenNoFileIsWritten) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  test::put_bad_files(folder.path());
  const ImageFolder listed = list_image_folder(folder.path());
  const auto refused = [&] { write_pack(listed, {}, 2, folder / "pack"); };
  EXPECT_THAT(message_of<FileError>(refused), HasSubstr("train/cat/cut.JPEG"));
  EXPECT_FALSE(std::filesystem::exists(folder / "pack"));
  const PackSummary summary =
      write_pack(listed, {.bad_images = BadImages::kSkip}, 2, folder / "pack");
  EXPECT_EQ(summary.images, 16U);
  EXPECT_THAT(summary.skipped,
              ElementsAre(HasSubstr("cut.JPEG"), HasSubstr("empty.JPEG"), HasSubstr("text.JPEG")));
}

TEST(Pack, DamagedPacksAreRefused) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  write_pack(list_image_folder(folder.path()), {}, 1, folder / "pack");
  const std::string whole = test::read_whole(folder / "pack");
  const auto refused = [&](const std::string& bytes) {
    test::write_whole(folder / "bad", bytes);
    return message_of<FileError>([&] { open_pack(folder / "bad"); });
  };
  for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 300) {
    EXPECT_THAT(refused(whole.substr(0, length)), HasSubstr("/bad': wanted a complete pack file"));
  }
  std::string newer = whole;
  newer[8] = 2;
  EXPECT_THAT(refused(newer), HasSubstr("wanted version 1, got 2"));
  EXPECT_THAT(refused(test::sample_jpeg(90, 90)), HasSubstr("it does not begin as one"));
  for (std::size_t place = whole.size() - 56 - 16 * 32; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    refused(damaged);  // expects FileError: index and footer are covered
  }
}

TEST(Pack, AChangedImageIsFoundByItsChecksum) {
  const test::TemporaryFolder folder;
  test::put_sample_folder(folder.path());
  write_pack(list_image_folder(folder.path()), {}, 1, folder / "pack");
  std::string damaged = test::read_whole(folder / "pack");
  damaged[16 + 500] = static_cast<char>(damaged[16 + 500] ^ 1);
  test::write_whole(folder / "pack", damaged);
  EXPECT_NO_THROW(open_pack(folder / "pack"));
  EXPECT_THAT(message_of<FileError>([&] { check_pack(folder / "pack"); }),
              HasSubstr("training image 0, class cat': wanted the checksum in the index"));
}

}  // namespace
}  // namespace sing::lab::image
