// Declares the tasks of `sing train` for the commands that start it.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <string_view>

namespace sing::lab::main {

// Returns the commands under `train`; none in a program without LibTorch.
std::set<std::string> train_tasks(const CLI::App& app);

// Throws std::invalid_argument with the nearest task if `task` is not one of train_tasks. Accepts
// every task if there are none.
void check_task(const CLI::App& app, const std::string& task, std::string_view where);

}  // namespace sing::lab::main
