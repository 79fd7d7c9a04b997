// Compares files with a list of sizes and hashes.
#include "lab/image/official_command.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::image {
namespace {

struct Request {
  std::vector<std::string> from;
  std::string out;
};

// A folder stands for the set's files in it, those that are missing too.
std::vector<std::filesystem::path> given_files(const OfficialSet& set, const Request& request) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& each : request.from) {
    if (std::filesystem::is_directory(each)) {
      for (const OfficialFile& file : set.files) {
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

const OfficialFile* official_of(const OfficialSet& set, const std::filesystem::path& path) {
  const std::string name =
      path.extension() == ".gz" ? path.stem().string() : path.filename().string();
  const auto found = std::find_if(set.files.begin(), set.files.end(),
                                  [&](const OfficialFile& file) { return name == file.name; });
  return found == set.files.end() ? nullptr : &*found;
}

std::string names_of_set(const OfficialSet& set) {
  std::string names;
  for (const OfficialFile& file : set.files) {
    names += (names.empty() ? "" : ", ") + std::string(file.name);
  }
  return names;
}

std::string check_file(const OfficialSet& set, const std::filesystem::path& path,
                       const std::string& out) {
  const OfficialFile* const file = official_of(set, path);
  if (file == nullptr) {
    return fmt::format("wanted a file of the set ({}), unpacked or as .gz", names_of_set(set));
  }
  if (!std::filesystem::is_regular_file(path)) {
    return std::filesystem::is_directory(path) ? "wanted a file, got a folder"
                                               : "wanted this file or its .gz, got neither";
  }
  const std::vector<std::uint8_t> content = read_content(path, 2 * file->bytes);
  std::string fault = fault_of(*file, content);
  if (fault.empty() && !out.empty()) {
    std::filesystem::create_directories(out);
    AtomicFile copy(std::filesystem::path(out) / file->name);
    copy.write(std::as_bytes(std::span(content)));
    copy.commit();
  }
  return fault;
}

void run(const OfficialSet& set, const Request& request, std::ostream& out) {
  std::size_t wrong = 0;
  const auto paths = given_files(set, request);
  for (const std::filesystem::path& path : paths) {
    const std::string fault = check_file(set, path, request.out);
    out << path.string() << ": " << (fault.empty() ? "the official file" : fault) << '\n';
    wrong += fault.empty() ? 0 : 1;
  }
  if (wrong > 0) {
    throw Error(fmt::format(
        "[sing data {}] wanted the files of {}; {} of {} are missing or wrong: see above", set.name,
        set.title, wrong, paths.size()));
  }
  if (!request.out.empty()) {
    out << request.out << ": `sing train " << set.name << " --data " << request.out << "`\n";
  }
}

}  // namespace

void add_official_command(CLI::App& data, lab::Session& session, const OfficialSet& set) {
  CLI::App* const command = data.add_subcommand(
      set.name, fmt::format("Check the files of {} (docs/images.md)", set.title));
  const auto request = std::make_shared<Request>();
  command->add_option("--from", request->from, "the files, or the folder that holds them")
      ->required()
      ->type_name("PATH");
  command->add_option("--out", request->out, "folder to copy them to, unpacked, if they are right")
      ->type_name("FOLDER");
  command->callback([request, set, &session] {
    session.chosen = [request, set, &session] { run(set, *request, session.out); };
  });
}

}  // namespace sing::image
