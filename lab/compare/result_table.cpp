// Computes means, spreads and the best learning rate.
#include "lab/compare/result_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "lab/command/text_table.hpp"
#include "lab/page/html_text.hpp"
#include "lab/run/named_values.hpp"
#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::compare {
namespace {

using page::percent_text;
using page::short_number;

// Covers the finished runs.
std::vector<std::pair<std::string, Statistic>> other_scores_of(const std::vector<Result>& results) {
  std::vector<std::vector<std::pair<std::string, double>>> finished;
  std::vector<std::string> names;
  for (const Result& result : results) {
    if (result.end && result.end->status != run::RunStatus::kDiverged) {
      finished.push_back(result.end->others);
      run::add_names(finished.back(), names);
    }
  }
  std::vector<std::pair<std::string, Statistic>> statistics;
  for (const std::string& name : names) {
    std::vector<double> values;
    for (const auto& scores : finished) {
      values.push_back(run::value_of(scores, name, run::kAbsent));
    }
    statistics.emplace_back(name, statistic_of(values));
  }
  return statistics;
}

Row row_of(const std::vector<Result>& results) {
  Row row{.contestant = results.front().contestant, .learning_rate = results.front().learning_rate};
  std::vector<double> accuracies;
  std::vector<double> losses;
  std::vector<double> seconds;
  for (const Result& result : results) {
    if (!result.end) {
      ++row.failed;
    } else if (result.end->status == run::RunStatus::kDiverged) {
      ++row.diverged;
    } else {
      ++row.finished;
      row.own_rate = result.own_rate;
      row.evaluated_on = result.evaluated_on;
      row.score_name = result.end->score_name;
      accuracies.push_back(result.end->final_accuracy);
      losses.push_back(result.end->final_loss);
      row.accuracies[result.seed] = result.end->final_accuracy;
      row.losses[result.seed] = result.end->final_loss;
      seconds.push_back(result.end->seconds);
    }
  }
  row.accuracy = statistic_of(accuracies);
  row.loss = statistic_of(losses);
  row.seconds = statistic_of(seconds);
  row.others = other_scores_of(results);
  return row;
}

bool is_better(const Row& one, const Row& other) {
  const std::int64_t lost = one.diverged + one.failed;
  const std::int64_t other_lost = other.diverged + other.failed;
  if (lost != other_lost) {
    return lost < other_lost;
  }
  if (std::isfinite(one.accuracy.mean) && std::isfinite(other.accuracy.mean)) {
    return one.accuracy.mean > other.accuracy.mean;
  }
  return one.loss.mean < other.loss.mean;
}

void mark_best(std::vector<Row>& rows) {
  for (std::size_t at = 0; at < rows.size(); ++at) {
    Row* best = nullptr;
    std::int64_t rates = 0;
    for (Row& row : rows) {
      const bool is_of_it = row.contestant == rows[at].contestant;
      rates += is_of_it ? 1 : 0;
      if (is_of_it && row.finished > 0 && (best == nullptr || is_better(row, *best))) {
        best = &row;
      }
    }
    if (best != nullptr && rates > 1) {
      best->best = true;
    }
  }
}

std::string remark(const Row& row) {
  std::string text = row.best ? "best" : "";
  const std::int64_t runs = row.finished + row.diverged + row.failed;
  for (const auto& [count, what] :
       {std::pair(row.diverged, "diverged"), std::pair(row.failed, "failed")}) {
    if (count > 0) {
      text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", count, runs, what);
    }
  }
  return text;
}

// Returns the learning rate that the runs report for a contestant that was not given one.
std::string own_rate_text(const Row& row) {
  return std::isfinite(row.own_rate) ? shortest_text(row.own_rate) : "its own";
}

std::vector<std::string> other_columns(const std::vector<Row>& rows) {
  std::vector<std::string> columns;
  for (const Row& row : rows) {
    run::add_names(row.others, columns);
  }
  return columns;
}

// Names the sets that the accuracies and losses are measured on.
std::string evaluation_sets(const std::vector<Row>& rows) {
  std::set<std::string> sets;
  for (const Row& row : rows) {
    sets.insert(row.evaluated_on);
  }
  sets.erase("");
  return fmt::format("{}", fmt::join(sets, " or "));
}

std::string measured_text(const std::vector<Row>& rows) {
  const std::string score = score_column(rows);
  return score.empty() ? "loss" : score + " and loss";
}

// Compares accuracies, or losses if the table has no accuracy.
PairedDifference difference_of(const Row& row, const Row& baseline, bool of_accuracy) {
  return of_accuracy ? paired_difference(row.accuracies, baseline.accuracies)
                     : paired_difference(row.losses, baseline.losses);
}

std::string difference_text(const PairedDifference& difference, bool of_accuracy) {
  if (difference.pairs == 0) {
    return "";
  }
  const auto text = [&](double value, int digits) {
    return of_accuracy ? percent_text(value) : short_number(value, digits);
  };
  const std::string mean =
      fmt::format("{}{}", difference.mean < 0 ? "" : "+", text(difference.mean, 4));
  return difference.pairs > 1 ? fmt::format("{} ± {}", mean, text(difference.half_width, 2)) : mean;
}

bool has_accuracy_column(const std::vector<Row>& rows) {
  return !score_column(rows).empty() && std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::isfinite(row.accuracy.mean);
  });
}

std::string with_spread(const std::string& mean, const std::string& spread, double value) {
  return std::isfinite(value) ? fmt::format("{} ± {}", mean, spread) : mean;
}

}  // namespace

std::string accuracy_text(const Statistic& statistic) {
  return with_spread(percent_text(statistic.mean), percent_text(statistic.spread),
                     statistic.spread);
}

std::string number_text(const Statistic& statistic) {
  return with_spread(short_number(statistic.mean, 4), short_number(statistic.spread, 2),
                     statistic.spread);
}

Statistic statistic_of(const std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (const double value : values) {
    sum += std::isfinite(value) ? value : 0;
    count += std::isfinite(value) ? 1 : 0;
  }
  Statistic statistic;
  if (count > 0) {
    statistic.mean = sum / count;
  }
  for (const double value : values) {
    if (std::isfinite(value)) {
      statistic.low = std::fmin(statistic.low, value);
      statistic.high = std::fmax(statistic.high, value);
    }
  }
  if (count > 1) {
    double squares = 0;
    for (const double value : values) {
      squares += std::isfinite(value) ? (value - statistic.mean) * (value - statistic.mean) : 0;
    }
    statistic.spread = std::sqrt(squares / (count - 1));
  }
  return statistic;
}

std::string score_column(const std::vector<Row>& rows) {
  std::set<std::string> names;
  bool has_accuracy = false;
  bool has_others = false;
  for (const Row& row : rows) {
    has_accuracy |= std::isfinite(row.accuracy.mean);
    has_others |= !row.others.empty();
    if (row.finished > 0) {
      names.insert(row.score_name);
    }
  }
  if (!has_accuracy && has_others) {
    return "";
  }
  if (names.empty()) {
    return run::kAccuracy;
  }
  return names.size() == 1 ? *names.begin() : "score";
}

std::vector<Row> rows_of(const std::vector<Result>& results) {
  std::vector<std::vector<Result>> groups;
  for (const Result& result : results) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& each) {
      return each.front().contestant == result.contestant &&
             each.front().learning_rate == result.learning_rate;
    });
    if (group != groups.end()) {
      group->push_back(result);
    } else {
      groups.push_back({result});
    }
  }
  std::vector<Row> rows;
  for (const std::vector<Result>& group : groups) {
    rows.push_back(row_of(group));
  }
  mark_best(rows);
  return rows;
}

const Row* baseline_of(const std::vector<Row>& rows) {
  const Row* baseline = nullptr;
  for (const Row& row : rows) {
    if (row.contestant == rows.front().contestant && row.finished > 0 &&
        (baseline == nullptr || row.best)) {
      baseline = &row;
    }
  }
  const bool of_accuracy = has_accuracy_column(rows);
  const bool is_shared =
      baseline != nullptr && std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
        return &row != baseline && difference_of(row, *baseline, of_accuracy).pairs > 1;
      });
  return is_shared ? baseline : nullptr;
}

std::string difference_note(const std::vector<Row>& rows) {
  const Row* const baseline = baseline_of(rows);
  if (baseline == nullptr) {
    return "";
  }
  const std::string rate =
      baseline->learning_rate ? fmt::format(" at {}", shortest_text(*baseline->learning_rate)) : "";
  return fmt::format(
      "difference: of the {}, to {}{} with the same seed; mean and 95 % interval by Student's t",
      has_accuracy_column(rows) ? score_column(rows) : "loss", baseline->contestant, rate);
}

std::vector<std::vector<std::string>> table_lines(const std::vector<Row>& rows) {
  const Row* const baseline = baseline_of(rows);
  const bool of_accuracy = has_accuracy_column(rows);
  const std::string score = score_column(rows);
  const std::vector<std::string> others = other_columns(rows);
  std::vector<std::vector<std::string>> lines = {{"optimizer", "learning rate", "runs"}};
  if (!score.empty()) {
    lines.front().push_back(score);
  }
  lines.front().emplace_back("loss");
  lines.front().insert(lines.front().end(), others.begin(), others.end());
  if (baseline != nullptr) {
    lines.front().emplace_back("difference");
  }
  lines.front().insert(lines.front().end(), {"time", ""});
  for (const Row& row : rows) {
    std::vector<std::string>& line = lines.emplace_back(std::vector<std::string>{
        row.contestant, row.learning_rate ? shortest_text(*row.learning_rate) : own_rate_text(row),
        std::to_string(row.finished)});
    if (!score.empty()) {
      line.push_back(accuracy_text(row.accuracy));
    }
    line.push_back(number_text(row.loss));
    for (const std::string& name : others) {
      line.push_back(number_text(run::value_of(row.others, name, Statistic{})));
    }
    if (baseline != nullptr) {
      const PairedDifference difference = difference_of(row, *baseline, of_accuracy);
      line.push_back(&row == baseline ? "" : difference_text(difference, of_accuracy));
    }
    line.push_back(page::duration_text(row.seconds.mean));
    line.push_back(remark(row));
  }
  return lines;
}

std::string runs_note(const std::vector<Row>& rows) {
  const std::string sets = evaluation_sets(rows);
  return "runs: number of finished runs; the other numbers are their mean ± standard deviation" +
         (sets.empty() ? "" : fmt::format("; {}: on the {} set", measured_text(rows), sets));
}

std::string text_of(const std::vector<Row>& rows) {
  const std::string difference = difference_note(rows);
  return command::text_table(table_lines(rows)) + runs_note(rows) + "\n" + difference +
         (difference.empty() ? "" : "\n");
}

}  // namespace sing::lab::compare
