// Prepares parallel text for `sing train translation`.
#include <memory>
#include <ostream>

#include "lab/command/field_flags.hpp"
#include "lab/main/commands.hpp"
#include "lab/translation/preparation.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

struct TextFlags {
  translation::PreparationFiles files;
  translation::PreparationOptions options;
  std::string out;
};

void run(const TextFlags& flags, std::ostream& out) {
  const translation::PreparationSummary summary =
      translation::prepare_text(flags.files, flags.options, flags.out);
  for (const std::string& note : summary.notes) {
    out << note << '\n';
  }
  out << flags.out << ": " << summary.training << " pairs to train on, " << summary.validation
      << " for validation, " << summary.test << " for the test; " << summary.source_pieces
      << " source and " << summary.target_pieces << " target pieces; SHA-256 of its index "
      << summary.digest << "\n`sing train translation --data " << flags.out << "`\n";
}

}  // namespace

void add_text_data_command(CLI::App& data, CommandContext& context) {
  CLI::App* const command =
      data.add_subcommand("text", "Prepare sentences and their translations (docs/text.md)");
  const auto flags = std::make_shared<TextFlags>();
  const auto add_file = [&](const char* flag, std::filesystem::path& path, const char* help) {
    command->add_option(flag, path, help)->type_name("FILE");
  };
  translation::PreparationFiles& files = flags->files;
  add_file("--source", files.source, "sentences to train on, one per line, plain or .gz");
  add_file("--target", files.target, "their translations");
  add_file("--pairs", files.pairs, "both in one file, in columns separated by tabs");
  add_file("--validation-source", files.validation_source, "sentences to choose options by");
  add_file("--validation-target", files.validation_target, "their translations");
  add_file("--test-source", files.test_source, "sentences of the test");
  add_file("--test-target", files.test_target, "their translations");
  add_file("--codes", files.codes, "codes of subword-nmt that segment the words");
  add_file("--source-dictionary", files.source_dictionary,
           "fairseq's dictionary of the source; without it sentencepiece is trained");
  add_file("--target-dictionary", files.target_dictionary, "fairseq's dictionary of the target");
  command->add_option("--out", flags->out, "the folder to write")->type_name("FOLDER")->required();
  command::add_field_flags(*command, flags->options);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
