// Defines the folder of one run and the names of its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace sing::lab::run {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kReportFile = "report.html";  // for one run or for a folder of runs

class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / kConfigFile; }
  std::filesystem::path metrics() const { return path_ / kMetricsFile; }
  std::filesystem::path lock() const { return path_ / "lock"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  // `name` is last or best.
  std::filesystem::path checkpoint(const std::string& name) const;
  std::filesystem::path pictures() const { return path_ / "pictures"; }
  // The names sort by step. A task draws a picture or writes a sample text.
  std::filesystem::path picture(std::int64_t step) const;
  std::filesystem::path sample(std::int64_t step) const;
  // Returns the existing file of TensorBoard events, or a new name with the time in it, which
  // TensorBoard requires.
  std::filesystem::path events() const;

  // Returns whether a training was started here.
  bool has_config() const;
  // Returns whether a training was started here and has opened its measurements.
  bool has_run() const;

 private:
  std::filesystem::path path_;
};

}  // namespace sing::lab::run
