// Embeds the pictures and sample texts of a run in the page.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// Returns at most `most` pictures at even distances, including the first and the last, or only the
// last if `most` is 1.
std::vector<std::filesystem::path> chosen_pictures(const std::vector<std::filesystem::path>& all,
                                                   std::size_t most);

// Shows the last picture and folds earlier ones, at most `most` in all. A file that is not a PNG or
// is larger than 8 MiB is named but not shown. Returns "" if the run has no pictures.
std::string draw_pictures(const run::RunRecord& run, std::size_t most);

// Returns the number of pictures per run, so that a page about this many runs stays easy to send.
constexpr std::size_t pictures_per_run(std::size_t runs) {
  return runs <= 2 ? 5 : runs <= 6 ? 2 : 1;
}

}  // namespace sing::lab::report
