// Looks for the word that a command line got wrong.
#include "lab/command/usage_error.hpp"

#include <algorithm>
#include <vector>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::command {
namespace {

bool is_flag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> known_flags(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  return known;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> known_commands(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : commands_of(app)) {
    known.push_back(command->get_name());
  }
  return known;
}

// A flag of `sing train` given to a command that hands flags on to it.
bool belongs_after_dashes(const CLI::App& app, const CLI::App& command, const std::string& flag) {
  const std::vector<const CLI::App*> all = commands_of(app);
  const auto train = std::find_if(all.begin(), all.end(),
                                  [](const CLI::App* each) { return each->get_name() == "train"; });
  if (train == all.end() || command.get_option_no_throw("FLAGS") == nullptr) {
    return false;
  }
  const std::vector<const CLI::App*> tasks = commands_of(**train);
  return std::any_of(tasks.begin(), tasks.end(), [&](const CLI::App* task) {
    return task->get_option_no_throw(flag) != nullptr;
  });
}

// Of a value that CLI11 could not read; "" for other errors.
std::string words_of_unread(const CLI::ParseError& error) {
  constexpr std::string_view kUnread = "Could not convert: ";
  const std::string words = error.what();
  const std::size_t equals = words.find(" = ");
  if (!words.starts_with(kUnread) || equals == std::string::npos) {
    return "";
  }
  return fmt::format("{}: wanted a value as --help says, got '{}'",
                     words.substr(kUnread.size(), equals - kUnread.size()),
                     words.substr(equals + 3));
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* deepest = &app;
  std::string where = app.get_name();
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    where += " " + deepest->get_name();
  }
  // Before the words that it did not come to, a -- among them.
  if (const std::string unread = words_of_unread(error); !unread.empty()) {
    return fmt::format("[{}] {}", where, unread);
  }
  const std::vector<std::string> unknown = app.remaining(true);
  const std::vector<std::string> commands = known_commands(*deepest);
  if (unknown.empty() && !commands.empty()) {
    return fmt::format("[{}] wanted one of the commands {}, got none", where,
                       joined_names(commands));
  }
  if (unknown.empty()) {
    return fmt::format("[{}] {}", where, error.what());
  }
  if (!commands.empty() && !is_flag(unknown.front())) {
    return fmt::format("[{}] wanted one of the commands {}, got '{}'{}", where,
                       joined_names(commands), unknown.front(),
                       did_you_mean(unknown.front(), commands));
  }
  // What follows an unknown flag may be its value: the flag is the mistake.
  const auto flag = std::find_if(unknown.begin(), unknown.end(), is_flag);
  if (flag == unknown.end()) {
    return fmt::format("[{}] wanted options only, got '{}'", where, unknown.front());
  }
  const std::string word = flag->substr(0, flag->find('='));
  const std::string hint = belongs_after_dashes(app, *deepest, word)
                               ? "; flags of sing train come last, after --"
                               : did_you_mean(word, known_flags(*deepest));
  return fmt::format("[{}] wanted a known option, got '{}'{}", where, word, hint);
}

}  // namespace sing::lab::command
