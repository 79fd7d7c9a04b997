// Compares data files with a list of sizes and hashes.
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lab/cifar100/cifar100_files.hpp"
#include "lab/data/packed_file.hpp"
#include "lab/image/official_files.hpp"
#include "lab/main/commands.hpp"
#include "lab/mnist/mnist_files.hpp"
#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::main {
namespace {

struct OfficialFlags {
  std::vector<std::string> from;
  std::string out;
};

// A folder means all of the set's files in it, including those that are missing.
std::vector<std::filesystem::path> given_files(const image::OfficialSet& set,
                                               const OfficialFlags& flags) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& each : flags.from) {
    if (std::filesystem::is_directory(each)) {
      for (const image::OfficialFile& file : set.files) {
        const std::filesystem::path plain = std::filesystem::path(each) / file.name;
        const std::filesystem::path packed = plain.string() + ".gz";
        const bool take_packed = !std::filesystem::exists(plain) && std::filesystem::exists(packed);
        paths.push_back(take_packed ? packed : plain);
      }
    } else {
      SING_CHECK(std::filesystem::exists(each),
                 "[sing data {}] wanted a file or folder, got no '{}'", set.name, each);
      paths.emplace_back(each);
    }
  }
  return paths;
}

const image::OfficialFile* official_of(const image::OfficialSet& set,
                                       const std::filesystem::path& path) {
  const std::string name =
      path.extension() == ".gz" ? path.stem().string() : path.filename().string();
  const auto found =
      std::find_if(set.files.begin(), set.files.end(),
                   [&](const image::OfficialFile& file) { return name == file.name; });
  return found == set.files.end() ? nullptr : &*found;
}

std::string names_of_set(const image::OfficialSet& set) {
  std::string names;
  for (const image::OfficialFile& file : set.files) {
    names += (names.empty() ? "" : ", ") + std::string(file.name);
  }
  return names;
}

std::string check_file(const image::OfficialSet& set, const std::filesystem::path& path,
                       const std::string& out) {
  const image::OfficialFile* const file = official_of(set, path);
  if (file == nullptr) {
    return fmt::format("wanted a file of the set ({}), unpacked or as .gz", names_of_set(set));
  }
  if (!std::filesystem::is_regular_file(path)) {
    return std::filesystem::is_directory(path) ? "wanted a file, got a folder"
                                               : "wanted this file or its .gz, got neither";
  }
  const std::vector<std::uint8_t> content = data::read_packed(path, 2 * file->bytes);
  std::string fault = image::fault_of(*file, content);
  if (fault.empty() && !out.empty()) {
    std::filesystem::create_directories(out);
    replace_file(std::filesystem::path(out) / file->name, std::as_bytes(std::span(content)));
  }
  return fault;
}

void run(const image::OfficialSet& set, const OfficialFlags& flags, std::ostream& out) {
  std::size_t wrong = 0;
  const auto paths = given_files(set, flags);
  for (const std::filesystem::path& path : paths) {
    const std::string fault = check_file(set, path, flags.out);
    out << path.string() << ": " << (fault.empty() ? "the official file" : fault) << '\n';
    wrong += fault.empty() ? 0 : 1;
  }
  if (wrong > 0) {
    throw Error(fmt::format(
        "[sing data {}] wanted the files of {}, got {} of {} missing or wrong: see above", set.name,
        set.title, wrong, paths.size()));
  }
  if (!flags.out.empty()) {
    out << flags.out << ": `sing train " << set.name << " --data " << flags.out << "`\n";
  }
}

void add_command(CLI::App& data, CommandContext& context, const image::OfficialSet& set) {
  CLI::App* const command = data.add_subcommand(
      set.name, fmt::format("Check the files of {} (docs/images.md)", set.title));
  const auto flags = std::make_shared<OfficialFlags>();
  command->add_option("--from", flags->from, "the files, or the folder that holds them")
      ->required()
      ->type_name("PATH");
  command
      ->add_option("--out", flags->out,
                   "folder that receives uncompressed copies of the files if they are correct")
      ->type_name("FOLDER");
  command->callback([flags, set, &context] {
    context.chosen = [flags, set, &context] { run(set, *flags, context.out); };
  });
}

}  // namespace

void add_official_data_commands(CLI::App& data, CommandContext& context) {
  add_command(data, context, cifar100::official_set());
  add_command(data, context, mnist::official_set());
}

}  // namespace sing::lab::main
