// Parses the command line, runs the command it names and turns errors into exit codes.
#include "lab/main/program.hpp"

#include <exception>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lab/command/usage_error.hpp"
#include "lab/main/commands.hpp"
#include "lab/ranks/launched_processes.hpp"
#include "sing/base/message.hpp"
#include "sing/c_api/sing.h"

namespace sing::lab::main {
namespace {

void add_commands(CLI::App& app, CommandContext& context) {
  CLI::App* const data = app.add_subcommand("data", "Write, show or check a task's data");
  data->require_subcommand(1);
  add_rde_data_command(*data, context);
  add_official_data_commands(*data, context);
  add_pack_data_command(*data, context);
  add_weights_data_command(*data, context);
  add_text_data_command(*data, context);
  add_compare_command(app, context);
  add_tune_command(app, context);
  add_reproduce_command(app, context);
  add_report_command(app, context);
  add_theory_command(app, context);
}

// Each of the processes would write the same files.
void check_processes(const CLI::App& app) {
  const std::string command = app.get_subcommands().front()->get_name();
  const int launched = ranks::launched_processes();
  SING_CHECK(launched == 1 || command == "train",
             "[sing {}] wanted one process, got {} that mpirun has started; of all commands only "
             "`sing train` runs in several",
             command, launched);
}

// `sing` is `sing --help`, and `sing help WORDS` is `sing WORDS --help` if WORDS name a command;
// flags may follow.
std::vector<std::string> with_help(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) {
    return {"--help"};
  }
  if (words.front() == "help") {
    words.erase(words.begin());
    command::check_commands(app, words);
    words.emplace_back("--help");
  }
  return words;
}

}  // namespace

int run_program(int argument_count, const char* const* arguments, std::ostream& out,
                std::ostream& error,
                const std::function<void(CLI::App&, command::CommandContext&)>& add_more) {
  CLI::App app("Trains with centralized and normalized gradients, and measures their effect",
               "sing");
  app.set_version_flag("--version", fmt::format("sing {}", sing_version()));
  app.require_subcommand(1);
  command::CommandContext context{.out = out};
  add_commands(app, context);
  if (add_more) {
    add_more(app, context);
  }
  std::vector<std::string> words = {arguments + 1, arguments + argument_count};
  try {
    words = with_help(app, std::move(words));
    // CLI11 wants the last word first.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    check_processes(app);
    context.chosen();
    out.flush();
    if (!out) {
      error << "[" << app.get_name() << "] cannot write to the standard output\n";
      return context.needs_output ? command::kFailure : context.exit_code;
    }
    return context.exit_code;
  } catch (const CLI::Success& help) {
    app.exit(help, out, error);
    return command::kSuccess;
  } catch (const CLI::ParseError& mistake) {
    error << command::usage_error(app, mistake, words) << '\n';
    return command::kUsage;
  } catch (const std::invalid_argument& mistake) {
    error << mistake.what() << '\n';
    return command::kUsage;
  } catch (const std::exception& failure) {
    error << failure.what() << '\n';
    return command::kFailure;
  }
}

}  // namespace sing::lab::main
