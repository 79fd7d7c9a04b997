// Reads files through zlib, which passes plain ones on.
#include "lab/data/packed_file.hpp"

#include <zlib.h>

#include <memory>

#include "sing/base/message.hpp"

namespace sing::lab::data {

std::vector<std::uint8_t> read_packed(const std::filesystem::path& path, std::uint64_t most_bytes) {
  const auto fail = [&](const char* what) {
    throw FileError(fmt::format("[data] '{}': {}", path.string(), what));
  };
  const auto close = [](gzFile file) { gzclose(file); };
  // Opening a FIFO would wait for a writer.
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  const std::unique_ptr<gzFile_s, decltype(close)> file(
      is_file ? gzopen(path.c_str(), "rb") : nullptr, close);
  if (!file) {
    fail("cannot open it");
  }
  constexpr unsigned kBlock = 1U << 20;
  gzbuffer(file.get(), kBlock);
  std::vector<std::uint8_t> content;
  for (;;) {
    const std::size_t size = content.size();
    content.resize(size + kBlock);
    const int got = gzread(file.get(), content.data() + size, kBlock);
    if (got < 0) {
      fail("cannot unpack it");
    }
    content.resize(size + static_cast<std::size_t>(got));
    if (content.size() > most_bytes) {
      fail("it is larger than it should be");
    }
    if (got == 0) {
      break;
    }
  }
  int status = Z_OK;
  gzerror(file.get(), &status);
  if (status != Z_OK) {  // zlib returns the data up to the point where the file was truncated
    fail("it is truncated");
  }
  return content;
}

}  // namespace sing::lab::data
