// Decodes, crops and resizes images.
#include "lab/image/crop_loader.hpp"

#include <algorithm>

#include "lab/image/crop_boxes.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

constexpr std::uint32_t kCropPurpose = 1;

int checked(int threads) {
  SING_CHECK(threads >= 1, "[images] wanted at least 1 thread, got {}", threads);
  return threads;
}

}  // namespace

Crop CropRule::choose(ImageSize size, std::uint64_t index) const {
  if (subset == Split::kTest) {
    return {central_box(size, test_share), false};
  }
  random::RandomStream random(seed, epoch << 32 | index, kCropPurpose);
  const Box box = random_resized_box(random, size, least_area);
  return {box, random.below(2) == 1};
}

void CropReader::read_pixels(const ImageView& whole, int size, const Crop& crop,
                             std::uint8_t* destination) {
  const Window all{0, 0, static_cast<double>(crop.box.width), static_cast<double>(crop.box.height)};
  resizer_.resize(whole.part(crop.box), all, {size, size}, crop.mirrored, destination);
}

void CropReader::read_jpeg(int size, const Crop& crop, std::uint8_t* destination) {
  const Box& box = crop.box;
  decoder_.decode(box, decoder_.enough_eighths(box, {size, size}), part_);
  // Only pixels that the box touches contribute, as if the image were cropped before it is resized.
  const int eighths = part_.eighths;
  const int left = box.x * eighths / 8;
  const int right =
      std::min(((box.x + box.width) * eighths + 7) / 8, part_.left + part_.image.width);
  const ImageView shown =
      part_.image.view().part({left - part_.left, 0, right - left, part_.image.height});
  const auto place = [&](int pixel, int first) { return pixel * eighths / 8.0 - first; };
  const Window window{place(box.x, left), place(box.y, part_.top),
                      std::min<double>(place(box.x + box.width, left), shown.width),
                      std::min<double>(place(box.y + box.height, part_.top), shown.height)};
  resizer_.resize(shown, window, {size, size}, crop.mirrored, destination);
}

CropLoader::CropLoader(const ImageSource& source, int threads)
    : source_(source), threads_(checked(threads)), tools_(static_cast<std::size_t>(threads)) {}

}  // namespace sing::lab::image
