// Reads the given runs, writes the report and prints where it is.
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lab/main/commands.hpp"
#include "lab/report/report_page.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_reader.hpp"

namespace sing::lab::main {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string out;
};

void run(const ReportFlags& flags, std::ostream& out) {
  const std::vector<std::filesystem::path> paths(flags.runs.begin(), flags.runs.end());
  const std::vector<run::RunRecord> runs = run::read_runs(paths);
  std::filesystem::path page = flags.out;
  if (page.empty()) {
    page = paths.size() == 1 ? paths.front() / run::kReportFile : run::kReportFile;
  }
  report::write_report(page, runs);
  out << page.string() << ": " << runs.size() << (runs.size() == 1 ? " run\n" : " runs\n");
}

}  // namespace

void add_report_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command =
      app.add_subcommand("report", "Write one HTML page about one or many runs");
  const auto flags = std::make_shared<ReportFlags>();
  command->add_option("RUN", flags->runs, "run directories, or folders of run directories")
      ->required()
      ->type_name("");
  command
      ->add_option(
          "--out", flags->out,
          "file of the page; default: report.html, in the folder of the runs if one was given")
      ->type_name("FILE");
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
