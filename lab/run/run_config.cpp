// Writes and reads config.json.
#include "lab/run/run_config.hpp"

#include <fstream>
#include <thread>

#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"
#include "sing/io/value_json.hpp"

#ifndef SING_COMMIT
#define SING_COMMIT "unknown"
#endif

namespace sing::lab::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

// Returns the text after "<key>…:" in the first line of the file that has it.
std::string line_value(const std::filesystem::path& path, std::string_view key) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

Json gpus() {
  Json names = Json::array();
  std::error_code none;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    names.push_back(line_value(gpu.path() / "information", "Model"));
  }
  return names;
}

void flatten(const Json& value, const std::string& key,
             std::vector<std::pair<std::string, std::string>>& settings) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      flatten(inner, key.empty() ? name : fmt::format("{}.{}", key, name), settings);
    }
  } else {
    settings.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

std::string option_text(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) {
    return "none";
  }
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_text(value);
}

std::string config_text(const RunConfig& config) {
  Json options = Json::object();
  for (const OptionInfo& option : config.options) {
    options[option.name] = to_json(option.value);
  }
  Json versions = config.versions;
  versions["compiler"] = __VERSION__;
  Json all = {{"format_version", kFormatVersion},
              {"task", config.task},
              {"picture_legend", config.picture_legend},
              {"data_digest", config.data_digest},
              {"options", std::move(options)},
              {"parameters", config.parameters},
              {"total_steps", config.total_steps},
              {"steps_per_epoch", config.steps_per_epoch},
              {"commit", SING_COMMIT},
              {"versions", std::move(versions)},
              {"machine",
               {{"processor", line_value("/proc/cpuinfo", "model name")},
                {"cores", std::thread::hardware_concurrency()},
                {"gpus", gpus()}}}};
  if (config.ranks > 1) {
    all["ranks"] = config.ranks;
  }
  return all.dump(2) + "\n";
}

void write_config(const std::filesystem::path& path, const RunConfig& config) {
  replace_file(path, config_text(config));
}

RecordedConfig read_config(const std::filesystem::path& path) {
  std::ifstream stream(path);
  if (!stream) {
    throw FileError(
        fmt::format("[run] '{}': cannot be read: is this a run directory?", path.string()));
  }
  try {
    const Json all = Json::parse(stream);
    const int version = all.at("format_version").get<int>();
    if (version != kFormatVersion) {
      throw Error(fmt::format("wanted format version {}, got {}", kFormatVersion, version));
    }
    RecordedConfig config{.task = all.at("task").get<std::string>(),
                          .data_digest = all.value("data_digest", ""),
                          .total_steps = all.value("total_steps", std::int64_t{0}),
                          .ranks = all.value("ranks", std::int64_t{1}),
                          .options = {}};
    for (const auto& [name, value] : all.at("options").items()) {
      config.options.emplace_back(name, option_text(from_json(value, name)));
    }
    return config;
  } catch (const std::exception& problem) {  // thrown by nlohmann and by the code above
    throw FileError(
        fmt::format("[run] '{}': no configuration of a run: {}", path.string(), problem.what()));
  }
}

std::vector<std::pair<std::string, std::string>> read_settings(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const Json config = stream ? Json::parse(stream, nullptr, /*allow_exceptions=*/false) : Json();
  if (!config.is_object()) {
    throw FileError(fmt::format("[{}] wanted a JSON object, cannot read one", path.string()));
  }
  std::vector<std::pair<std::string, std::string>> settings;
  flatten(config, "", settings);
  return settings;
}

}  // namespace sing::lab::run
