// Finds the flags that belong to option names.
#include "lab/command/option_texts.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "lab/command/field_flags.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::command {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

bool same_value(const std::string& a, const std::string& b) {
  const auto left = parse_number<double>(a);
  const auto right = parse_number<double>(b);
  return left && right ? *left == *right : a == b;
}

}  // namespace

OptionTexts read_option_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  // A folder can be opened and then reads like an empty file.
  SING_CHECK(stream.good() && !std::filesystem::is_directory(path),
             "[--config] wanted a readable file, got '{}'", path.string());
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(stream);
  } catch (const CLI::Error&) {
    throw std::invalid_argument(
        fmt::format("[--config] '{}': wanted lines 'name = value', got others", path.string()));
  }
  OptionTexts options;
  for (const CLI::ConfigItem& item : items) {
    SING_CHECK(item.parents.empty(),
               "[--config] '{}': wanted lines 'name = value' without sections, got '[{}]'",
               path.string(), item.parents.front());
    // CLI11 joins the values of neighboring lines with one name.
    SING_CHECK(item.inputs.size() == 1, "[--config] '{}': wanted one value of '{}', got {}",
               path.string(), item.name, item.inputs.size());
    SING_CHECK(item.name != "config",
               "[--config] '{}': wanted options of the command, got '{}': a file cannot name "
               "another",
               path.string(), item.name);
    options.emplace_back(item.name, item.inputs.front());
  }
  return options;
}

void apply_options(CLI::App& command, const OptionTexts& options, std::string_view where) {
  std::map<const CLI::Option*, std::string> given;
  for (const auto& [name, text] : options) {
    const std::string flag = flag_of(name);
    CLI::Option* const option = command.get_option_no_throw(flag);
    SING_CHECK(option != nullptr, "[{}] wanted a known option, got '{}'{}", where, name,
               did_you_mean(flag, flags_of(command)));
    const auto [before, is_first] = given.emplace(option, name);
    SING_CHECK(is_first, "[{}] wanted one value of {}, got '{}' and '{}'", where,
               option->get_name(), before->second, name);
    if (option->count() == 0) {
      option->add_result(text);
      try {
        option->run_callback();
      } catch (const CLI::Error&) {
        throw std::invalid_argument(
            fmt::format("[{}] wanted one value of {}, got '{}'", where, flag, text));
      }
    }
  }
}

std::string first_contradiction(const CLI::App& command, const OptionTexts& recorded) {
  for (const auto& [name, text] : recorded) {
    const CLI::Option* const option = command.get_option_no_throw(flag_of(name));
    if (option != nullptr && option->count() > 0 && !same_value(option->results().front(), text)) {
      return fmt::format("wanted {} {} as before, got {}", flag_of(name), text,
                         option->results().front());
    }
  }
  return "";
}

}  // namespace sing::lab::command
