// Which trainings a comparison consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sing::lab::compare {

// What the command line says, not yet understood.
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
  std::vector<std::string> flags;  // of `sing train`: --optimizer and what follows
  std::vector<std::optional<double>> learning_rates;  // none: the optimizer's own
};

struct Cell {
  std::string contestant;
  std::optional<double> learning_rate;
  std::int64_t seed = 0;
  std::string name;                    // of its run directory: adamw_lr0.001_seed0
  std::vector<std::string> arguments;  // of the program, without --out and --resume
};

// Throws std::invalid_argument for names that are no file names or come twice, numbers that are
// none, learning rates of nobody, and train flags that the grid itself sets.
std::vector<Contestant> contestants_of(const GridText& text);

// Throws std::invalid_argument if one of the `owned` flags is among `flags`; `where` begins its
// text.
void check_train_flags(const std::vector<std::string>& flags, const std::vector<std::string>& owned,
                       std::string_view where);

// Every contestant, learning rate and seed: first all of one seed, so that a table of every row is
// there early.
std::vector<Cell> cells_of(const GridText& text);

}  // namespace sing::lab::compare
