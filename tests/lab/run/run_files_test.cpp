// Checks the files of a run that need no training: events, metrics, configuration, the lock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lab/run/metrics_line.hpp"
#include "lab/run/run_config.hpp"
#include "lab/run/run_lock.hpp"
#include "lab/run/run_reader.hpp"
#include "lab/run/run_writer.hpp"
#include "lab/run/tensorboard_events.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::run {
namespace {

using test::read_whole;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::HasSubstr;

// The values come from RFC 3720, B.4, and the check value of the CRC catalogs.
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

template <class Number>
Number number_at(const std::string& bytes, std::size_t place) {
  Number number;
  std::memcpy(&number, bytes.data() + place, sizeof(number));
  return number;
}

TEST(TensorboardEvents, AFrameIsLengthRecordAndMaskedChecksums) {
  const TemporaryFolder folder;
  TensorboardEvents events(folder / "events", 0);
  const std::string bytes = read_whole(folder / "events");
  // wall_time has 9 bytes; file_version has 2 and 13.
  ASSERT_EQ(bytes.size(), 8U + 4 + 24 + 4);
  EXPECT_EQ(number_at<std::uint64_t>(bytes, 0), 24U);
  const auto masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; };
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 8), masked(crc32c(bytes.substr(0, 8))));
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 36), masked(crc32c(bytes.substr(12, 24))));
  EXPECT_EQ(bytes.substr(21, 15),
            "\x1a\x0d"
            "brain.Event:2");

  events.write(300, {{"loss", 0.5}});
  const std::string more = read_whole(folder / "events").substr(40);
  // step: key 16, varint 300; summary: key 42, length 13, value: key 10, length 11, tag and float.
  EXPECT_EQ(more.substr(12 + 9, 18),
            std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f", 18));
  EXPECT_EQ(events.file().size(), 40 + more.size());
}

TEST(AppendedFile, ResumesAtTheLengthThatACheckpointKnew) {
  const TemporaryFolder folder;
  {
    AppendedFile file(folder / "file", 0);
    file.append("first\n");
    EXPECT_EQ(file.size(), 6U);
    file.append("lost\n");
  }
  AppendedFile file(folder / "file", 6);
  file.append("second\n");
  EXPECT_EQ(read_whole(folder / "file"), "first\nsecond\n");
  // A file shorter than the checkpoint says keeps its content.
  EXPECT_EQ(AppendedFile(folder / "file", 1000).size(), 13U);
  EXPECT_THAT(test::message_of<FileError>([&] { AppendedFile("/dev/full", 0).append("x"); }),
              HasSubstr("'/dev/full': cannot write to it: No space left on device"));
  EXPECT_THAT(test::message_of<FileError>([&] { AppendedFile(folder / "no/file", 0); }),
              HasSubstr("No such file or directory"));
}

TEST(MetricsLine, IsJsonAndWhatIsNotFiniteIsNull) {
  const std::string step = metrics_line(
      StepRecord{.step = 7, .epoch = 0.5, .loss = NAN, .gradient_norms = {{"a.b", 2.0}}});
  ASSERT_TRUE(step.ends_with("}\n"));
  const auto json = nlohmann::json::parse(step);
  EXPECT_EQ(json["kind"], "step");
  EXPECT_EQ(json["step"], 7);
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_TRUE(json["seconds"]["data"].is_null());
  EXPECT_EQ(json["gradient_norms"]["a.b"], 2.0);
  EXPECT_FALSE(nlohmann::json::parse(metrics_line(StepRecord{})).contains("gradient_norms"));
  const std::string evaluation =
      metrics_line(EvaluationRecord{.step = 7, .epoch = 0.5, .loss = 0.25, .accuracy = 0.75});
  EXPECT_EQ(evaluation,
            "{\"kind\":\"evaluation\",\"step\":7,\"epoch\":0.5,\"loss\":0.25,\"accuracy\":0.75}\n");
  EXPECT_EQ(metrics_line(
                EndRecord{.status = RunStatus::kInterrupted, .best_accuracy = 0.75, .seconds = 3}),
            "{\"kind\":\"end\",\"status\":\"interrupted\",\"best_accuracy\":0.75,"
            "\"final_accuracy\":null,\"final_loss\":null,\"seconds\":3.0}\n");
}

TEST(MetricsLine, UnitAndScoresComeBackByName) {
  const auto step = parse_metrics_line(
      metrics_line(StepRecord{.step = 7, .unit = "tokens", .units_per_second = 12}));
  ASSERT_TRUE(step);
  EXPECT_EQ(std::get<StepRecord>(*step).unit, "tokens");
  EXPECT_EQ(std::get<StepRecord>(*step).units_per_second, 12);
  const std::string line = metrics_line(EvaluationRecord{.step = 7,
                                                         .loss = 2,
                                                         .accuracy = 0.5,
                                                         .score_name = "F1",
                                                         .others = {{"exact match, %", 40}}});
  EXPECT_THAT(line, HasSubstr("\"score\":\"F1\",\"scores\":{\"exact match, %\":40.0}"));
  const auto evaluation = parse_metrics_line(line);
  ASSERT_TRUE(evaluation);
  EXPECT_EQ(std::get<EvaluationRecord>(*evaluation).score_name, "F1");
  EXPECT_EQ(std::get<EvaluationRecord>(*evaluation).others,
            (decltype(EvaluationRecord::others){{"exact match, %", 40}}));
  const auto end = parse_metrics_line(metrics_line(EndRecord{.others = {{"perplexity", 3}}}));
  ASSERT_TRUE(end);
  EXPECT_EQ(std::get<EndRecord>(*end).score_name, "accuracy");
  EXPECT_EQ(std::get<EndRecord>(*end).others, (decltype(EndRecord::others){{"perplexity", 3}}));
}

// There are one line and one event per record; a resumed run truncates both files to their sizes in
// the checkpoint, and the reader reads what the writer wrote.
TEST(RunWriter, TheReaderReadsWhatWasWritten) {
  const TemporaryFolder folder;
  const RunDirectory directory(folder / "run");
  const RunLock lock(directory);
  write_whole(directory.config(), "{}");
  RunFileSizes known;
  {
    RunWriter writer(directory, {});
    writer.write(StepRecord{.step = 1,
                            .epoch = 0.5,
                            .loss = 3,
                            .learning_rate = 0.25,
                            .units_per_second = 100,
                            .data_seconds = 0.125,
                            .forward_backward_seconds = 0.375,
                            .optimizer_seconds = 0.0625,
                            .gradient_norms = {{"w", 2}}});
    known = writer.sync();
    EXPECT_EQ(known.metrics, std::filesystem::file_size(directory.metrics()));
    EXPECT_EQ(known.events, std::filesystem::file_size(directory.events()));
    writer.write(StepRecord{.step = 2, .loss = 100});
  }
  RunWriter writer(directory, known);
  writer.write(EvaluationRecord{.step = 2, .epoch = 1, .loss = 2, .accuracy = 0.5});
  EXPECT_FALSE(read_run(directory.path()).end);
  writer.write(EndRecord{.status = RunStatus::kInterrupted, .seconds = 1});
  EXPECT_FALSE(read_run(directory.path()).is_complete()) << "there are steps left";
  writer.write(EndRecord{
      .status = RunStatus::kFinished, .best_accuracy = 0.75, .final_accuracy = 0.5, .seconds = 3});
  const RunRecord run = read_run(directory.path());
  EXPECT_EQ(run.unreadable_lines, 0);
  ASSERT_EQ(run.steps.size(), 1U);
  EXPECT_EQ(run.steps[0].step, 1);
  EXPECT_EQ(run.steps[0].epoch, 0.5);
  EXPECT_EQ(run.steps[0].loss, 3);
  EXPECT_EQ(run.steps[0].learning_rate, 0.25);
  EXPECT_EQ(run.steps[0].units_per_second, 100);
  EXPECT_EQ(run.steps[0].data_seconds, 0.125);
  EXPECT_EQ(run.steps[0].forward_backward_seconds, 0.375);
  EXPECT_EQ(run.steps[0].optimizer_seconds, 0.0625);
  EXPECT_EQ(run.steps[0].gradient_norms, (decltype(StepRecord::gradient_norms){{"w", 2}}));
  ASSERT_EQ(run.evaluations.size(), 1U);
  EXPECT_EQ(run.evaluations[0].step, 2);
  EXPECT_EQ(run.evaluations[0].epoch, 1);
  EXPECT_EQ(run.evaluations[0].loss, 2);
  EXPECT_EQ(run.evaluations[0].accuracy, 0.5);
  ASSERT_TRUE(run.is_complete());
  EXPECT_EQ(run.end->status, RunStatus::kFinished);
  EXPECT_EQ(run.end->best_accuracy, 0.75);
  EXPECT_EQ(run.end->final_accuracy, 0.5);
  EXPECT_TRUE(std::isnan(run.end->final_loss));
  EXPECT_EQ(run.end->seconds, 3);
}

TEST(RunLock, IsHeldByOneProcessAtATime) {
  const TemporaryFolder folder;
  const RunDirectory directory(folder / "a/run");
  {
    const RunLock first(directory);
    EXPECT_THAT(test::message_of<FileError>([&] { RunLock second(directory); }),
                HasSubstr("in use by process " + std::to_string(::getpid())));
    EXPECT_FALSE(directory.has_config());
    EXPECT_FALSE(directory.has_run());
    EXPECT_EQ(directory.picture(12).filename(), "step_00000012.png");
  }
  const RunLock again(directory);
  write_whole(directory.path() / "events.out.tfevents.5.sing", "");
  EXPECT_EQ(directory.events().filename(), "events.out.tfevents.5.sing");
  write_whole(folder / "file", "");
  EXPECT_THAT(test::message_of<FileError>([&] { RunLock lock{RunDirectory(folder / "file")}; }),
              HasSubstr("cannot create the folder"));
}

TEST(RunConfig, OptionsComeBackAsTheirTexts) {
  const TemporaryFolder folder;
  write_config(folder / "config.json", {.task = "rde",
                                        .picture_legend = "input beside target",
                                        .data_digest = "0a1b",
                                        .options = {{"a", "", 5e-2},
                                                    {"b", "", std::int64_t{3}},
                                                    {"c", "", true},
                                                    {"d", "", Value()},
                                                    {"e", "", std::string("name")},
                                                    {"f", "", 0.1 + 0.2}},
                                        .parameters = 12});
  const RecordedConfig config = read_config(folder / "config.json");
  EXPECT_EQ(config.task, "rde");
  EXPECT_EQ(config.data_digest, "0a1b");
  EXPECT_THAT(read_whole(folder / "config.json"),
              HasSubstr("\"picture_legend\": \"input beside target\""));
  EXPECT_EQ(config.options, (command::OptionTexts{{"a", "0.05"},
                                                  {"b", "3"},
                                                  {"c", "true"},
                                                  {"d", "none"},
                                                  {"e", "name"},
                                                  {"f", "0.30000000000000004"}}));
}

}  // namespace
}  // namespace sing::lab::run
