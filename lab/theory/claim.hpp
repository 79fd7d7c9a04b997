// Defines a claim of the theory as a program: its statement, its experiment, and the numbers that
// must result.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lab/theory/method.hpp"

namespace sing::lab::theory {

// The claim holds only if `low` ≤ `value` ≤ `high`. NaN is never in the range.
struct Number {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool holds() const { return value >= low && value <= high; }
};

inline Number shown(std::string name, double value) { return {std::move(name), value}; }
inline Number at_most(std::string name, double value, double high) {
  return {.name = std::move(name), .value = value, .high = high};
}
inline Number at_least(std::string name, double value, double low) {
  return {.name = std::move(name), .value = value, .low = low};
}
inline Number close_to(std::string name, double value, double target, double tolerance) {
  return {std::move(name), value, target - tolerance, target + tolerance};
}
inline Number exactly(std::string name, double value, double target) {
  return close_to(std::move(name), value, target, 0);
}

// Returns in words what a number must be: "≤ 1", "= 0", "1 ± 1e-12", or "" if there is no
// condition.
std::string wanted_text(const Number& number);

// The result of a claim's experiment.
struct Evidence {
  std::vector<Number> numbers;
  std::vector<std::string> figures = {};  // self-contained HTML

  bool holds() const;
};

struct Claim {
  std::string family;
  std::string name;
  std::string statement;
  std::string experiment;
  std::function<Evidence(const Method&)> check;
};

struct Verdict {
  Claim claim;
  Evidence evidence;
  double seconds = 0;
};

}  // namespace sing::lab::theory
