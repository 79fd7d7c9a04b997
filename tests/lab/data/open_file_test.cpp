// Checks that only regular files are opened: opening a FIFO would wait for a writer.
#include "lab/data/open_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace sing::lab::data {
namespace {

TEST(OpenFile, OpensFilesAndLinksToThem) {
  const test::TemporaryFolder folder;
  test::write_whole(folder / "file", "one word");
  std::filesystem::create_symlink("file", folder / "link");
  for (const char* name : {"file", "link"}) {
    std::ifstream stream = open_file(folder / name);
    std::string word;
    EXPECT_TRUE(stream >> word) << name;
    EXPECT_EQ(word, "one");
  }
}

TEST(OpenFile, FailsForAnythingElse) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_symlink("loop", folder / "loop");
  std::filesystem::create_symlink("absent", folder / "dangling");
  for (const char* name : {"fifo", "folder", "loop", "dangling", "absent"}) {
    EXPECT_FALSE(open_file(folder / name)) << name;
  }
}

}  // namespace
}  // namespace sing::lab::data
