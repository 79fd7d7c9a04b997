// Checks the content of the page and the command that writes it.
#include "lab/report/report_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "lab/main/program.hpp"
#include "lab/page/base64.hpp"
#include "lab/page/chart_library.hpp"
#include "lab/run/run_reader.hpp"
#include "sing/base/message.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::report {
namespace {

using run::read_runs;
using run::RunRecord;
using test::message_of;
using test::read_whole;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kRuns = SING_TEST_DATA "/lab/report/runs";

std::vector<RunRecord> fixture_runs() {
  const std::array<std::filesystem::path, 1> paths = {kRuns};
  return read_runs(paths);
}

std::size_t count(const std::string& page, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) {
    ++found;
  }
  return found;
}

TEST(ReportPage, DrawsEveryRunInEveryChart) {
  const std::string page = report_page(fixture_runs());
  EXPECT_THAT(page, HasSubstr("<title>rde: 4 runs with adamw, sing-adamw</title>"));
  EXPECT_EQ(count(page, "<figure class=\"chart\">"), 10U) << "five over steps, five over epochs";
  for (const char* title :
       {"Training loss", "Evaluation loss", "Accuracy, %", "Learning rate", "Images per second"}) {
    EXPECT_EQ(count(page, fmt::format("<figcaption>{}", title)), 2U) << title;
  }
  EXPECT_EQ(count(page, "\"style\":\"color"), 4U * 10);
  EXPECT_EQ(count(page, "<button"), 4U);
  EXPECT_EQ(count(page, "<figure class=\"heat\">"), 4U);
  EXPECT_EQ(count(page, "<rect class=\"optimizer\""), 4U);
  EXPECT_THAT(page, HasSubstr("forward + backward: 100 ms, 95.24 %"));
  EXPECT_THAT(page, HasSubstr("Training loss <small>logarithmic</small>"));
}

TEST(ReportPage, TablesHaveResultsAndOptions) {
  const std::string page = report_page(fixture_runs());
  EXPECT_THAT(page, HasSubstr("sing</td><td>sing-adamw</td><td class=\"number\">0.05</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"finished\">finished</td><td>test</td>"
                              "<td class=\"number\">84 %</td>"));
  EXPECT_THAT(
      page, HasSubstr("<td class=\"diverged\">diverged</td><td>test</td><td class=\"number\">–</td>"
                      "<td class=\"number\">–</td><td class=\"number\">–</td>"));
  EXPECT_THAT(page, HasSubstr("<th>run</th><th>seed</th><th>optimizer.optimizer</th>"
                              "<th>optimizer.learning_rate</th></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th>batch</th><td>64</td></tr>"));
}

TEST(ReportPage, OptionsHaveTheNamesOfTheirFlags) {
  const RunRecord run{.name = "run", .settings = {{"options.batch", "64"}, {"machine.cores", "2"}}};
  const std::string page = report_page({run});
  EXPECT_THAT(page, HasSubstr("<tr><th>batch</th><td>64</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th>machine.cores</th><td>2</td></tr>"));
}

TEST(ReportPage, SaysWhichResultsAreOfStandInData) {
  const RunRecord real{.name = "real", .settings = {{"options.stand_in", "false"}}};
  const RunRecord generated{.name = "generated", .settings = {{"options.stand_in", "true"}}};
  const std::string words = "trained on generated stand-in data";
  EXPECT_THAT(report_page({real}), Not(HasSubstr(words)));
  EXPECT_THAT(report_page({generated}), HasSubstr(">" + words));
  EXPECT_THAT(report_page({real, generated, real}), HasSubstr(">1 of the 3 runs: " + words));
}

TEST(ReportPage, HasNoSectionForPicturesAndGradientsWhereThereAreNone) {
  const std::string words = "Pictures and gradients";
  EXPECT_THAT(report_page(fixture_runs()), HasSubstr(words));
  EXPECT_THAT(report_page({RunRecord{.name = "diverged"}}), Not(HasSubstr(words)));
}

TEST(ReportPage, CarriesEverythingInside) {
  std::string page = report_page(fixture_runs());
  const std::string_view library =
      page::chart_library_script();  // names the address of its license
  page.erase(page.find(library), library.size());
  for (const char* outside : {"http://", "https://", "src=\"//", "@import", "url(", "<link"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_EQ(count(page, "src=\""), count(page, "src=\"data:image/png;base64,"));
  const std::string picture = read_whole(kRuns / "sing/pictures/step_00000240.png");
  EXPECT_THAT(page, HasSubstr("\"data:image/png;base64," + page::base64(picture) + "\""));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportPage, TextOfARunCannotBecomePartOfThePage) {
  std::vector<RunRecord> runs = fixture_runs();
  runs.resize(2);
  runs[0].name = "</title><script>alert(1)</script>";
  runs[0].settings.emplace_back("<b>key\"", "<i>'value'");
  runs[0].steps[0].gradient_norms.emplace_back("<u>layer.weight", 1);
  const std::string page = report_page(runs);
  for (const char* raw : {"<script>alert", "<b>key", "<i>'value", "<u>layer"}) {
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  }
  EXPECT_THAT(page, HasSubstr("\"label\":\"\\u003c/title>\\u003cscript>"));
}

TEST(ReportPage, ARunWithoutRecordsStillHasAPage) {
  RunRecord run{.name = "young", .settings = {{"task", "rde"}}};
  run.unreadable_lines = 1;
  const std::string page = report_page({run});
  EXPECT_THAT(page, HasSubstr("<title>rde: young</title>"));
  EXPECT_THAT(page, HasSubstr("No step was recorded yet."));
  EXPECT_THAT(page, HasSubstr("1 line of metrics.jsonl could not be read and is left out."));
  EXPECT_THAT(page, Not(HasSubstr("<figure")));
  EXPECT_THROW(report_page({}), std::invalid_argument);
}

TEST(ReportPage, AnUnfinishedRunShowsWhatWasLastMeasured) {
  RunRecord run{.name = "young"};
  run.evaluations = {{.step = 1, .loss = 0.5, .accuracy = 0.75},
                     {.step = 2, .loss = 0.25, .accuracy = 0.5},
                     {.step = 3, .loss = 0.125, .accuracy = 0.625}};
  EXPECT_THAT(report_page({run}),
              HasSubstr("unfinished</td><td>test</td><td class=\"number\">62.5 %</td>"
                        "<td class=\"number\">75 %</td><td class=\"number\">0.125</td>"));
}

TEST(ReportPage, FilesThatAreNoPicturesAreNamed) {
  const TemporaryFolder folder;
  write_whole(folder / "step_1.png", "no picture");
  const std::string page =
      report_page({RunRecord{.name = "run", .pictures = {folder / "step_1.png"}}});
  EXPECT_THAT(page, HasSubstr("step_1: no PNG file"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
}

TEST(ReportPage, SampleTextsAndOtherScoresAreShown) {
  const TemporaryFolder folder;
  write_whole(folder / "step_1.txt", "reference <b>");
  RunRecord run{.name = "run", .pictures = {folder / "step_1.txt"}};
  run.steps = {{.step = 1, .loss = 1, .unit = "tokens", .units_per_second = 50}};
  run.evaluations = {{.step = 1,
                      .loss = 0.5,
                      .accuracy = 0.25,
                      .score_name = "BLEU",
                      .others = {{"a & b", 0.125}}}};
  const std::string page = report_page({run});
  EXPECT_THAT(page, HasSubstr("<pre>reference &lt;b&gt;</pre>"));
  EXPECT_THAT(page, HasSubstr("<th>final BLEU</th><th>best BLEU</th><th>final loss</th>"
                              "<th>a &amp; b</th><th>steps</th><th>tokens/s</th>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">0.5</td><td class=\"number\">0.125</td>"));
  EXPECT_THAT(page, HasSubstr("BLEU, %"));
  EXPECT_THAT(page, HasSubstr("Tokens per second"));
}

TEST(ReportPage, PicturesComeWithWhatTheTaskSaysOfThem) {
  RunRecord run{.name = "run", .settings = {{"picture_legend", "black: error < 0.5"}}};
  EXPECT_THAT(report_page({run}), Not(HasSubstr("<p class=\"note\">black")));
  run.pictures = {kRuns / "sing/pictures/step_00000240.png"};
  EXPECT_THAT(report_page({run}), HasSubstr("<p class=\"note\">black: error &lt; 0.5</p>"));
  run.settings.clear();
  EXPECT_THAT(report_page({run}), Not(HasSubstr("<p class=\"note\"></p>")));
}

struct Said {
  int code;
  std::string out;
  std::string error;
};

Said report_command(std::vector<std::string> words) {
  words.insert(words.begin(), {"sing", "report"});
  std::vector<const char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  std::ostringstream out;
  std::ostringstream error;
  const int code =
      main::run_program(static_cast<int>(pointers.size()), pointers.data(), out, error);
  return {code, out.str(), error.str()};
}

TEST(ReportCommand, WritesThePageWhereItIsAskedToOrIntoTheFolder) {
  const TemporaryFolder folder;
  const std::string page = folder / "page.html";
  const Said said = report_command({kRuns / "sing", kRuns / "adamw_0", "--out", page});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_EQ(said.out, page + ": 2 runs\n");
  EXPECT_THAT(read_whole(page), HasSubstr("<h1>rde: 2 runs with sing-adamw, adamw</h1>"));

  std::filesystem::copy(kRuns / "sing", folder / "run", std::filesystem::copy_options::recursive);
  EXPECT_EQ(report_command({folder / "run"}).out,
            std::string(folder / "run/report.html") + ": 1 run\n");
}

TEST(ReportCommand, SaysWhatIsNoRunAndLeavesAnOldPageAlone) {
  const TemporaryFolder folder;
  const std::string page = folder / "page.html";
  write_whole(page, "old");
  const Said said = report_command({folder.path(), "--out", page});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_THAT(said.error, HasSubstr("wanted a run directory with config.json and metrics.jsonl"));
  EXPECT_EQ(read_whole(page), "old");
  EXPECT_EQ(report_command({}).code, command::kUsage);
  EXPECT_EQ(report_command({kRuns, "--out", folder / "absent/page.html"}).code, command::kFailure);
}

}  // namespace
}  // namespace sing::lab::report
