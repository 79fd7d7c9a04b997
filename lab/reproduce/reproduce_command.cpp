// Lists the tables or trains one, prints it and writes its report.
#include "lab/reproduce/reproduce_command.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

#include "lab/compare/child_process.hpp"
#include "lab/loop/stop_signal.hpp"
#include "lab/report/report_page.hpp"
#include "lab/reproduce/reproduction_table.hpp"
#include "sing/base/message.hpp"

namespace sing::reproduce {
namespace {

constexpr const char* kWhere = "[sing reproduce] ";

struct Line {
  const CLI::App* app = nullptr;
  Request request;
  std::string table;
  std::string out;
  std::string program;
  std::string recipes = SING_RECIPES;
  bool list = false;
};

std::set<std::string> tasks_of(const CLI::App& app) {
  std::set<std::string> tasks;
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app.get_subcommands(all)) {
    if (command->get_name() == "train") {
      for (const CLI::App* task : command->get_subcommands(all)) {
        tasks.insert(task->get_name());
      }
    }
  }
  return tasks;
}

compare::Place place_of(const Line& line, bool terminal) {
  return {
      .folder = line.out.empty() ? fmt::format("runs/reproduce_{}", line.request.scale) : line.out,
      .program =
          line.program.empty() ? compare::own_program() : std::filesystem::path(line.program),
      .terminal = terminal};
}

void list(const Line& line, const compare::Place& place, std::ostream& out) {
  out << "scale " << line.request.scale << ", runs in " << place.folder.string() << '\n';
  for (const PaperTable& table : paper_tables()) {
    if (line.table.empty() || line.table == table.name) {
      out << '\n' << list_text(table, row_states(table, line.request, place));
    }
  }
}

void write_page(const PaperTable& table, const Reproduction& reproduction,
                const compare::Place& place, const std::string& notice, std::ostream& out) {
  std::vector<std::filesystem::path> directories;
  for (const RowState& state : reproduction.rows) {
    for (const compare::Cell& cell : state.cells) {
      directories.push_back(place.folder / cell.name);
    }
  }
  report::write_report_of(place.folder / fmt::format("{}.html", table.name), directories,
                          section_of(table, reproduction.rows, notice), out);
}

void train(const Line& line, const compare::Place& place, lab::Session& session) {
  const PaperTable& table = paper_table(line.table);
  const std::string notice = flags_of(table, line.request).notice;
  if (!notice.empty()) {
    session.out << notice << '\n';
  }
  Reproduction reproduction;
  {
    const lab::StopSignal signal;
    reproduction = run_reproduction(table, line.request, place, session.out,
                                    [&] { return signal.requested(); });
  }
  session.out << '\n' << table.title << '\n' << text_of(reproduction.rows);
  if (!notice.empty()) {  // what was said before the first run may have left the screen
    session.out << notice << '\n';
  }
  write_page(table, reproduction, place, notice, session.out);
  if (reproduction.stopped) {
    session.out << "interrupted; the same command goes on from here\n";
    session.exit_code = lab::kInterruptedExit;
  } else if (!reproduction.failures.empty()) {
    throw Error(fmt::format("{}wanted a result of each run, {} failed, the first: {}", kWhere,
                            reproduction.failures.size(), reproduction.failures.front()));
  }
}

void run(Line& line, lab::Session& session) {
  SING_CHECK(line.list || !line.table.empty(), "{}wanted --table or --list, got neither", kWhere);
  if (!line.table.empty()) {
    paper_table(line.table);
  }
  compare::check_train_flags(line.request.train_flags, {"--config", "--seed", "--out", "--resume"},
                             kWhere);
  line.request.recipes = line.recipes;
  line.request.knows_tasks = line.program.empty();
  line.request.tasks = tasks_of(*line.app);
  const bool terminal = &session.out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  const compare::Place place = place_of(line, terminal);
  if (line.list) {
    list(line, place, session.out);
  } else {
    train(line, place, session);
  }
}

}  // namespace

void add_reproduce_command(CLI::App& app, lab::Session& session) {
  CLI::App* const command = app.add_subcommand(
      "reproduce", "Train the rows of a table of the paper, ours beside its own");
  const auto line = std::make_shared<Line>();
  line->app = &app;
  std::string names;
  for (const PaperTable& table : paper_tables()) {
    names += (names.empty() ? "" : ", ") + std::string(table.name);
  }
  command->add_option("--table", line->table, names)->type_name("NAME");
  command->add_flag("--list", line->list, "say which rows are done, train nothing");
  command
      ->add_option("--scale", line->request.scale,
                   "full: the recipes; short: a tenth of the epochs; smoke: that they run")
      ->check(CLI::IsMember({"smoke", "short", "full"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--seeds", line->request.seeds, "runs of each row, with seeds from 0 on")
      ->check(CLI::Range(1, 1000))
      ->type_name("INTEGER")
      ->capture_default_str();
  command->add_option("--out", line->out, "folder of the runs; without it runs/reproduce_SCALE")
      ->type_name("FOLDER");
  command->add_option("--recipes", line->recipes, "folder of the recipes; without it the project's")
      ->type_name("FOLDER");
  command->add_option("--program", line->program, "trains instead of this program")
      ->type_name("FILE");
  command
      ->add_option("FLAGS", line->request.train_flags,
                   "after --: flags for every sing train, such as --data and --device")
      ->type_name("");
  command->callback(
      [line, &session] { session.chosen = [line, &session] { run(*line, session); }; });
}

}  // namespace sing::reproduce
