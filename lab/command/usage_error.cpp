// Finds the wrong word of a command line.
#include "lab/command/usage_error.hpp"

#include <algorithm>
#include <iterator>

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

std::string unknown_command(const std::vector<std::string>& known, const std::string& word) {
  return fmt::format("wanted one of the commands {}, got '{}'{}", joined_names(known), word,
                     did_you_mean(word, known));
}

// Returns whether `flag` belongs to `sing train` and the command passes flags on to it.
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

// Counts how often the option's flags occur before a --.
std::ptrdiff_t count_of(const CLI::Option& option, const std::vector<std::string>& words) {
  return std::count_if(words.begin(), std::find(words.begin(), words.end(), "--"),
                       [&](const std::string& word) {
                         return is_flag(word) && option.check_name(word.substr(0, word.find('=')));
                       });
}

// CLI11 does not say which option has too many or too few values.
std::string wrong_count(const CLI::App& command, const std::vector<std::string>& words) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
        option->get_expected_max() <= 1 && count_of(*option, words) > 1) {
      return fmt::format("wanted {} once, got it {} times", option->get_name(),
                         count_of(*option, words));
    }
  }
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    const CLI::Option* const option = is_flag(*word) ? command.get_option_no_throw(*word) : nullptr;
    const bool is_last = std::next(word) == words.end() || is_flag(*std::next(word));
    if (option != nullptr && option->get_items_expected_min() > 0 && is_last) {
      return fmt::format("wanted a value of {}, got none", *word);
    }
  }
  return "wanted as many values of each option as --help shows, got others";
}

std::string missing_options(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      missing.push_back(option->get_name());
    }
  }
  return fmt::format("wanted {}, got none", joined_names(missing));
}

// Reports a word that no option takes, and the flag or command that was probably meant.
std::string unknown_word(const CLI::App& app, const CLI::App& command,
                         const std::vector<std::string>& unknown) {
  const std::vector<std::string> commands = known_commands(command);
  if (!commands.empty() && !is_flag(unknown.front())) {
    return unknown_command(commands, unknown.front());
  }
  // A word after an unknown flag may be its value, so the flag is the mistake.
  const auto flag = std::find_if(unknown.begin(), unknown.end(), is_flag);
  if (flag == unknown.end()) {
    return fmt::format("wanted options only, got '{}'", unknown.front());
  }
  const std::string word = flag->substr(0, flag->find('='));
  return fmt::format("wanted a known option, got '{}'{}", word,
                     belongs_after_dashes(app, command, word)
                         ? "; flags of sing train come last, after --"
                         : did_you_mean(word, known_flags(command)));
}

std::string mistake_of(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return wrong_count(command, words);
  }
  if (const std::vector<std::string> unknown = app.remaining(true); !unknown.empty()) {
    return unknown_word(app, command, unknown);
  }
  if (const std::vector<std::string> commands = known_commands(command); !commands.empty()) {
    return fmt::format("wanted one of the commands {}, got none", joined_names(commands));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return missing_options(command);
  }
  return "wanted a command line as --help shows, got another";
}

}  // namespace

void check_commands(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    if (is_flag(word)) {
      return;
    }
    const std::vector<std::string> known = known_commands(*command);
    SING_CHECK(!known.empty(), "[{} help] wanted an option of '{}', got '{}'", app.get_name(),
               command->get_name(), word);
    SING_CHECK(std::find(known.begin(), known.end(), word) != known.end(), "[{} help] {}",
               app.get_name(), unknown_command(known, word));
    command = command->get_subcommand(word);
  }
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string where = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    where += " " + command->get_name();
  }
  return fmt::format("[{}] {}", where, mistake_of(app, *command, error, words));
}

}  // namespace sing::lab::command
