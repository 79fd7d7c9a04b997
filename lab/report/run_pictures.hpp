// The pictures of a run, carried inside the page.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/run/run_record.hpp"

namespace sing::lab::report {

// At most `most` of them at even distances, the first and the last among them; of 1, the last.
std::vector<std::filesystem::path> chosen_pictures(const std::vector<std::filesystem::path>& all,
                                                   std::size_t most);

// The last picture open, earlier ones folded, at most `most` in all. A file that is no PNG or has
// more than 8 MiB is named, not shown. Empty if the run has no pictures.
std::string draw_pictures(const run::RunRecord& run, std::size_t most);

// How many pictures each of so many runs has in one page, which is to stay easy to send.
constexpr std::size_t pictures_a_run(std::size_t runs) { return runs <= 2 ? 5 : runs <= 6 ? 2 : 1; }

}  // namespace sing::lab::report
