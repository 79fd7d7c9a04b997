// Defines what the commands share that start `sing train` for many runs: compare, tune, reproduce.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/command/command_context.hpp"
#include "lab/compare/cell_runner.hpp"

namespace sing::lab::main {

class RunFlags {
 public:
  // Adds the flags to a command of `app`. `folder` says what --out is by default. The words after
  // -- go to `train_flags`.
  void add_to(CLI::App& command, const CLI::App& app, const std::string& folder,
              std::vector<std::string>& train_flags);

  // Returns where the runs are trained; `folder` is that of a command without --out.
  compare::Workplace place(const std::string& folder, const command::CommandContext& context) const;

  // Returns whether --program names another program, which may know other tasks and optimizers.
  bool has_other_program() const { return !program_.empty(); }
  // Returns the tasks of `sing train`; none in a program without LibTorch.
  std::set<std::string> tasks() const;
  // Throws std::invalid_argument with the nearest task if this program has tasks, but not this one.
  void check_task(const std::string& task, std::string_view where) const;

 private:
  const CLI::App* app_ = nullptr;
  std::string out_, program_;
  std::int64_t jobs_ = 1;
};

// Ends a command that a signal has interrupted.
void end_interrupted(command::CommandContext& context);

}  // namespace sing::lab::main
