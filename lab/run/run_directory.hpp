// The folder of one run: where its files are, and that only one process writes them.
#pragma once

#include <filesystem>
#include <string>

#include "sing/io/file_descriptor.hpp"

namespace sing::lab::run {

class RunDirectory {
 public:
  // Makes the folder where it is missing. Throws FileError when another process holds the run.
  explicit RunDirectory(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return config_of(path_); }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path last_checkpoint() const { return checkpoint_of(path_, "last"); }
  std::filesystem::path best_checkpoint() const { return checkpoint_of(path_, "best"); }
  // The one there is, or a new name with this second in it, as TensorBoard wants it.
  std::filesystem::path events() const;
  // A name that sorts by step.
  std::filesystem::path picture(std::int64_t step) const;

  bool has_run() const { return std::filesystem::exists(config()); }

  static std::filesystem::path config_of(const std::filesystem::path& run) {
    return run / "config.json";
  }
  static std::filesystem::path checkpoint_of(const std::filesystem::path& run,
                                             const std::string& name) {
    return run / "checkpoints" / (name + ".safetensors");
  }

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;  // held until the process ends, however it ends
};

}  // namespace sing::lab::run
