// Reads config.json, metrics.jsonl and the names of the pictures.
#include "lab/report/run_reader.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

double number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : kAbsent;
}

std::optional<std::int64_t> step_of(const Json& line) {
  const auto found = line.find("step");
  if (found == line.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0) {
    return std::nullopt;
  }
  return found->get<std::int64_t>();
}

template <class Record>
void drop_from(std::vector<Record>& records, std::int64_t step) {
  while (!records.empty() && records.back().step >= step) {
    records.pop_back();
  }
}

void add_step(RunRecord& run, std::int64_t step, const Json& line) {
  if (!run.steps.empty() && run.steps.back().step >= step) {
    drop_from(run.steps, step);
    drop_from(run.evaluations, step);
    drop_from(run.norms, step);
  }
  const Json seconds = line.value("seconds", Json::object());
  run.steps.push_back({.step = step,
                       .epoch = number(line, "epoch"),
                       .loss = number(line, "loss"),
                       .learning_rate = number(line, "learning_rate"),
                       .images_per_second = number(line, "images_per_second"),
                       .data_seconds = number(seconds, "data"),
                       .forward_backward_seconds = number(seconds, "forward_backward"),
                       .optimizer_seconds = number(seconds, "optimizer")});
  const auto norms = line.find("gradient_norms");
  if (norms != line.end() && norms->is_object() && !norms->empty()) {
    NormRecord record{.step = step};
    for (const auto& [name, value] : norms->items()) {
      record.norms.emplace_back(name, value.is_number() ? value.get<double>() : kAbsent);
    }
    run.norms.push_back(std::move(record));
  }
}

bool add_end(RunRecord& run, const Json& line) {
  const std::string status = line.value("status", "");
  for (const RunStatus known :
       {RunStatus::kFinished, RunStatus::kDiverged, RunStatus::kInterrupted}) {
    if (status == name_of(known)) {
      run.end = RunEnd{.status = known,
                       .best_accuracy = number(line, "best_accuracy"),
                       .final_accuracy = number(line, "final_accuracy"),
                       .final_loss = number(line, "final_loss"),
                       .seconds = number(line, "seconds")};
      return true;
    }
  }
  return false;
}

// False if the line is no record.
bool add_line(RunRecord& run, const std::string& text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("kind") || !line["kind"].is_string()) {
    return false;
  }
  const auto kind = line["kind"].get<std::string>();
  if (kind == "end") {
    return add_end(run, line);
  }
  const std::optional<std::int64_t> step = step_of(line);
  if (!step || (kind != "step" && kind != "evaluation")) {
    return false;
  }
  run.end.reset();  // a line after an end: the training was resumed
  if (kind == "step") {
    add_step(run, *step, line);
  } else {
    drop_from(run.evaluations, *step);
    run.evaluations.push_back({.step = *step,
                               .epoch = number(line, "epoch"),
                               .loss = number(line, "loss"),
                               .accuracy = number(line, "accuracy")});
  }
  return true;
}

void read_metrics(RunRecord& run, const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw FileError(fmt::format("[{}] cannot be opened", path.string()));
  }
  std::int64_t records = 0;
  for (std::string line; std::getline(stream, line);) {
    bool good = false;
    try {
      good = add_line(run, line);
    } catch (const Json::exception&) {  // a key of an unexpected type
    }
    ++(good ? records : run.unreadable_lines);
  }
  if (stream.bad()) {
    throw FileError(fmt::format("[{}] cannot be read to its end", path.string()));
  }
  // One cut line is what a crash in the first write leaves.
  if (records == 0 && run.unreadable_lines > 1) {
    throw FileError(
        fmt::format("[{}] wanted lines with \"kind\" step, evaluation or end, given {} others",
                    path.string(), run.unreadable_lines));
  }
}

void flatten(const Json& value, const std::string& key, RunRecord& run) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      flatten(inner, key.empty() ? name : fmt::format("{}.{}", key, name), run);
    }
  } else {
    run.options.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void read_config(RunRecord& run, const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const Json config = stream ? Json::parse(stream, nullptr, false) : Json();
  if (!config.is_object()) {
    throw FileError(fmt::format("[{}] wanted a JSON object, cannot read one", path.string()));
  }
  flatten(config, "", run);
}

// Names carry a step: the last number in them orders them, as 90 comes before 100.
std::pair<std::string, std::string> picture_order(const fs::path& path) {
  const std::string stem = path.stem().string();
  const auto is_digit = [](unsigned char character) { return std::isdigit(character) != 0; };
  const auto end = std::find_if(stem.rbegin(), stem.rend(), is_digit);
  const auto begin = std::find_if_not(end, stem.rend(), is_digit);
  std::string digits(begin.base(), end.base());
  digits.insert(0, 20 - std::min<std::size_t>(20, digits.size()), '0');
  return {digits, stem};
}

void find_pictures(RunRecord& run, const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".png" && entry.is_regular_file(error)) {
      run.pictures.push_back(entry.path());
    }
  }
  std::sort(run.pictures.begin(), run.pictures.end(), [](const auto& left, const auto& right) {
    return picture_order(left) < picture_order(right);
  });
}

fs::path without_trailing_slash(const fs::path& path) {
  const fs::path plain = fs::absolute(path).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

void add_runs_below(const fs::path& folder, std::vector<RunRecord>& runs) {
  std::set<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_run_directory(entry.path())) {
      found.insert(entry.path());
    }
  }
  for (const fs::path& directory : found) {
    runs.push_back(read_run(directory));
  }
}

// The last `count` parts of a path.
std::string tail_of(const fs::path& path, std::ptrdiff_t count) {
  const auto parts = std::distance(path.begin(), path.end());
  fs::path tail;
  for (auto part = std::next(path.begin(), std::max<std::ptrdiff_t>(0, parts - count));
       part != path.end(); ++part) {
    tail /= *part;
  }
  return tail.string();
}

void tell_apart(std::vector<RunRecord>& runs) {
  for (std::ptrdiff_t count = 2; count < 64; ++count) {
    std::map<std::string, int> seen;
    for (const RunRecord& run : runs) {
      ++seen[run.name];
    }
    if (seen.size() == runs.size()) {
      return;
    }
    for (RunRecord& run : runs) {
      if (seen[run.name] > 1) {
        run.name = tail_of(without_trailing_slash(run.directory), count);
      }
    }
  }
}

}  // namespace

bool is_run_directory(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / kConfigFile, error) &&
         fs::is_regular_file(directory / kMetricsFile, error);
}

RunRecord read_run(const fs::path& directory) {
  if (!is_run_directory(directory)) {
    throw FileError(fmt::format("[{}] wanted a run directory with {} and {}, got none",
                                directory.string(), kConfigFile, kMetricsFile));
  }
  RunRecord run{.directory = directory,
                .name = without_trailing_slash(directory).filename().string()};
  read_config(run, directory / kConfigFile);
  read_metrics(run, directory / kMetricsFile);
  find_pictures(run, directory / kPictureFolder);
  return run;
}

std::vector<RunRecord> read_runs(std::span<const fs::path> paths) {
  std::vector<RunRecord> runs;
  for (const fs::path& path : paths) {
    const std::size_t before = runs.size();
    if (!is_run_directory(path)) {
      add_runs_below(path, runs);
    }
    if (runs.size() == before) {
      runs.push_back(read_run(path));
    }
  }
  std::set<fs::path> seen;
  std::erase_if(runs, [&](const RunRecord& run) {
    return !seen.insert(fs::weakly_canonical(run.directory)).second;
  });
  tell_apart(runs);
  return runs;
}

}  // namespace sing::lab::report
