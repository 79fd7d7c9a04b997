// Reads the request, runs the tuning, prints the table and writes the report.
#include <algorithm>
#include <memory>

#include "lab/command/field_flags.hpp"
#include "lab/command/option_texts.hpp"
#include "lab/command/stop_signal.hpp"
#include "lab/main/commands.hpp"
#include "lab/main/run_flags.hpp"
#include "lab/optimizer/named_optimizer.hpp"
#include "lab/report/report_page.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/tune/tuning_record.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

constexpr const char* kWhere = "[sing tune] ";

struct TuneFlags {
  tune::TuningRequest request;
  std::optional<double> learning_rate;
  std::optional<double> weight_decay;
  RunFlags runs;
};

// Returns the option's value in the file of options of the training, or else the optimizer's own.
double own_value(const tune::TuningRequest& request, const std::string& option,
                 const std::vector<std::string>& names_in_file) {
  if (const auto config = compare::flag_value(request.train_flags, "--config")) {
    for (const auto& [name, text] : command::read_option_file(*config)) {
      const auto number = parse_number<double>(text);
      if (std::find(names_in_file.begin(), names_in_file.end(), name) != names_in_file.end() &&
          number) {
        return *number;
      }
    }
  }
  for (const OptionInfo& info :
       list_options(optimizer::make_optimizer_options(request.optimizer))) {
    if (info.name == option) {
      return std::get<double>(info.value);
    }
  }
  throw std::invalid_argument(
      fmt::format("{}wanted an optimizer with a {}, got {}", kWhere, option, request.optimizer));
}

// The paper does not say which decay its learning rates were tried with.
void complete(TuneFlags& flags) {
  tune::TuningRequest& request = flags.request;
  request.learning_rate = flags.learning_rate ? *flags.learning_rate
                                              : own_value(request, "learning_rate",
                                                          {"learning_rate", "learning-rate", "lr"});
  request.weight_decay = flags.weight_decay
                             ? *flags.weight_decay
                             : own_value(request, "weight_decay", {"weight_decay", "weight-decay"});
}

void check(const tune::TuningRequest& request) {
  std::vector<std::string> owned = {"--optimizer", "--learning-rate", "--lr",     "--weight-decay",
                                    "--seed",      "--out",           "--resume", "--evaluate-on"};
  if (request.epochs > 0) {
    owned.insert(owned.end(), {"--epochs", "--steps"});
  }
  compare::check_train_flags(request.train_flags, owned, kWhere);
  SING_CHECK(request.protocol != "halving" || request.epochs > 0,
             "{}--protocol halving: wanted --epochs, those of the last round, got none", kWhere);
  SING_CHECK(request.protocol != "halving" || !request.rates_only,
             "{}--rates-only: wanted --protocol budget or paper, got {}", kWhere, request.protocol);
}

void say_best(const tune::TuningRequest& request, const tune::Tuning& tuning, std::ostream& out) {
  for (const std::string& remark : tuning.remarks) {
    out << remark << '\n';
  }
  if (tuning.best) {
    out << "best: sing";
    // The test set is reserved for the training with the best values.
    tune::TuningRequest final = request;
    final.evaluate_on = data::EvaluationSet::kTest;
    const compare::Cell cell = tune::cell_of(final, *tuning.best);
    for (const std::string& word : cell.arguments) {
      out << ' ' << word;
    }
    out << '\n';
  }
}

void run(TuneFlags& flags, CommandContext& context) {
  tune::TuningRequest& request = flags.request;
  check(request);
  complete(flags);
  if (!flags.runs.has_other_program()) {
    flags.runs.check_task(request.task, kWhere);
  }
  const compare::Workplace place =
      flags.runs.place(fmt::format("runs/tune_{}_{}", request.task, request.optimizer), context);
  tune::Tuning tuning;
  {
    const command::StopSignal signal;
    tuning = tune::run_tuning(request, place, context.out, [&] { return signal.requested(); });
  }
  context.out << '\n' << text_of(request, tuning);
  std::vector<std::filesystem::path> directories;
  for (const tune::Trial& trial : tuning.trials) {
    directories.push_back(place.folder / trial.run);
  }
  report::write_report_of(place.folder / run::kReportFile, directories,
                          tune::section_of(request, tuning), context.out);
  if (tuning.stopped) {
    end_interrupted(context);
    return;
  }
  say_best(request, tuning, context.out);
  if (!tuning.best) {
    context.exit_code = command::kDivergedExit;
  }
}

}  // namespace

void add_tune_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command = app.add_subcommand(
      "tune",
      "Find a learning rate and a weight decay, with equally many runs for every optimizer");
  const auto flags = std::make_shared<TuneFlags>();
  tune::TuningRequest& request = flags->request;
  command->add_option("TASK", request.task, "task, as for sing train")->required()->type_name("");
  command->add_option("--optimizer", request.optimizer, "name of an optimizer, as for sing train")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--protocol", request.protocol,
                   "budget: a fixed number of rates around the best, then of decays; paper: its "
                   "grids, extended; halving: successive halving")
      ->type_name("NAME")
      ->capture_default_str();
  command::add_number(
      *command, "--epochs", request.epochs,
      "epochs of each run (with halving: of the last round); default: as the flags say",
      at_least(1))
      ->default_str("");
  command::add_number(*command, "--seed", request.seed, "seed of every run", at_least(0));
  command::add_value(*command, "--evaluate-on", request.evaluate_on,
                     "set that the runs are compared on: validation or test");
  command::add_number(*command, "--learning-rate,--lr", flags->learning_rate,
                      "learning rate that the budget protocol starts from; default: that of "
                      "--config, or the optimizer's own",
                      at_least(0))
      ->default_str("");
  command::add_number(*command, "--weight-decay", flags->weight_decay,
                      "weight decay while learning rates are tried; default: that of --config, or "
                      "the optimizer's own",
                      at_least(0))
      ->default_str("");
  command::add_number(*command, "--rate-runs", request.rate_runs,
                      "learning rates that the budget protocol tries", between(1, 1000));
  command::add_number(*command, "--decay-runs", request.decay_runs,
                      "further weight decays that the budget protocol tries", between(0, 1000));
  command::add_number(*command, "--extensions", request.extensions,
                      "values that are tried beyond either end of the paper's grids, at most",
                      between(0, 20));
  command::add_switch(*command, "--rates-only", request.rates_only,
                      "do not tune the weight decay: runs much shorter than the training they "
                      "stand for can compare learning rates, but hardly weight decays");
  flags->runs.add_to(*command, app, "runs/tune_TASK_OPTIMIZER", request.train_flags);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context); }; });
}

}  // namespace sing::lab::main
