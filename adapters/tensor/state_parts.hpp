// Splits a state file into the parts that the optimizers of several devices read, and merges the
// parts that they write (docs/state_files.md).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sing {

class SafetensorsReader;

// Merges the files of optimizers that have the same groups and different parameters.
std::string merge_state(std::span<const std::string> parts);

// Returns the file without the parameters that do not belong to the part. The counts of skipped
// steps and tensors go to the part that `has_counts`; the others start at 0. Throws FileError for
// metadata that is not an optimizer's.
std::string part_of_state(const SafetensorsReader& file,
                          const std::function<bool(std::string_view name)>& belongs,
                          bool has_counts);

}  // namespace sing
