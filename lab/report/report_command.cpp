// Reads the runs it is given and says where the page is.
#include "lab/report/report_command.hpp"

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lab/report/report_page.hpp"
#include "lab/report/run_reader.hpp"

namespace sing::report {
namespace {

struct Request {
  std::vector<std::string> runs;
  std::string out;
};

void run(const Request& request, std::ostream& out) {
  const std::vector<std::filesystem::path> paths(request.runs.begin(), request.runs.end());
  const std::vector<RunRecord> runs = read_runs(paths);
  std::filesystem::path page = request.out;
  if (page.empty()) {
    page = paths.size() == 1 ? paths.front() / "report.html" : "report.html";
  }
  write_report(page, runs);
  out << page.string() << ": " << runs.size() << (runs.size() == 1 ? " run\n" : " runs\n");
}

}  // namespace

void add_report_command(CLI::App& app, lab::Session& session) {
  CLI::App* const command =
      app.add_subcommand("report", "Write one HTML page about one or many runs");
  const auto request = std::make_shared<Request>();
  command->add_option("RUN", request->runs, "run directories, or folders of run directories")
      ->required()
      ->type_name("");
  command
      ->add_option("--out", request->out,
                   "the page; without it report.html, beside the runs if one folder was given")
      ->type_name("FILE");
  command->callback([request, &session] {
    session.chosen = [request, &session] { run(*request, session.out); };
  });
}

}  // namespace sing::report
