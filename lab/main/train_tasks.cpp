// Finds the tasks among the commands of the program.
#include "lab/main/train_tasks.hpp"

#include <vector>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::main {

std::set<std::string> train_tasks(const CLI::App& app) {
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

void check_task(const CLI::App& app, const std::string& task, std::string_view where) {
  const std::set<std::string> tasks = train_tasks(app);
  const std::vector<std::string> known(tasks.begin(), tasks.end());
  SING_CHECK(known.empty() || tasks.contains(task), "{}wanted a task of sing train, {}, got '{}'{}",
             where, joined_names(known), task, did_you_mean(task, known));
}

}  // namespace sing::lab::main
