// The table at the end of a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::compare {

// What came of one run.
struct Result {
  std::string contestant;
  std::optional<double> learning_rate;
  std::optional<run::EndRecord> end;  // none: the program ended without a result
  double own_rate = run::kAbsent;     // the learning rate that the run says it has
};

struct Statistic {
  double mean = run::kAbsent;
  double spread = run::kAbsent;  // standard deviation of a sample, n − 1; of two or more
};

// The numbers that are not finite are left out.
Statistic statistic_of(const std::vector<double>& values);

// mean ± spread, as a percentage or as a number of four digits; a dash for none.
std::string accuracy_text(const Statistic& statistic);
std::string number_text(const Statistic& statistic);

// The seeds of one contestant at one learning rate. Statistics are of the finished runs alone.
struct Row {
  std::string contestant;
  std::optional<double> learning_rate;
  std::int64_t finished = 0;
  std::int64_t diverged = 0;
  std::int64_t failed = 0;
  Statistic accuracy;
  Statistic loss;
  Statistic seconds;
  double own_rate = run::kAbsent;  // of a finished run
  bool best = false;               // of the contestant's learning rates, if it has several
};

// In the order in which contestants and learning rates are first met. The best learning rate has
// the fewest runs that diverged or failed; among those the highest mean accuracy, or, where there
// is no accuracy, the lowest mean loss. It has at least one finished run.
std::vector<Row> rows_of(const std::vector<Result>& results);

// Plain text, a line a row.
std::string text_of(const std::vector<Row>& rows);

}  // namespace sing::lab::compare
