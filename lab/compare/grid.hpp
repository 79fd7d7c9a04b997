// Defines the trainings of a comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::compare {

// The unparsed words of the command line.
struct GridText {
  std::string task;
  std::vector<std::string> optimizers;
  std::vector<std::string> variants;        // NAME=OPTIMIZER FLAGS…
  std::vector<std::string> learning_rates;  // A,B,… for all, or NAME=A,B,… for one
  std::vector<std::int64_t> seeds;
  std::vector<std::string> train_flags;
};

struct Contestant {
  std::string name;
  std::vector<std::string> flags;  // `sing train` flags: --optimizer and what follows
  std::vector<std::optional<double>> learning_rates;  // none: the optimizer's default
};

struct Cell {
  std::string contestant;
  std::optional<double> learning_rate;
  std::int64_t seed = 0;
  std::string name;                    // name of its run directory: adamw_lr0.001_seed0
  std::vector<std::string> arguments;  // program arguments without --out and --resume
};

// Throws std::invalid_argument for names that are not file names or occur twice, values that are
// not numbers, learning rates for an unknown name, and train flags that the grid itself sets.
std::vector<Contestant> contestants_of(const GridText& text);

// Throws std::invalid_argument if one of the `owned` flags is among `flags`. The message begins
// with `where`.
void check_train_flags(const std::vector<std::string>& flags, const std::vector<std::string>& owned,
                       std::string_view where);

// Returns the value of a flag that is given as `--name value` or `--name=value`.
std::optional<std::string> flag_value(const std::vector<std::string>& flags,
                                      const std::string& name);

// Lists every contestant, learning rate and seed. All cells of one seed come first, so that a table
// with every row is available early.
std::vector<Cell> cells_of(const GridText& text);

}  // namespace sing::lab::compare
