// Keeps, resumes or starts runs and reports their results.
#include "lab/compare/cell_runner.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <ostream>
#include <system_error>

#include "lab/command/live_line.hpp"
#include "lab/command/text_width.hpp"
#include "lab/page/html_text.hpp"
#include "lab/run/run_directory.hpp"
#include "lab/run/run_reader.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::compare {
namespace {

namespace fs = std::filesystem;

constexpr int kMillisecondsBetweenLooks = 50;

fs::path beside(const Workplace& place, const Cell& cell, const char* suffix) {
  return place.folder / fmt::format("{}{}", cell.name, suffix);
}

std::string command_text(const Cell& cell) {
  std::string text;
  for (const std::string& word : cell.arguments) {
    text += word + "\n";
  }
  return text;
}

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string end_text(const run::EndRecord& end) {
  if (end.status == run::RunStatus::kDiverged) {
    return fmt::format("diverged, {}", page::duration_text(end.seconds));
  }
  std::string text;
  if (std::isfinite(end.final_accuracy) || end.others.empty()) {
    text = fmt::format("{} {}, ", end.score_name, page::percent_text(end.final_accuracy));
  }
  text += fmt::format("loss {}, ", page::short_number(end.final_loss));
  for (const auto& [name, value] : end.others) {
    text += fmt::format("{} {}, ", name, page::short_number(value));
  }
  return text + page::duration_text(end.seconds);
}

std::string reason_of(const ChildEnd& end, const fs::path& log) {
  const std::string how = end.signal != 0 ? fmt::format("signal {}", end.signal)
                                          : fmt::format("exit code {}", end.code);
  return fmt::format("{}: {}", how, last_line(log));
}

std::vector<std::string> arguments_of(const Workplace& place, const Cell& cell) {
  const fs::path directory = place.folder / cell.name;
  std::vector<std::string> arguments = cell.arguments;
  arguments.insert(arguments.end(), {"--out", directory.string()});
  if (run::RunDirectory(directory).has_config()) {
    arguments.emplace_back("--resume");
  }
  return arguments;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw FileError(fmt::format("[{}] cannot be created: {}", folder.string(), error.message()));
  }
}

}  // namespace

void check_commands(const std::vector<Cell>& cells, const Workplace& place) {
  for (const Cell& cell : cells) {
    // A command that never started a run (a typo, for example) may be replaced.
    if (!run::RunDirectory(place.folder / cell.name).has_config()) {
      continue;
    }
    const fs::path path = beside(place, cell, ".command");
    if (!fs::exists(path)) {
      throw FileError(
          fmt::format("[{}] wanted a run of sing compare, tune or reproduce, got one without {}",
                      (place.folder / cell.name).string(), path.filename().string()));
    }
    const std::string before = read_text(path);
    if (before != command_text(cell)) {
      throw FileError(fmt::format(
          "[{}] this run was started with other flags: wanted '{}', got '{}'; use another --out",
          path.string(), in_one_line(before), in_one_line(command_text(cell))));
    }
  }
}

std::optional<Result> result_of(const Cell& cell, const Workplace& place) {
  const fs::path directory = place.folder / cell.name;
  if (!run::RunDirectory(directory).has_run()) {
    return std::nullopt;
  }
  run::RunRecord run;
  try {
    run = run::read_run(directory);
  } catch (const FileError&) {  // the program that trains will report what is wrong
    return std::nullopt;
  }
  if (!run.is_complete()) {
    return std::nullopt;
  }
  const auto own_rate = parse_number<double>(run.setting("learning_rate"));
  return Result{.contestant = cell.contestant,
                .learning_rate = cell.learning_rate,
                .seed = cell.seed,
                .end = run.end,
                .own_rate = own_rate.value_or(run::kAbsent),
                .evaluated_on = evaluated_on(run)};
}

std::string last_line(const fs::path& path) {
  constexpr std::streamoff kEnough = 4096;
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : 0;
  stream.seekg(std::max<std::streamoff>(0, size - kEnough));
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \r\t") != std::string::npos) {
      last = line;
    }
  }
  return last;
}

CellRunner::CellRunner(const Workplace& place, std::ostream& out, const std::function<bool()>& stop,
                       std::optional<std::size_t> total)
    : place_(place), out_(out), stop_(stop), total_(total) {}

std::string CellRunner::which(std::size_t number) const {
  return total_ ? fmt::format("[{}/{}]", number, *total_) : fmt::format("[{}]", number);
}

std::vector<std::optional<Result>> CellRunner::run(std::span<const Cell> cells) {
  std::vector<std::optional<Result>> results(cells.size());
  std::vector<Training> trainings;
  command::LiveLine line(out_, place_.terminal);
  for (std::size_t next = 0;;) {
    const bool stopped = stop_();
    while (!stopped && next < cells.size() &&
           trainings.size() < static_cast<std::size_t>(place_.jobs)) {
      const std::size_t place = next++;
      results[place] = result_of(cells[place], place_);
      if (results[place]) {
        line.clear();
        out_ << which(before_ + place + 1) << ' ' << cells[place].name << ": "
             << end_text(*results[place]->end) << " (kept)" << std::endl;
      } else {
        trainings.push_back(start(cells[place], place));
      }
    }
    if (trainings.empty() && (stopped || next == cells.size())) {
      before_ += cells.size();
      return results;
    }
    std::erase_if(trainings, [&](Training& training) {
      if (stopped) {
        training.child.interrupt();
      }
      const std::optional<ChildEnd> end = training.child.end();
      if (end) {
        line.clear();
        results[training.place] = finish(training, *end);
      }
      return end.has_value();
    });
    if (trainings.empty()) {
      continue;
    }
    if (line.is_due()) {
      line.show(live_text(trainings));
    }
    ::poll(nullptr, 0, kMillisecondsBetweenLooks);
  }
}

CellRunner::Training CellRunner::start(const Cell& cell, std::size_t place) const {
  make_folder(place_.folder);
  replace_file(beside(place_, cell, ".command"), command_text(cell));
  return {place, &cell, which(before_ + place + 1),
          ChildProcess(place_.program, arguments_of(place_, cell), beside(place_, cell, ".log"))};
}

std::optional<Result> CellRunner::finish(const Training& training, const ChildEnd& end) {
  const Cell& cell = *training.cell;
  const std::string begin = fmt::format("{} {}: ", training.which, cell.name);
  if (auto result = result_of(cell, place_)) {
    out_ << begin << end_text(*result->end) << std::endl;
    return result;
  }
  if (stop_()) {
    out_ << begin << "interrupted" << std::endl;
    return std::nullopt;
  }
  say_failure(training, end);
  return Result{
      .contestant = cell.contestant, .learning_rate = cell.learning_rate, .seed = cell.seed};
}

// One training shows its name; several share the line, and their numbers tell which they are.
std::string CellRunner::live_text(const std::vector<Training>& trainings) const {
  constexpr std::size_t kLeast = 12;  // characters of a training
  const std::size_t width = std::max(command::LiveLine::kColumns / trainings.size(), kLeast);
  std::string text;
  for (const Training& training : trainings) {
    std::string part = training.which;
    part += trainings.size() == 1 ? fmt::format(" {}: ", training.cell->name) : " ";
    part += last_line(beside(place_, *training.cell, ".log"));
    text += (text.empty() ? "" : "  ") + command::cut(part, width - 2);
  }
  return text;
}

void CellRunner::say_failure(const Training& training, const ChildEnd& end) {
  const fs::path log = beside(place_, *training.cell, ".log");
  std::string reason = reason_of(end, log);
  const bool again = reason == last_failure_;
  out_ << training.which << ' ' << training.cell->name << ": failed, "
       << (again ? "for the same reason" : reason) << " (" << log.string() << ")" << std::endl;
  failures_.push_back(training.cell->name);
  last_failure_ = std::move(reason);
}

}  // namespace sing::lab::compare
