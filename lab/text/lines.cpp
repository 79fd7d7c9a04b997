// Reads lines.
#include "lab/text/lines.hpp"

#include <cstdint>
#include <string_view>

#include "lab/data/packed_file.hpp"
#include "lab/text/words.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::text {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 34;  // 16 GiB unpacked
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> content = data::read_packed(path, kMostBytes);
  std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
  if (rest.starts_with(kByteOrderMark)) {
    rest.remove_prefix(kByteOrderMark.size());
  }
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    SING_CHECK(is_utf8(line) && line.find('\0') == std::string_view::npos,
               "[text] wanted UTF-8 in line {} of '{}', got other bytes", lines.size() + 1,
               path.string());
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace sing::lab::text
