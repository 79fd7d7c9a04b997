// Declares the commands of the program. Each function adds one command and its flags.
#pragma once

#include <CLI/CLI.hpp>

#include "lab/command/command_context.hpp"

namespace sing::lab::main {

using command::CommandContext;

// `sing data …` writes, shows or checks a task's data.
void add_rde_data_command(CLI::App& data, CommandContext& context);
void add_official_data_commands(CLI::App& data, CommandContext& context);  // cifar100, mnist
void add_pack_data_command(CLI::App& data, CommandContext& context);
void add_weights_data_command(CLI::App& data, CommandContext& context);
void add_text_data_command(CLI::App& data, CommandContext& context);

void add_compare_command(CLI::App& app, CommandContext& context);
void add_tune_command(CLI::App& app, CommandContext& context);
void add_reproduce_command(CLI::App& app, CommandContext& context);
void add_report_command(CLI::App& app, CommandContext& context);
void add_theory_command(CLI::App& app, CommandContext& context);

// These need LibTorch.
void add_train_command(CLI::App& app, CommandContext& context);
void add_eval_command(CLI::App& app, CommandContext& context);
void add_bench_command(CLI::App& app, CommandContext& context);

// Adds the three commands above. In a program without LibTorch each of them only reports that
// LibTorch is missing.
void add_training_commands(CLI::App& app, CommandContext& context);

}  // namespace sing::lab::main
