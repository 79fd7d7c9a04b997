// The program `sing`.
#include <iostream>

#include "lab/cli/program.hpp"
#include "lab/cli/training_commands.hpp"

int main(int argument_count, char** arguments) {
  return sing::lab::run_program(argument_count, arguments, std::cout, std::cerr,
                                sing::lab::add_training_commands);
}
