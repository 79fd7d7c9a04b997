// Lists the paper's tables, or trains one, prints it and writes its report.
#include <memory>

#include "lab/command/field_flags.hpp"
#include "lab/command/stop_signal.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/run_flags.hpp"
#include "lab/report/report_page.hpp"
#include "lab/reproduce/reproduction_table.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

// Returns the recipes of the installed program, or those of the source tree.
std::string recipes_folder() {
  const std::filesystem::path installed =
      compare::own_program().parent_path() / SING_INSTALLED_RECIPES;
  return std::filesystem::exists(installed) ? installed.lexically_normal().string() : SING_RECIPES;
}

struct ReproduceFlags {
  reproduce::ReproductionRequest request;
  std::string table;
  std::string recipes = recipes_folder();
  RunFlags runs;
  bool list = false;
};

void list(const ReproduceFlags& flags, const compare::Workplace& place, std::ostream& out) {
  out << "scale " << flags.request.scale << ", runs in " << place.folder.string() << '\n';
  for (const reproduce::PaperTable& table : reproduce::paper_tables()) {
    if (flags.table.empty() || flags.table == table.name) {
      out << '\n'
          << reproduce::list_text(table, reproduce::row_states(table, flags.request, place));
    }
  }
}

void write_page(const reproduce::PaperTable& table, const reproduce::Reproduction& reproduction,
                const compare::Workplace& place, const std::string& notice, std::ostream& out) {
  std::vector<std::filesystem::path> directories;
  for (const reproduce::RowState& state : reproduction.rows) {
    for (const compare::Cell& cell : state.cells) {
      directories.push_back(place.folder / cell.name);
    }
  }
  report::write_report_of(place.folder / fmt::format("{}.html", table.name), directories,
                          reproduce::section_of(table, reproduction.rows, notice), out);
}

void train(const ReproduceFlags& flags, const compare::Workplace& place, CommandContext& context) {
  const reproduce::PaperTable& table = reproduce::paper_table(flags.table);
  const std::string notice = reproduce::notice_of(table, flags.request);
  if (!notice.empty()) {
    context.out << notice << '\n';
  }
  reproduce::Reproduction reproduction;
  {
    const command::StopSignal signal;
    reproduction = reproduce::run_reproduction(table, flags.request, place, context.out,
                                               [&] { return signal.requested(); });
  }
  context.out << '\n' << table.title << '\n' << text_of(reproduction.rows);
  if (!notice.empty()) {  // repeated, because the first one may have scrolled away
    context.out << notice << '\n';
  }
  write_page(table, reproduction, place, notice, context.out);
  if (reproduction.stopped) {
    end_interrupted(context);
  } else if (!reproduction.failures.empty()) {
    throw Error(fmt::format(
        "[sing reproduce] wanted a result of each run, got {} that failed, the first: {}",
        reproduction.failures.size(), reproduction.failures.front()));
  }
}

void run(ReproduceFlags& flags, CommandContext& context) {
  SING_CHECK(flags.list || !flags.table.empty(),
             "[sing reproduce] wanted --table or --list, got neither");
  if (!flags.table.empty()) {
    reproduce::paper_table(flags.table);
  }
  compare::check_train_flags(flags.request.train_flags, {"--config", "--seed", "--out", "--resume"},
                             "[sing reproduce] ");
  flags.request.recipes = flags.recipes;
  flags.request.knows_tasks = !flags.runs.has_other_program();
  flags.request.tasks = flags.runs.tasks();
  const compare::Workplace place =
      flags.runs.place(fmt::format("runs/reproduce_{}", flags.request.scale), context);
  if (flags.list) {
    list(flags, place, context.out);
  } else {
    train(flags, place, context);
  }
}

}  // namespace

void add_reproduce_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand(
      "reproduce",
      "Train the rows of a table of the paper and show our results beside the paper's");
  const auto flags = std::make_shared<ReproduceFlags>();
  std::string names;
  for (const reproduce::PaperTable& table : reproduce::paper_tables()) {
    names += (names.empty() ? "" : ", ") + std::string(table.name);
  }
  command->add_option("--table", flags->table, names)->type_name("NAME");
  command::add_switch(*command, "--list", flags->list,
                      "list which rows are done and train nothing");
  command
      ->add_option("--scale", flags->request.scale,
                   "full: the recipes; short: a tenth of their epochs; smoke: a few steps, to "
                   "check that they run")
      ->type_name("NAME")
      ->capture_default_str();
  command::add_number(*command, "--seeds", flags->request.seeds,
                      "runs of each row, with the seeds 0, 1, …", between(1, 1000));
  command->add_option("--recipes", flags->recipes, "folder of the recipes; default: the project's")
      ->type_name("FOLDER");
  flags->runs.add_to(*command, app, "runs/reproduce_SCALE", flags->request.train_flags);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context); }; });
}

}  // namespace sing::lab::main
