// Packs an image folder, or checks a pack.
#include "lab/image/pack_command.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "lab/cli/field_flags.hpp"
#include "lab/image/pack_source.hpp"
#include "lab/image/pack_writer.hpp"
#include "sing/base/message.hpp"

namespace sing::image {
namespace {

struct Request {
  PackOptions options;
  std::string from, out, check;
  std::int64_t threads = 0;
};

void pack(const Request& request, std::ostream& out) {
  const int threads = request.threads > 0
                          ? static_cast<int>(request.threads)
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const ImageFolder folder = list_image_folder(request.from);
  const PackSummary summary = write_pack(folder, request.options, threads, request.out);
  for (const std::string& message : summary.skipped) {
    out << "left out: " << message << '\n';
  }
  out << request.out << ": " << summary.images << " images of " << folder.classes.size()
      << " classes, " << summary.bytes << " bytes, " << summary.skipped.size()
      << " files left out\n";
}

void run(const Request& request, std::ostream& out) {
  SING_CHECK(request.from.empty() == request.out.empty() &&
                 (!request.out.empty() || !request.check.empty()),
             "[sing data pack] wanted --from and --out, or --check");
  if (!request.out.empty()) {
    pack(request, out);
  }
  if (!request.check.empty()) {
    check_pack(request.check);
    out << request.check << ": every image as it was written\n";
  }
}

}  // namespace

void add_pack_command(CLI::App& data, lab::Session& session) {
  CLI::App* const command = data.add_subcommand(
      "pack", "Put an image folder into one file for fast reading (docs/images.md)");
  const auto request = std::make_shared<Request>();
  command->add_option("--from", request->from, "folder with train/<class>/ and val/<class>/")
      ->type_name("FOLDER");
  command->add_option("--out", request->out, "the pack to write")->type_name("FILE");
  command->add_option("--check", request->check, "a pack to compare with its checksums")
      ->type_name("FILE");
  command->add_option("--threads", request->threads, "0: all cores")
      ->type_name("INTEGER")
      ->check(CLI::Range(0, 1024));
  lab::add_field_flags(*command, request->options);
  command->callback([request, &session] {
    session.chosen = [request, &session] { run(*request, session.out); };
  });
}

}  // namespace sing::image
