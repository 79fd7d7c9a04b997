// config.json: the options of a run, and the machine and the versions that it ran on.
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
  std::vector<OptionInfo> options;  // all of them, with what was chosen
  std::int64_t parameters = 0;
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
  std::map<std::string, std::string> versions;
};

// As JSON, with the commit, the compiler and the machine.
std::string config_text(const RunConfig& config);
// Throws FileError.
void write_config(const std::filesystem::path& path, const RunConfig& config);

struct RecordedConfig {
  std::string task;
  std::string data_digest;  // "" also of runs that recorded none
  command::OptionTexts options;
};

// Throws FileError for a file that is missing or not such a configuration.
RecordedConfig read_config(const std::filesystem::path& path);

// Every value of any JSON object, nested keys as a.b. Throws FileError for any other file.
std::vector<std::pair<std::string, std::string>> read_settings(const std::filesystem::path& path);

// "none" for no value, "true", "0.5", a name.
std::string option_text(const Value& value);

}  // namespace sing::lab::run
