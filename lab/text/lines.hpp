// Reads files of lines: plain or packed by gzip, in UTF-8.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sing::lab::text {

// Returns the lines without their ends (LF or CR LF) and without a byte order mark at the front of
// the file. Throws FileError for a file that cannot be read and std::invalid_argument for a line
// that is not UTF-8 or contains a zero byte, with its number.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace sing::lab::text
