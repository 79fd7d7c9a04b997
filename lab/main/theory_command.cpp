// Declares `sing theory`.
#include <memory>

#include "lab/main/commands.hpp"
#include "lab/theory/theory_run.hpp"

namespace sing::lab::main {

void add_theory_command(CLI::App& app, CommandContext& context) {
  CLI::App* const command =
      app.add_subcommand("theory", "Check the paper's theorems, and draw its figures");
  const auto request = std::make_shared<theory::TheoryRequest>();
  command->add_option("CLAIM", request->names, "claims or families of claims; default: all")
      ->type_name("");
  command->add_option("--json", request->json, "JSON file for the statements, numbers and verdicts")
      ->type_name("FILE");
  command->add_option("--report", request->page, "HTML page for the same, with the figures")
      ->type_name("FILE");
  command->callback([request, &context] {
    context.chosen = [request, &context] {
      context.exit_code = theory::run_theory(*request, theory::library_method(), context.out)
                              ? command::kSuccess
                              : command::kFailure;
    };
  });
}

}  // namespace sing::lab::main
