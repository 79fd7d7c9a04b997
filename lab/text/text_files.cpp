// Collects the files of a folder and reads them.
#include "lab/text/text_files.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "lab/data/open_file.hpp"
#include "lab/data/sha256.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

namespace fs = std::filesystem;

// Returns the paths relative to `folder`, in the order of their bytes, which no locale changes.
// Entries that are neither files nor folders are included, such as a symbolic link to itself.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with(".")) {
      entry.disable_recursion_pending();
    } else if (std::error_code ignored;
               entry->symlink_status(ignored).type() != fs::file_type::directory) {
      files.push_back(entry->path().lexically_relative(folder));
    }
  }
  if (error) {
    throw FileError(fmt::format("[{}] cannot be read: {}", folder.string(), error.message()));
  }
  std::sort(files.begin(), files.end(), [](const fs::path& one, const fs::path& other) {
    return one.generic_string() < other.generic_string();
  });
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream = data::open_file(path);
  std::string content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) {
    throw FileError(fmt::format("[{}] cannot be read", path.string()));
  }
  return content;
}

}  // namespace

TextFiles read_text_files(const fs::path& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  SING_CHECK(is_folder || fs::is_regular_file(path, error),
             "[text] wanted a file or a folder of text, got '{}': --data PATH says where it is. "
             "Without files: --stand-in trains on generated text.",
             path.string());
  TextFiles found;
  data::Sha256 hash;
  const auto add_to_hash = [&](const std::string& part) {
    const std::uint64_t size = part.size();  // so that the parts cannot be confused
    hash.add(std::as_bytes(std::span(&size, 1)));
    hash.add(std::as_bytes(std::span(part)));
  };
  for (const fs::path& file : is_folder ? files_below(path) : std::vector{path.filename()}) {
    const fs::path whole_path = is_folder ? path / file : path;
    const bool is_file = fs::is_regular_file(whole_path, error);
    const std::string content = is_file ? read_file(whole_path) : std::string();
    if (!is_file || content.find('\0') != std::string::npos) {
      found.left_out.push_back(file);
      continue;
    }
    add_to_hash(file.generic_string());
    add_to_hash(content);
    found.text += content;
    ++found.files;
  }
  SING_CHECK(!found.text.empty(), "[text] wanted text in '{}', got {} files without any",
             path.string(), found.files + std::ssize(found.left_out));
  found.digest = data::hexadecimal(hash.digest());
  return found;
}

}  // namespace sing::lab::text
