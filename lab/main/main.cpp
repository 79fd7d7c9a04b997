// Defines main() of the program `sing`.
#include <iostream>

#include "lab/main/commands.hpp"
#include "lab/main/program.hpp"

int main(int argument_count, char** arguments) {
  return sing::lab::main::run_program(argument_count, arguments, std::cout, std::cerr,
                                      sing::lab::main::add_training_commands);
}
