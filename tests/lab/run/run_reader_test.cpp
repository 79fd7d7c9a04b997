// Checks the reading of run directories: complete, truncated and resumed ones, and folders that are
// not run directories.
#include "lab/run/run_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sing/base/message.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::run {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kRuns = SING_TEST_DATA "/lab/report/runs";

// Reads a run directory with these lines.
RunRecord run_of(const std::string& metrics, const std::string& config = "{}") {
  const TemporaryFolder folder;
  write_whole(folder / "config.json", config);
  write_whole(folder / "metrics.jsonl", metrics);
  return read_run(folder.path());
}

std::vector<std::int64_t> steps_of(const RunRecord& run) {
  std::vector<std::int64_t> steps;
  for (const StepRecord& record : run.steps) {
    steps.push_back(record.step);
  }
  return steps;
}

TEST(RunReader, ReadsAFinishedRun) {
  const RunRecord run = read_run(kRuns / "sing/");
  EXPECT_EQ(run.name, "sing");
  EXPECT_EQ(run.unreadable_lines, 0);
  ASSERT_EQ(run.steps.size(), 24U);
  EXPECT_EQ(run.steps[1].step, 20);
  EXPECT_EQ(run.steps[1].epoch, 0.25);
  EXPECT_EQ(run.steps[0].forward_backward_seconds, 0.4);
  EXPECT_EQ(run.steps[1].data_seconds, 0.001);
  EXPECT_EQ(run.steps[1].optimizer_seconds, 0.004);
  ASSERT_EQ(run.evaluations.size(), 3U);
  EXPECT_EQ(run.evaluations.back().accuracy, 0.84);
  EXPECT_TRUE(run.steps[0].gradient_norms.empty());
  EXPECT_EQ(run.steps[1].gradient_norms.front().first, "patch_embed.proj.weight");
  EXPECT_EQ(run.steps[1].gradient_norms.back().first, "head.weight");
  EXPECT_EQ(std::count_if(run.steps.begin(), run.steps.end(),
                          [](const auto& record) { return !record.gradient_norms.empty(); }),
            12);
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->status, RunStatus::kFinished);
  EXPECT_TRUE(run.is_complete());
  EXPECT_FALSE(run.has_diverged());
  EXPECT_EQ(run.end->final_accuracy, 0.84);
  EXPECT_EQ(run.end->seconds, 26.25);
  EXPECT_EQ(run.setting("optimizer"), "sing-adamw");
  EXPECT_EQ(run.setting("learning_rate"), "0.05");
  EXPECT_EQ(run.setting("absent"), "");
  ASSERT_EQ(run.pictures.size(), 3U);
  EXPECT_EQ(run.pictures.back().filename(), "step_00000240.png");
}

TEST(RunReader, ADivergedRunHasNoNumbers) {
  const RunRecord run = read_run(kRuns / "diverged");
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->status, RunStatus::kDiverged);
  EXPECT_TRUE(run.is_complete());
  EXPECT_TRUE(run.has_diverged());
  EXPECT_TRUE(std::isnan(run.end->final_accuracy));
  EXPECT_TRUE(std::isnan(run.steps.back().loss));
}

TEST(RunReader, ALineTruncatedByACrashIsCountedAndLeftOut) {
  const RunRecord run = run_of(
      "{\"kind\":\"step\",\"step\":1,\"loss\":0.5}\n{\"kind\":\"step\",\"step\":2,\"loss\":0.");
  EXPECT_THAT(steps_of(run), ElementsAre(1));
  EXPECT_EQ(run.unreadable_lines, 1);
  EXPECT_FALSE(run.end);
  EXPECT_FALSE(run.is_complete());

  const RunRecord first_write = run_of("{\"kind\":\"st");
  EXPECT_EQ(first_write.unreadable_lines, 1);
  EXPECT_TRUE(first_write.steps.empty());
}

TEST(RunReader, BadLinesInTheMiddleDoNotHideTheOthers) {
  const RunRecord run = run_of(
      "{\"kind\":\"step\",\"step\":1,\"loss\":0.5}\n"
      "{\"kind\":\"step\",\"st{\"kind\":\"step\",\"step\":2}\n"
      "\n[]\n3\n{\"kind\":7}\n{\"kind\":\"step\"}\n{\"kind\":\"step\",\"step\":-1}\n"
      "{\"kind\":\"step\",\"step\":1.5}\n{\"kind\":\"end\",\"status\":\"tired\"}\n"
      "{\"kind\":\"end\",\"status\":4}\n"
      "{\"kind\":\"step\",\"step\":3,\"loss\":\"low\",\"seconds\":7,\"gradient_norms\":[1]}\n");
  EXPECT_THAT(steps_of(run), ElementsAre(1, 3));
  EXPECT_EQ(run.unreadable_lines, 10);
  EXPECT_TRUE(std::isnan(run.steps[1].loss));
  EXPECT_TRUE(std::isnan(run.steps[1].data_seconds));
  EXPECT_TRUE(run.steps[1].gradient_norms.empty());
}

TEST(RunReader, AResumedRunCountsTheLaterLines) {
  const RunRecord run = run_of(
      "{\"kind\":\"step\",\"step\":1,\"loss\":1}\n"
      "{\"kind\":\"step\",\"step\":2,\"loss\":2,\"gradient_norms\":{\"w\":1}}\n"
      "{\"kind\":\"evaluation\",\"step\":2,\"accuracy\":0.1}\n"
      "{\"kind\":\"step\",\"step\":3,\"loss\":3,\"gradient_norms\":{\"w\":1}}\n"
      "{\"kind\":\"end\",\"status\":\"interrupted\"}\n"
      "{\"kind\":\"step\",\"step\":2,\"loss\":20,\"gradient_norms\":{\"w\":2}}\n");
  EXPECT_THAT(steps_of(run), ElementsAre(1, 2));
  EXPECT_EQ(run.steps[1].loss, 20);
  EXPECT_TRUE(run.evaluations.empty());
  EXPECT_TRUE(run.steps[0].gradient_norms.empty());
  ASSERT_EQ(run.steps[1].gradient_norms.size(), 1U);
  EXPECT_EQ(run.steps[1].gradient_norms[0].second, 2);
  EXPECT_FALSE(run.end) << "the end was that of the first part";
}

TEST(RunReader, ARunThatHasJustStartedIsEmpty) {
  const RunRecord run = run_of("", R"({"a": {"b": 1, "c": [1, 2]}, "d": null})");
  EXPECT_TRUE(run.steps.empty());
  EXPECT_EQ(run.unreadable_lines, 0);
  EXPECT_THAT(run.settings, ElementsAre(std::pair("a.b", "1"), std::pair("a.c", "[1,2]"),
                                        std::pair("d", "null")));
}

TEST(RunReader, FoldersThatAreNoRunsAreRefused) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::filesystem::path& path) {
    return message_of<FileError>([&] { read_run(path); });
  };
  EXPECT_THAT(refusal(folder.path()),
              HasSubstr("wanted a run directory with config.json and metrics.jsonl, got none"));
  EXPECT_THAT(refusal(folder / "absent"), HasSubstr("absent"));
  write_whole(folder / "config.json", "{\"model_type\": \"gpt2\"}");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("got none"));
  write_whole(folder / "metrics.jsonl", "{\"loss\": 1}\n{\"loss\": 2}\n");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("metrics.jsonl] wanted lines with \"kind\""));
  write_whole(folder / "metrics.jsonl", "{\"kind\":\"step\",\"step\":1}\n");
  EXPECT_EQ(read_run(folder.path()).steps.size(), 1U);
  for (const char* bad : {"", "{\"a\":", "[1]"}) {
    write_whole(folder / "config.json", bad);
    EXPECT_THAT(refusal(folder.path()), HasSubstr("config.json] wanted a JSON object")) << bad;
  }
}

TEST(RunReader, AFolderOfRunsStandsForItsRunsEachOnce) {
  const std::vector<std::filesystem::path> paths = {kRuns, kRuns / "sing", kRuns / "sing/."};
  std::vector<std::string> names;
  for (const RunRecord& run : read_runs(paths)) {
    names.push_back(run.name);
  }
  EXPECT_THAT(names, ElementsAre("adamw_0", "adamw_1", "diverged", "sing"));
}

TEST(RunReader, RunsOfOneNameAreToldApart) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"x/same/run", "y/same/run", "y/other"}) {
    paths.push_back(folder / name);
    std::filesystem::create_directories(paths.back());
    write_whole(paths.back() / "config.json", "{}");
    write_whole(paths.back() / "metrics.jsonl", "");
  }
  std::vector<std::string> names;
  for (const RunRecord& run : read_runs(paths)) {
    names.push_back(run.name);
  }
  EXPECT_THAT(names, ElementsAre("x/same/run", "y/same/run", "other"));
}

TEST(RunReader, PicturesComeInTheOrderOfTheirSteps) {
  const TemporaryFolder folder;
  write_whole(folder / "config.json", "{}");
  write_whole(folder / "metrics.jsonl", "");
  std::filesystem::create_directory(folder / "pictures");
  for (const char* name : {"step_100.png", "step_90.png", "last.png", "notes.txt", "step_95.txt"}) {
    write_whole(folder / fmt::format("pictures/{}", name), "");
  }
  std::vector<std::string> names;
  for (const auto& path : read_run(folder.path()).pictures) {
    names.push_back(path.filename().string());
  }
  EXPECT_THAT(names, ElementsAre("last.png", "step_90.png", "step_95.txt", "step_100.png"));
}

}  // namespace
}  // namespace sing::lab::run
