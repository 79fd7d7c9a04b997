// Crops and augments images for tests/lab/image/torchvision_test.py.
//
// image_exchange crop: reads lines FILE X Y WIDTH HEIGHT SIZE MIRRORED OUT from the standard input;
// each is a crop of a JPEG file and is written as SIZE × SIZE × 3 bytes.
// image_exchange augment PIXELS COUNT CHANNELS SIZE OUT: PIXELS holds bytes [COUNT, CHANNELS, SIZE,
// SIZE]; reads lines INDEX ORIGIN_X ORIGIN_Y MIRRORED DEGREES from the standard input; OUT gets
// float32 [lines, CHANNELS, SIZE, SIZE], normalized by mean 0 and deviation 1.
#include <torch/torch.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "lab/data/mapped_file.hpp"
#include "lab/image/augment.hpp"
#include "lab/image/augment_parameters.hpp"
#include "lab/image/crop_loader.hpp"

namespace {

using namespace sing::lab::image;

void write_file(const std::string& path, const void* bytes, std::size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

void crop() {
  CropReader reader;
  std::string file;
  std::string out;
  Crop wanted;
  int size = 0;
  while (std::cin >> file >> wanted.box.x >> wanted.box.y >> wanted.box.width >>
         wanted.box.height >> size >> wanted.mirrored >> out) {
    const sing::lab::data::MappedFile mapped(file);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * size * size));
    reader.read(
        {mapped.bytes(), Encoding::kJpeg, {}}, file, size, [&](ImageSize) { return wanted; },
        pixels.data());
    write_file(out, pixels.data(), pixels.size());
  }
}

void augment(char** arguments) {
  const sing::lab::data::MappedFile file(arguments[2]);
  const std::int64_t count = std::stoll(arguments[3]);
  const std::int64_t channels = std::stoll(arguments[4]);
  const std::int64_t size = std::stoll(arguments[5]);
  const at::Tensor pixels = torch::from_blob(const_cast<std::byte*>(file.bytes().data()),
                                             {count, channels, size, size}, at::kByte);
  std::vector<AugmentRow> rows;
  std::uint64_t index = 0;
  int origin_x = 0;
  int origin_y = 0;
  bool mirrored = false;
  double degrees = 0;
  while (std::cin >> index >> origin_x >> origin_y >> mirrored >> degrees) {
    rows.push_back(augmentation(index, origin_x, origin_y, mirrored, degrees));
  }
  const at::Tensor table =
      torch::from_blob(rows.data(), {static_cast<std::int64_t>(rows.size()), kColumns}, at::kInt);
  const auto values = static_cast<std::size_t>(channels);
  const Augmenter augmenter({std::vector<double>(values, 0), std::vector<double>(values, 1)}, size,
                            /*rotates=*/true, at::kCPU);
  const at::Tensor result = augmenter(pixels, table).contiguous();
  write_file(arguments[6], result.const_data_ptr(), result.nbytes());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 2 && std::string(arguments[1]) == "crop") {
      crop();
    } else if (count == 7 && std::string(arguments[1]) == "augment") {
      augment(arguments);
    } else {
      std::fputs("image_exchange crop | augment PIXELS COUNT CHANNELS SIZE OUT\n", stderr);
      return 2;
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
