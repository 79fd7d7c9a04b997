// Makes the table at the end of a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/compare/paired_difference.hpp"
#include "lab/run/run_record.hpp"

namespace sing::lab::compare {

// The result of one run.
struct Result {
  std::string contestant;
  std::optional<double> learning_rate;
  std::int64_t seed = 0;
  std::optional<run::EndRecord> end;  // none: the program ended without a result
  double own_rate = run::kAbsent;     // learning rate recorded by the run
  std::string evaluated_on;           // "test" or "validation"
};

struct Statistic {
  double mean = run::kAbsent;
  double spread = run::kAbsent;  // sample standard deviation (n − 1) of two or more values
  double low = run::kAbsent;     // smallest value
  double high = run::kAbsent;    // largest value
};

// Numbers that are not finite are left out.
Statistic statistic_of(const std::vector<double>& values);

// Returns mean ± spread, as a percentage or as a number of four digits, or a dash for none.
std::string accuracy_text(const Statistic& statistic);
std::string number_text(const Statistic& statistic);

// The seeds of one contestant at one learning rate. The statistics cover finished runs only.
struct Row {
  std::string contestant;
  std::optional<double> learning_rate;
  std::int64_t finished = 0;
  std::int64_t diverged = 0;
  std::int64_t failed = 0;
  Statistic accuracy;
  Statistic loss;
  Statistic seconds;
  ValuesBySeed accuracies;
  ValuesBySeed losses;
  std::string score_name = run::kAccuracy;                // what `accuracy` is
  std::vector<std::pair<std::string, Statistic>> others;  // other scores by name
  double own_rate = run::kAbsent;                         // recorded by a finished run
  std::string evaluated_on;                               // likewise
  bool best = false;  // best learning rate of a contestant that has several
};

// Rows are in the order in which contestants and learning rates first occur. The best learning rate
// has the fewest runs that diverged or failed. Ties go to the highest mean accuracy or, if there is
// no accuracy, to the lowest mean loss. The best has at least one finished run.
std::vector<Row> rows_of(const std::vector<Result>& results);

// Returns the name of the rows' accuracy, or "" if they only have other scores.
std::string score_column(const std::vector<Row>& rows);

// Returns what the column "runs" of the table counts, and which set the accuracies and losses are
// measured on.
std::string runs_note(const std::vector<Row>& rows);

// Returns the row that the others are compared with seed by seed, which is the first contestant's
// best one, or none if no other row shares two seeds with it.
const Row* baseline_of(const std::vector<Row>& rows);

// Returns what the column "difference" of the table is, or "" if there is no such column.
std::string difference_note(const std::vector<Row>& rows);

// Returns the cells of the table, with a head and one line per row. Other scores have columns of
// their own; where they are the only scores, there is no accuracy. If there is a baseline, a column
// has the mean of the paired differences to it and the half width of its 95 % interval.
std::vector<std::vector<std::string>> table_lines(const std::vector<Row>& rows);

// Returns the table as plain text.
std::string text_of(const std::vector<Row>& rows);

}  // namespace sing::lab::compare
