// Writes and reads config.json: the options of a run, and the machine and versions that it ran on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/command/option_texts.hpp"
#include "sing/optim/options.hpp"

namespace sing::lab::run {

struct RunConfig {
  std::string task;
  std::string picture_legend;       // Task::picture_legend
  std::string data_digest;          // Task::data_digest
  std::vector<OptionInfo> options;  // all options with the chosen values
  std::int64_t parameters = 0;
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t ranks = 1;  // processes that trained together; recorded if there are several
  std::map<std::string, std::string> versions;
};

// Returns the configuration as JSON, with the commit, the compiler and the machine.
std::string config_text(const RunConfig& config);
// Throws FileError.
void write_config(const std::filesystem::path& path, const RunConfig& config);

struct RecordedConfig {
  std::string task;
  std::string data_digest;  // "" if the run recorded none
  std::int64_t total_steps = 0;
  std::int64_t ranks = 1;
  command::OptionTexts options;
};

// Throws FileError for a file that is missing or not such a configuration.
RecordedConfig read_config(const std::filesystem::path& path);

// Returns every value of a JSON object; nested keys are written a.b. Throws FileError for any other
// file.
std::vector<std::pair<std::string, std::string>> read_settings(const std::filesystem::path& path);

// Returns "none" for no value, or a text such as "true", "0.5" or a name.
std::string option_text(const Value& value);

}  // namespace sing::lab::run
