// Reads the flags, and finds the tasks among the commands of the program.
#include "lab/main/run_flags.hpp"

#include <unistd.h>

#include <iostream>

#include "lab/command/field_flags.hpp"
#include "lab/command/stop_signal.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::main {

void RunFlags::add_to(CLI::App& command, const CLI::App& app, const std::string& folder,
                      std::vector<std::string>& train_flags) {
  app_ = &app;
  command::add_number(command, "--jobs", jobs_, "runs that train at the same time",
                      between(1, 256));
  command.add_option("--out", out_, "folder for the runs; default: " + folder)->type_name("FOLDER");
  command.add_option("--program", program_, "program that trains in place of this one")
      ->type_name("FILE");
  command
      .add_option("FLAGS", train_flags,
                  "after --: flags for every sing train, such as --data and --device")
      ->type_name("");
}

compare::Workplace RunFlags::place(const std::string& folder,
                                   const command::CommandContext& context) const {
  return {.folder = out_.empty() ? folder : out_,
          .program = program_.empty() ? compare::own_program() : std::filesystem::path(program_),
          .terminal = &context.out == &std::cout && ::isatty(STDOUT_FILENO) == 1,
          .jobs = jobs_};
}

std::set<std::string> RunFlags::tasks() const {
  std::set<std::string> tasks;
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* command : app_->get_subcommands(all)) {
    if (command->get_name() == "train") {
      for (const CLI::App* task : command->get_subcommands(all)) {
        tasks.insert(task->get_name());
      }
    }
  }
  return tasks;
}

void RunFlags::check_task(const std::string& task, std::string_view where) const {
  const std::set<std::string> found = tasks();
  const std::vector<std::string> known(found.begin(), found.end());
  SING_CHECK(known.empty() || found.contains(task), "{}wanted a task of sing train, {}, got '{}'{}",
             where, joined_names(known), task, did_you_mean(task, known));
}

void end_interrupted(command::CommandContext& context) {
  context.out << "interrupted; run the same command again to continue\n";
  context.exit_code = command::kInterruptedExit;
}

}  // namespace sing::lab::main
