// Looks for the word that a command line got wrong.
#include "lab/cli/usage_error.hpp"

#include <algorithm>
#include <vector>

#include "sing/base/fields.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab {
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

std::vector<std::string> known_commands(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  return known;
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* deepest = &app;
  std::string where = app.get_name();
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    where += " " + deepest->get_name();
  }
  const std::vector<std::string> unknown = app.remaining(true);
  const std::vector<std::string> commands = known_commands(*deepest);
  if (unknown.empty() && !commands.empty()) {
    return concat(
        "[", where, "] wanted one of the commands ", joined_names(commands), ", given none");
  }
  if (unknown.empty()) {
    return concat("[", where, "] ", error.what());
  }
  if (!commands.empty() && !is_flag(unknown.front())) {
    return concat("[",
                  where,
                  "] wanted one of the commands ",
                  joined_names(commands),
                  ", given '",
                  unknown.front(),
                  "'",
                  nearest_name_hint(unknown.front(), commands));
  }
  // What follows an unknown flag may be its value: the flag is the mistake.
  const auto flag = std::find_if(unknown.begin(), unknown.end(), is_flag);
  if (flag == unknown.end()) {
    return concat("[", where, "] wanted options only, given '", unknown.front(), "'");
  }
  const std::string word = flag->substr(0, flag->find('='));
  return concat("[",
                where,
                "] wanted a known option, given '",
                word,
                "'",
                nearest_name_hint(word, known_flags(*deepest)));
}

}  // namespace sing::lab
