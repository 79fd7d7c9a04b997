// How many training crops a second does one core make of a folder's images, or of a pack's?
//
// image_bench PATH SIZE FIRST_EPOCH EPOCHS: prints the processor seconds of going once over the
// training images, as the mean of EPOCHS times after one that does not count. Processor time, since
// other programs may want the core too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <vector>

#include "lab/image/crop_loader.hpp"
#include "lab/image/folder_source.hpp"
#include "lab/image/pack_source.hpp"

namespace {

using namespace sing::image;

void measure(const std::filesystem::path& path, int size, std::uint64_t first, int epochs) {
  const auto source = std::filesystem::is_directory(path)
                          ? make_folder_source(list_image_folder(path))
                          : open_pack(path);
  std::vector<std::uint64_t> indices(source->count(Subset::kTraining));
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  // A batch at a time, as training does.
  constexpr std::size_t kBatch = 256;
  std::vector<std::uint8_t> pixels(kBatch * 3 * static_cast<std::size_t>(size * size));
  std::vector<std::int64_t> labels(kBatch);
  CropLoader loader(*source, /*threads=*/1);
  double seconds = 0;
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    const std::clock_t begin = std::clock();
    const CropRule rule{.seed = 1, .epoch = first + static_cast<std::uint64_t>(epoch)};
    for (std::size_t place = 0; place < indices.size(); place += kBatch) {
      const std::size_t count = std::min(kBatch, indices.size() - place);
      loader.load(std::span(indices).subspan(place, count), rule, size, pixels.data(),
                  labels.data());
    }
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    seconds += epoch == 0 ? 0 : took;
  }
  std::printf("%.6f %zu\n", seconds / epochs, indices.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("image_bench PATH SIZE FIRST_EPOCH EPOCHS\n", stderr);
    return 2;
  }
  try {
    measure(arguments[1], std::atoi(arguments[2]),
            static_cast<std::uint64_t>(std::atoll(arguments[3])), std::atoi(arguments[4]));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
