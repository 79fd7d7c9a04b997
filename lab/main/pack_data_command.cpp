// Packs an image folder, or checks a pack.
#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "lab/command/field_flags.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/pack_writer.hpp"
#include "lab/main/commands.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::main {
namespace {

struct PackFlags {
  image::PackOptions options;
  std::string from, out, check;
  std::int64_t threads = 0;
};

void pack(const PackFlags& flags, std::ostream& out) {
  const int threads = flags.threads > 0
                          ? static_cast<int>(flags.threads)
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const image::ImageFolder folder = image::list_image_folder(flags.from);
  const image::PackSummary summary = image::write_pack(folder, flags.options, threads, flags.out);
  for (const std::string& message : summary.skipped) {
    out << "left out: " << message << '\n';
  }
  out << flags.out << ": " << summary.images << " images of " << folder.classes.size()
      << " classes, " << summary.bytes << " bytes, " << summary.skipped.size()
      << " files left out\n";
}

void run(const PackFlags& flags, std::ostream& out) {
  SING_CHECK(
      flags.from.empty() == flags.out.empty() && (!flags.out.empty() || !flags.check.empty()),
      "[sing data pack] wanted --from and --out, or --check, got {}",
      flags.from.empty() == flags.out.empty() ? "none of them" : "one of the first two");
  if (!flags.out.empty()) {
    pack(flags, out);
  }
  if (!flags.check.empty()) {
    image::check_pack(flags.check);
    out << flags.check << ": every image matches its checksum\n";
  }
}

}  // namespace

void add_pack_data_command(CLI::App& data, CommandContext& context) {
  CLI::App* const command = data.add_subcommand(
      "pack", "Pack an image folder into one file for fast reading (docs/images.md)");
  const auto flags = std::make_shared<PackFlags>();
  command->add_option("--from", flags->from, "folder with train/<class>/ and val/<class>/")
      ->type_name("FOLDER");
  command->add_option("--out", flags->out, "pack to write")->type_name("FILE");
  command
      ->add_option("--check", flags->check, "pack whose images are compared with their checksums")
      ->type_name("FILE");
  command::add_number(*command, "--threads", flags->threads, "threads; 0: all cores",
                      between(0, 1024));
  command::add_field_flags(*command, flags->options);
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
