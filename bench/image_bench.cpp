// Measures how many training crops per second one core makes from a folder of images or a pack.
//
// image_bench PATH SIZE FIRST_EPOCH EPOCHS prints the processor seconds per epoch of training
// images, as the mean of EPOCHS epochs after a warm-up epoch. Processor time is measured because
// other programs may use the core.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <vector>

#include "lab/image/crop_loader.hpp"
#include "lab/image/image_sources.hpp"

namespace {

using namespace sing::lab::image;

void measure(const std::filesystem::path& path, int size, std::uint64_t first, int epochs) {
  const auto source = std::filesystem::is_directory(path)
                          ? make_folder_source(list_image_folder(path))
                          : open_pack(path);
  std::vector<std::uint64_t> indices(source->count(Split::kTraining));
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  // Crops are made in batches, as in training.
  constexpr std::size_t kBatch = 256;
  std::vector<std::uint8_t> pixels(kBatch * 3 * static_cast<std::size_t>(size * size));
  CropLoader loader(*source, /*threads=*/1);
  double seconds = 0;
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    const std::clock_t begin = std::clock();
    const CropRule rule{.seed = 1, .epoch = first + static_cast<std::uint64_t>(epoch)};
    for (std::size_t place = 0; place < indices.size(); place += kBatch) {
      const std::size_t count = std::min(kBatch, indices.size() - place);
      loader.load(std::span(indices).subspan(place, count), rule, size, pixels.data(),
                  [](std::size_t, std::uint64_t) {});
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
