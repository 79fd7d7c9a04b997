// Fills batches of crops from an image source on several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/data/parallel_chunks.hpp"
#include "lab/image/image_source.hpp"
#include "lab/image/jpeg_decoder.hpp"
#include "lab/image/png_decoder.hpp"
#include "lab/image/resize.hpp"

namespace sing::lab::image {

// A box of an image, flipped or not.
struct Crop {
  Box box;
  bool mirrored = false;
};

// Chooses crops from these fields and an image's index alone, so that a resumed run sees the same
// pixels. A training crop is a RandomResizedCrop, flipped with probability 1/2; a test crop is the
// center.
struct CropRule {
  Split subset = Split::kTraining;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;    // below 2^32
  double least_area = 0.08;   // smallest share of the area in a training crop
  double test_share = 0.875;  // share of the shorter side in a test crop

  Crop choose(ImageSize size, std::uint64_t index) const;
};

// Decoder, resizer and buffers of one thread, reused for all images.
class CropReader {
 public:
  // Writes the crop of an image at size × size, three bytes per pixel. A JPEG is decoded only where
  // the crop lies, at the smallest scale that still has enough pixels; a PNG is decoded whole.
  // Throws FileError.
  template <class Choose>  // Crop(ImageSize)
  void read(const StoredImage& image, std::string_view name, int size, const Choose& choose,
            std::uint8_t* destination) {
    if (image.encoding == Encoding::kRaw) {
      const auto* const pixels = reinterpret_cast<const std::uint8_t*>(image.bytes.data());
      read_pixels(
          {pixels, image.size.width, image.size.height, std::ptrdiff_t{3} * image.size.width}, size,
          choose(image.size), destination);
    } else if (is_png(image.bytes)) {
      const ImageSize found = decode_png(image.bytes, name, png_);
      read_pixels(png_.view(), size, choose(found), destination);
    } else {
      read_jpeg(size, choose(decoder_.open(image.bytes, name)), destination);
    }
  }

 private:
  void read_pixels(const ImageView& whole, int size, const Crop& crop, std::uint8_t* destination);
  void read_jpeg(int size, const Crop& crop, std::uint8_t* destination);

  JpegDecoder decoder_;
  Resizer resizer_;
  DecodedPart part_;
  RgbImage png_;
};

class CropLoader {
 public:
  // The source must outlive the loader. Throws std::invalid_argument for threads < 1.
  CropLoader(const ImageSource& source, int threads);

  // Writes the crop of image indices[i] that rule.choose(its size, its index) returns to position i
  // of `pixels`, uint8 [B, size, size, 3], and then calls visit(i, index) on the same thread.
  // Throws FileError that names an image that cannot be read. Only one call may run at a time.
  template <class Rule, class Visit>
  void load(std::span<const std::uint64_t> indices, const Rule& rule, int size,
            std::uint8_t* pixels, const Visit& visit) {
    const std::size_t bytes =
        std::size_t{3} * static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
    data::for_each_chunk(
        threads_, indices.size(), 2, [&](std::size_t begin, std::size_t end, int worker) {
          Tools& tools = tools_[static_cast<std::size_t>(worker)];
          for (std::size_t place = begin; place < end; ++place) {
            const std::uint64_t index = indices[place];
            const StoredImage stored = source_.fetch(rule.subset, index, tools.buffer);
            tools.reader.read(
                stored, source_.name(rule.subset, index), size,
                [&](ImageSize found) { return rule.choose(found, index); }, pixels + place * bytes);
            visit(place, index);
          }
        });
  }

 private:
  struct Tools {
    CropReader reader;
    std::vector<std::byte> buffer;
  };

  const ImageSource& source_;
  int threads_;
  std::vector<Tools> tools_;
};

}  // namespace sing::lab::image
