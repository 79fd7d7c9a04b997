// Reads the settings, the records and the names of the pictures of a run.
#include "lab/run/run_reader.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "lab/run/metrics_line.hpp"
#include "lab/run/run_config.hpp"
#include "lab/run/run_directory.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::run {
namespace {

namespace fs = std::filesystem;

template <class Record>
void drop_from(std::vector<Record>& records, std::int64_t step) {
  while (!records.empty() && records.back().step >= step) {
    records.pop_back();
  }
}

void add(RunRecord& run, StepRecord&& record) {
  if (!run.steps.empty() && run.steps.back().step >= record.step) {
    drop_from(run.steps, record.step);
    drop_from(run.evaluations, record.step);
  }
  run.end.reset();  // a line after an end means that the training was resumed
  run.steps.push_back(std::move(record));
}

void add(RunRecord& run, EvaluationRecord&& record) {
  drop_from(run.evaluations, record.step);
  run.end.reset();
  run.evaluations.push_back(record);
}

void add(RunRecord& run, EndRecord&& record) { run.end = record; }

void read_metrics(RunRecord& run, const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw FileError(fmt::format("[{}] cannot be opened", path.string()));
  }
  std::int64_t records = 0;
  for (std::string line; std::getline(stream, line);) {
    if (std::optional<MetricsRecord> record = parse_metrics_line(line)) {
      std::visit([&](auto& each) { add(run, std::move(each)); }, *record);
      ++records;
    } else {
      ++run.unreadable_lines;
    }
  }
  if (stream.bad()) {
    throw FileError(fmt::format("[{}] cannot be read to its end", path.string()));
  }
  // A crash during the first write leaves one incomplete line.
  if (records == 0 && run.unreadable_lines > 1) {
    throw FileError(
        fmt::format("[{}] wanted lines with \"kind\" step, evaluation or end, got {} others",
                    path.string(), run.unreadable_lines));
  }
}

// Pictures are ordered by the last number in their names, the step, so that 90 comes before 100.
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
    const fs::path extension = entry.path().extension();
    const bool is_sample =
        extension == ".txt" && entry.path().filename().string().starts_with("step_");
    if ((extension == ".png" || is_sample) && entry.is_regular_file(error)) {
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
    if (RunDirectory(entry.path()).has_run()) {
      found.insert(entry.path());
    }
  }
  for (const fs::path& directory : found) {
    runs.push_back(read_run(directory));
  }
}

// Returns the last `count` parts of a path.
std::string tail_of(const fs::path& path, std::ptrdiff_t count) {
  const auto parts = std::distance(path.begin(), path.end());
  fs::path tail;
  for (auto part = std::next(path.begin(), std::max<std::ptrdiff_t>(0, parts - count));
       part != path.end(); ++part) {
    tail /= *part;
  }
  return tail.string();
}

void give_distinct_names(std::vector<RunRecord>& runs) {
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

RunRecord read_run(const fs::path& directory) {
  const RunDirectory files(directory);
  if (!files.has_run()) {
    throw FileError(fmt::format("[{}] wanted a run directory with {} and {}, got none",
                                directory.string(), kConfigFile, kMetricsFile));
  }
  RunRecord run{.directory = directory,
                .name = without_trailing_slash(directory).filename().string(),
                .settings = read_settings(files.config())};
  read_metrics(run, files.metrics());
  find_pictures(run, files.pictures());
  return run;
}

std::vector<RunRecord> read_runs(std::span<const fs::path> paths) {
  std::vector<RunRecord> runs;
  for (const fs::path& path : paths) {
    const std::size_t before = runs.size();
    if (!RunDirectory(path).has_run()) {
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
  give_distinct_names(runs);
  return runs;
}

}  // namespace sing::lab::run
