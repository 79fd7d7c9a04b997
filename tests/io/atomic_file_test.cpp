// Checks that a save is all or nothing: after errors, and when the process is killed during a save.
#include "sing/io/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <random>
#include <thread>

#include "sing/base/error.hpp"
#include "sing/io/safetensors.hpp"
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
using ::testing::UnorderedElementsAreArray;

TEST(AtomicFile, ReplacesTheContentAndLeavesNothingElse) {
  const TemporaryFolder folder;
  replace_file(folder / "a", "first, and longer");
  replace_file(folder / "a", "second");
  EXPECT_EQ(read_whole(folder / "a"), "second");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, KeepsTheOldContentUntilCommit) {
  const TemporaryFolder folder;
  write_whole(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(std::as_bytes(std::span(std::string_view("new"))));
    EXPECT_EQ(read_whole(folder / "a"), "old");
    EXPECT_EQ(folder.names().size(), 2U);
  }
  EXPECT_EQ(read_whole(folder / "a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, LetsTwoWritersOfOnePathFinish) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  first.write(std::as_bytes(std::span(std::string_view("first"))));
  second.write(std::as_bytes(std::span(std::string_view("second"))));
  second.commit();
  EXPECT_EQ(read_whole(folder / "a"), "second");
  first.commit();
  EXPECT_EQ(read_whole(folder / "a"), "first");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, TakesANameWithoutADirectory) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  replace_file("a", "content");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_whole(folder / "a"), "content");
}

TEST(AtomicFile, ReplacesWhatALinkPointsTo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "runs");
  write_whole(folder / "runs/1", "old");
  std::filesystem::create_symlink("runs/1", folder / "relative");
  std::filesystem::create_symlink(folder / "relative", folder / "latest");
  replace_file(folder / "latest", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "latest"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "relative"));
  EXPECT_EQ(read_whole(folder / "runs/1"), "new");

  std::filesystem::create_symlink("round", folder / "round");
  EXPECT_THAT(
      message_of<FileError>([&] { replace_file(folder / "round", "x"); }),
      AllOf(HasSubstr((folder / "round").string()), HasSubstr("wanted at most 40 symbolic links")));
}

TEST(AtomicFile, RefusesWhatIsNotAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<FileError>([&] { replace_file(folder.path(), "x"); }),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("got a directory")));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<FileError>([&] { replace_file(folder / "pipe", "x"); }),
              AllOf(HasSubstr((folder / "pipe").string()), HasSubstr("wanted a regular file")));
  EXPECT_THAT(message_of<FileError>([&] { replace_file(folder / "no/such/file", "x"); }),
              AllOf(HasSubstr((folder / "no/such/file").string()), HasSubstr("No such file")));
  const auto number_of = [](const std::filesystem::path& path) {
    try {
      replace_file(path, "x");
      return 0;
    } catch (const SystemFileError& error) {
      return error.number;
    }
  };
  EXPECT_EQ(number_of(folder.path()), EISDIR);
  EXPECT_EQ(number_of(folder / "no/such/file"), ENOENT);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_THAT(folder.names(), ElementsAre("pipe"));
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a";
  write_whole(path, "old");
  const std::string large(1 << 20, 'x');
  const std::vector<TensorBytes> tensors = {
      {{"w", Dtype::kFloat32, {1 << 18}}, reinterpret_cast<const std::byte*>(large.data())}};

  // A limit on the file size simulates a full disk: the second write is incomplete.
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      message_of<FileError>([&] { write_safetensors(path, {{"key", "value"}}, tensors); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(message, AllOf(HasSubstr(path.string()), HasSubstr("cannot write")));
  EXPECT_EQ(read_whole(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  write_safetensors(path, {{"key", "value"}}, tensors);
  EXPECT_EQ(SafetensorsReader(path).metadata().at("key"), "value");
}

// Every element and the length follow from `sequence`, so that a mixture of two saves is detected.
std::vector<std::int64_t> content_of(std::int64_t sequence) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(20'000 + (sequence * 7919) % 60'000));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = sequence * 1'000'003 + static_cast<std::int64_t>(i);
  }
  return values;
}

// Saves forever and reports each finished save.
[[noreturn]] void save_in_a_loop(const std::filesystem::path& path, std::int64_t first,
                                 int report) {
  for (std::int64_t sequence = first;; ++sequence) {
    const std::vector<std::int64_t> values = content_of(sequence);
    const auto length = static_cast<std::int64_t>(values.size());
    const TensorBytes tensor{{"values", Dtype::kInt64, {length}},
                             std::as_bytes(std::span(values)).data()};
    write_safetensors(path, {{"sequence", std::to_string(sequence)}}, {&tensor, 1});
    if (::write(report, &sequence, sizeof sequence) != sizeof sequence) {
      ::_exit(1);
    }
  }
}

// Returns the sequence of a complete save; anything else fails the test.
std::int64_t sequence_in(const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  const std::int64_t sequence = std::stoll(reader.metadata().at("sequence"));
  const TensorEntry& entry = reader.tensors().at(0);
  std::vector<std::int64_t> values(static_cast<std::size_t>(entry.shape.at(0)));
  reader.read(entry, std::as_writable_bytes(std::span(values)).data());
  EXPECT_TRUE(values == content_of(sequence)) << "save " << sequence << " is not complete";
  return sequence;
}

// Runs `function` in a child process.
template <class Function>
pid_t start_child(Function&& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      function();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  return child;
}

// The status with which the child ended, as waitpid() gives it.
int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(AtomicFile, TheNextSaveRemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  for (int kill = 0; kill < 3; ++kill) {
    const pid_t child = start_child([&] {
      AtomicFile file(folder / "a");
      file.write(std::as_bytes(std::span(std::string_view("half"))));
      ::raise(SIGKILL);
    });
    ASSERT_TRUE(WIFSIGNALED(status_of(child)));
    EXPECT_EQ(folder.names().size(), 1U);
  }
  replace_file(folder / "a", "whole");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_EQ(read_whole(folder / "a"), "whole");
}

TEST(AtomicFile, AWriterAtWorkKeepsItsFile) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.write(std::as_bytes(std::span(std::string_view("from the parent"))));
  EXPECT_EQ(status_of(start_child([&] { replace_file(folder / "a", "from the child"); })), 0);
  EXPECT_EQ(folder.names().size(), 2U);
  EXPECT_EQ(read_whole(folder / "a"), "from the child");
  file.commit();
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_EQ(read_whole(folder / "a"), "from the parent");
}

TEST(AtomicFile, ManyWritersDoNotRemoveEachOthersFiles) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int writer = 0; writer < 4; ++writer) {
    children.push_back(start_child([&] {
      for (int save = 0; save < 200; ++save) {
        replace_file(folder / "a", "content");
      }
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(status_of(child), 0);
  }
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, FilesWithSimilarNamesStay) {
  const TemporaryFolder folder;
  std::vector<std::string> names = {"a.tmp",       "a.1.tmp",   "a.1-.tmp",    "a.-1.tmp",
                                    "a.1-2-3.tmp", "a.x-1.tmp", "a.1-2.tmp.b", "a1-2.tmp",
                                    "aa.1-2.tmp",  "b.1-2.tmp", ".1-2.tmp"};
  for (const std::string& name : names) {
    write_whole(folder / name, "");
  }
  // Only regular files are temporary files of a writer.
  std::filesystem::create_directory(folder / "a.7-1.tmp");
  std::filesystem::create_symlink("b.1-2.tmp", folder / "a.7-2.tmp");
  ASSERT_EQ(::mkfifo((folder / "a.7-3.tmp").c_str(), 0600), 0);
  names.insert(names.end(), {"a.7-1.tmp", "a.7-2.tmp", "a.7-3.tmp", "a"});
  write_whole(folder / "a.7-4.tmp", "left by a killed writer");
  replace_file(folder / "a", "whole");
  EXPECT_THAT(folder.names(), UnorderedElementsAreArray(names));
}

TEST(AtomicFile, KeepsTheModeOfTheFile) {
  const TemporaryFolder folder;
  const auto mode_of = [](const std::filesystem::path& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
  };
  const mode_t before = ::umask(0027);
  replace_file(folder / "new", "x");
  EXPECT_EQ(mode_of(folder / "new"), 0640U);
  for (const mode_t mode : {0600U, 0666U, 0444U, 0755U}) {
    ASSERT_EQ(::chmod((folder / "new").c_str(), mode), 0);
    {
      const AtomicFile file(folder / "new");
      for (const std::string& name : folder.names()) {
        EXPECT_EQ(mode_of(folder / name) & ~mode & 0077U, 0U) << name << " can be read too widely";
      }
    }
    replace_file(folder / "new", "y");
    EXPECT_EQ(mode_of(folder / "new"), mode);
  }
  ::umask(before);
}

TEST(AtomicFile, AKilledProcessLeavesTheLastCompleteSave) {
  constexpr int kKills = 100;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "state.safetensors";
  std::mt19937 random(20240607);
  std::int64_t next = 1;
  int killed_inside_a_save = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::array<int, 2> report = {};
    ASSERT_EQ(::pipe(report.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(report[0]);
      try {
        save_in_a_loop(path, next, report[1]);
      } catch (...) {
        ::_exit(1);
      }
    }
    ::close(report[1]);
    std::int64_t finished = 0;
    ASSERT_EQ(::read(report[0], &finished, sizeof finished), ssize_t{sizeof finished})
        << "the saving process ended by itself";
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the saving process ended by itself";
    for (std::int64_t sequence = 0;
         ::read(report[0], &sequence, sizeof sequence) == ssize_t{sizeof sequence};) {
      finished = sequence;
    }
    ::close(report[0]);

    // A finished save is never lost; the next one may have been renamed but not yet reported.
    const std::int64_t found = sequence_in(path);
    ASSERT_GE(found, finished);
    ASSERT_LE(found, finished + 1);
    next = found + 1;
    // The next save removes what this one left.
    ASSERT_LE(folder.names().size(), 2U);
    killed_inside_a_save += folder.names().size() == 2 ? 1 : 0;
  }
  EXPECT_GE(killed_inside_a_save, kKills / 20) << "too few kills fell into a save to show anything";
}

}  // namespace
}  // namespace sing
