// Declares the program `sing` as a function, so that tests can call it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>

#include "lab/command/command_context.hpp"

namespace sing::lab::main {

// `add_more` adds the commands that need LibTorch, which this library does not contain.
int run_program(int argument_count, const char* const* arguments, std::ostream& out,
                std::ostream& error,
                const std::function<void(CLI::App&, command::CommandContext&)>& add_more = nullptr);

}  // namespace sing::lab::main
