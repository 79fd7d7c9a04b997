// Defines main() of the program `sing`.
#include <cstdio>
#include <iostream>

#include "lab/main/commands.hpp"
#include "lab/main/program.hpp"

int main(int argument_count, char** arguments) {
  // A line must not wait for the next ones, also in a file or a pipe: they may come hours later.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  return sing::lab::main::run_program(argument_count, arguments, std::cout, std::cerr,
                                      sing::lab::main::add_training_commands);
}
