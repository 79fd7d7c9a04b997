// Checks that a run that was killed, interrupted or damaged resumes exactly, or reports why it
// cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lab/random/random_stream.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Words kLongRun = {"--steps",      "400", "--evaluate-steps",   "4", "--log-steps", "3",
                        "--norm-steps", "6",   "--checkpoint-steps", "7"};

Words resumed(const fs::path& run) {
  Words words = tiny_run(run, kLongRun);
  words.push_back("--resume");
  return words;
}

// A seed determines when the run is killed: after how many evaluations, and how long this process
// waits after that.
TEST(Resume, KilledTenTimesTheRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  const fs::path run = folder / "killed";
  ASSERT_EQ(run_sing(tiny_run(folder / "reference", kLongRun)).code, 0);
  lab::random::RandomStream random(6, 0, 0);
  for (int kill = 0; kill < 10; ++kill) {
    ChildProcess child(SING_PROGRAM, resumed(run));
    ASSERT_TRUE(wait_for_evaluations(child, 2 + random.below(3))) << "ended before kill " << kill;
    volatile std::uint32_t spin = random.below(20'000'000);
    while (spin > 0) {
      spin = spin - 1;
    }
    child.send(SIGKILL);
    const int status = child.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended before kill " << kill;
  }
  ASSERT_NE(metrics_of(run).back()["kind"], "end");
  const Outcome end = run_sing(resumed(run));
  ASSERT_EQ(end.code, 0) << end.error;
  EXPECT_THAT(end.out, HasSubstr("resuming from step "));
  EXPECT_EQ(last_tensors_of(run), last_tensors_of(folder / "reference"));
  EXPECT_EQ(tensors_of(run / "checkpoints/best.safetensors"),
            tensors_of(folder / "reference/checkpoints/best.safetensors"));
  EXPECT_EQ(timeless_metrics_of(run), timeless_metrics_of(folder / "reference"));
}

TEST(Resume, CtrlCOrALostTerminalSavesAndTheRunGoesOn) {
  const TemporaryFolder folder;
  const fs::path run = folder / "interrupted";
  ASSERT_EQ(run_sing(tiny_run(folder / "reference", kLongRun)).code, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ChildProcess child(SING_PROGRAM, resumed(run));
    ASSERT_TRUE(wait_for_evaluations(child, 2));
    child.send(signal);
    std::string output;
    for (std::string line; child.read_line(line);) {
      output += line + "\n";
    }
    const int status = child.wait();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), lab::command::kInterruptedExit);
    EXPECT_THAT(output, HasSubstr("interrupted · accuracy"));
    EXPECT_THAT(output, HasSubstr("run the same command with --resume"));
    EXPECT_EQ(metrics_of(run).back()["status"], "interrupted");
  }
  ASSERT_EQ(run_sing(resumed(run)).code, 0);
  EXPECT_EQ(last_tensors_of(run), last_tensors_of(folder / "reference"));
  EXPECT_EQ(timeless_metrics_of(run), timeless_metrics_of(folder / "reference"));
}

TEST(Resume, AClosedPipeDoesNotEndATraining) {
  const TemporaryFolder folder;
  const fs::path run = folder / "piped";
  ChildProcess child(SING_PROGRAM, tiny_run(run, kLongRun));
  ASSERT_TRUE(wait_for_evaluations(child, 1));
  child.close_output();
  const int status = child.wait();
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), lab::command::kSuccess);
  EXPECT_EQ(metrics_of(run).back()["status"], "finished");
}

// Nothing but the first lines is printed in the steps that this test waits for, and SIGKILL loses
// what has not been written.
TEST(Resume, TheFirstLinesAreWrittenBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  ChildProcess child(SING_PROGRAM,
                     tiny_run(run, {"--steps", "1000000000", "--evaluate-steps", "1000000000",
                                    "--log-steps", "1000000000", "--checkpoint-steps", "2"}));
  while (!fs::exists(run / "checkpoints" / "last.safetensors")) {
    ASSERT_TRUE(child.is_running());
  }
  child.send(SIGKILL);
  child.wait();
  std::string output;
  for (std::string line; child.read_line(line);) {
    output += line + "\n";
  }
  EXPECT_THAT(output, HasSubstr("27056 parameters, 1000000000 steps on cpu\n"));
  // A step takes more than two microseconds, which would be half an hour.
  const std::string announced = "on this CPU: 999999999 more will take about";
  EXPECT_THAT(output, HasSubstr(announced));
  EXPECT_EQ(output.find("on this CPU:"), output.rfind("on this CPU:")) << "it is said once";
  EXPECT_THAT(output, HasSubstr("--config recipes/rde_demo.toml trains in minutes"));
}

TEST(Resume, ADamagedCheckpointIsNamedAndKept) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  const fs::path checkpoint = run / "checkpoints" / "last.safetensors";
  {
    ChildProcess child(SING_PROGRAM, resumed(run));
    ASSERT_TRUE(wait_for_evaluations(child, 5));
    child.send(SIGKILL);
    child.wait();
  }
  const std::string whole = read_whole(checkpoint);
  const auto refused = [&](const std::string& bytes, const std::string& message) {
    write_whole(checkpoint, bytes);
    const Outcome outcome = run_sing(resumed(run));
    EXPECT_EQ(outcome.code, lab::command::kFailure) << message;
    EXPECT_THAT(outcome.error, HasSubstr("last.safetensors"));
    EXPECT_THAT(outcome.error, HasSubstr(message));
    EXPECT_THAT(outcome.error, HasSubstr("without this file the run begins again"));
    EXPECT_EQ(read_whole(checkpoint), bytes);
  };
  refused(whole.substr(0, whole.size() - 100), "");
  refused(whole.substr(0, 5), "");
  refused("", "");
  refused(format_safetensors({{"format", "another"}}, {}), "got another file of 0 tensors");
  // The checksum of a file without tensors is 0 in format version 2.
  const std::map<std::string, std::string> format = {
      {"format", "sing.checkpoint"}, {"format_version", "2"}, {"checksum", "00000000"}};
  refused(format_safetensors(format, {}), "its state is not readable");
  std::string changed = whole;
  changed[changed.size() / 2] ^= 1;
  refused(changed, "the file is damaged");
  // The header holds numbers of the training and of the optimizer, which would be used if they were
  // accepted.
  const auto replaced = [&](const std::string& before, const std::string& after) {
    std::string text = whole;
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return text.replace(at, before.size(), after);
  };
  const std::size_t step = whole.find(R"(\"step\":)");
  ASSERT_NE(step, std::string::npos);
  std::string later = whole;
  later[step + 9] = later[step + 9] == '9' ? '8' : '9';
  refused(later, "the file is damaged");
  refused(replaced(R"(\"metrics_bytes\")", R"(\"metrics_bites\")"), "the file is damaged");
  refused(replaced(R"(\"learning_rate\")", R"(\"learning_rats\")"), "the file is damaged");
  write_whole(checkpoint, whole);
  EXPECT_EQ(run_sing(resumed(run)).code, 0);
}

TEST(Resume, WithoutACheckpointTheRunStartsAnew) {
  const TemporaryFolder folder;
  const Words steps = {"--steps", "30", "--resume"};
  ASSERT_EQ(run_sing(tiny_run(folder / "a", steps)).code, 0);
  ASSERT_EQ(run_sing(tiny_run(folder / "b", steps)).code, 0);
  fs::remove_all(folder / "b" / "checkpoints");
  write_whole(folder / "b" / "metrics.jsonl", "{\"kind\":\"step\",\"st");
  ASSERT_EQ(run_sing(tiny_run(folder / "b", steps)).code, 0);
  EXPECT_EQ(timeless_metrics_of(folder / "a"), timeless_metrics_of(folder / "b"));
}

}  // namespace
}  // namespace sing::test
