// Reads sentences and their translations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sing::lab::text {

// Sentence i of `target` is the translation of sentence i of `source`.
struct ParallelText {
  std::vector<std::string> source, target;

  std::size_t size() const { return source.size(); }
  void add(std::string source_line, std::string target_line);
};

// Reads two files of lines, plain or packed by gzip. Throws FileError, and std::invalid_argument
// for files with different numbers of lines.
ParallelText read_parallel_text(const std::filesystem::path& source,
                                const std::filesystem::path& target);

// Reads one file whose lines have columns between tabs, the first with the number 1. Throws
// FileError, and std::invalid_argument that names the first line without such a column.
ParallelText read_parallel_table(const std::filesystem::path& path, std::int64_t source_column,
                                 std::int64_t target_column);

// Returns the pairs of which neither sentence is empty.
ParallelText without_empty_lines(ParallelText text);

// The parts of a set that had none.
struct SplitText {
  ParallelText training, validation, test;
  std::int64_t repeated = 0;  // pairs that are left out because they occur more than once
  std::int64_t kept_apart =
      0;  // pairs that are left out because a part for evaluation has a sentence
};

// Draws `test_count` and `validation_count` pairs, always the same for the same text. No sentence
// of the test or validation part occurs in another part, in either language, even if it differs in
// punctuation, white space or the case of ASCII letters. Throws std::invalid_argument if too few
// pairs are left.
SplitText split_text(const ParallelText& text, std::int64_t validation_count,
                     std::int64_t test_count);

}  // namespace sing::lab::text
