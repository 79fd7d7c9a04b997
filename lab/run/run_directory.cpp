// Names the files of a run.
#include "lab/run/run_directory.hpp"

#include <chrono>
#include <system_error>

#include "sing/base/message.hpp"

namespace sing::lab::run {
namespace {

constexpr const char* kEventsPrefix = "events.out.tfevents.";

bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

std::filesystem::path RunDirectory::checkpoint(const std::string& name) const {
  return checkpoints() / fmt::format("{}.safetensors", name);
}

std::filesystem::path RunDirectory::picture(std::int64_t step) const {
  return pictures() / fmt::format("step_{:08}.png", step);
}

std::filesystem::path RunDirectory::sample(std::int64_t step) const {
  return pictures() / fmt::format("step_{:08}.txt", step);
}

std::filesystem::path RunDirectory::events() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().filename().string().starts_with(kEventsPrefix)) {
      return entry.path();
    }
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return path_ / fmt::format("{}{}.sing", kEventsPrefix, seconds.count());
}

bool RunDirectory::has_config() const { return is_file(config()); }

bool RunDirectory::has_run() const { return has_config() && is_file(metrics()); }

}  // namespace sing::lab::run
