// Prepares images on several threads and writes them to a pack in order.
#include "lab/image/pack_writer.hpp"

#include <algorithm>
#include <cmath>

#include "lab/data/mapped_file.hpp"
#include "lab/data/parallel_chunks.hpp"
#include "lab/image/jpeg_decoder.hpp"
#include "lab/image/jpeg_encoder.hpp"
#include "lab/image/pack_format.hpp"
#include "lab/image/png_decoder.hpp"
#include "lab/image/resize.hpp"
#include "sing/base/error.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::image {
namespace {

struct Prepared {
  std::vector<std::byte> bytes;
  PackEntry entry;
  std::string wrong;  // error message; empty if there is none
};

// Decoder, resizer and buffers of one thread.
struct Preparer {
  JpegDecoder decoder;
  Resizer resizer;
  RgbImage image, smaller;

  // Scales both sides by the same factor, to at least one pixel.
  static ImageSize fitted(ImageSize size, std::int64_t longest_side) {
    const int longest = std::max(size.width, size.height);
    if (longest_side == 0 || longest <= longest_side) {
      return size;
    }
    const double factor = static_cast<double>(longest_side) / longest;
    const auto scaled = [&](int side) {
      return std::max(1, static_cast<int>(std::nearbyint(side * factor)));
    };
    return {scaled(size.width), scaled(size.height)};
  }

  void prepare(std::span<const std::byte> file, const std::string& name, const PackOptions& options,
               Prepared& prepared) {
    const bool png = is_png(file);
    const ImageSize size = png ? decode_png(file, name, image) : decoder.open(file, name);
    const ImageSize kept = fitted(size, options.longest_side);
    const bool as_it_is =
        kept == size && options.format == Encoding::kJpeg && !png && !decoder.is_cmyk();
    if (as_it_is) {
      decoder.check();
      prepared.bytes.assign(file.begin(), file.end());
    } else {
      if (!png) {
        decoder.decode(image);
      }
      smaller.set_size(kept.width, kept.height);
      const Window whole{0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
      resizer.resize(image.view(), whole, kept, /*mirrored=*/false, smaller.bytes.data());
      if (options.format == Encoding::kJpeg) {
        prepared.bytes = encode_jpeg(smaller.view(), static_cast<int>(options.quality));
      } else {
        const auto raw = std::as_bytes(std::span(smaller.bytes));
        prepared.bytes.assign(raw.begin(), raw.end());
      }
    }
    prepared.entry = {.checksum = checksum_of(prepared.bytes),
                      .bytes = static_cast<std::uint32_t>(prepared.bytes.size()),
                      .width = static_cast<std::uint16_t>(kept.width),
                      .height = static_cast<std::uint16_t>(kept.height),
                      .encoding = static_cast<std::uint32_t>(options.format)};
  }
};

template <class Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
  const auto added = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), added.begin(), added.end());
}

std::vector<std::byte> index_of(const ImageFolder& folder,
                                const std::array<std::vector<PackEntry>, 2>& entries) {
  std::vector<std::byte> index;
  append(index, static_cast<std::uint32_t>(folder.classes.size()));
  for (const std::string& each : folder.classes) {
    append(index, static_cast<std::uint32_t>(each.size()));
    const auto text = std::as_bytes(std::span(each));
    index.insert(index.end(), text.begin(), text.end());
  }
  for (const auto& subset : entries) {
    append(index, static_cast<std::uint64_t>(subset.size()));
  }
  for (const auto& subset : entries) {
    const auto bytes = std::as_bytes(std::span(subset));
    index.insert(index.end(), bytes.begin(), bytes.end());
  }
  return index;
}

class PackWriter {
 public:
  PackWriter(const ImageFolder& folder, const PackOptions& options, int threads,
             const std::filesystem::path& out)
      : folder_(folder),
        options_(options),
        threads_(threads),
        preparers_(static_cast<std::size_t>(threads)),
        file_(out) {
    write(PackHeader{});
  }

  PackSummary run() {
    for (std::size_t subset = 0; subset < folder_.images.size(); ++subset) {
      const std::span<const ListedImage> images = folder_.images[subset];
      // Large enough to keep all threads busy, small enough to fit in memory.
      constexpr std::size_t kPart = 512;
      for (std::size_t begin = 0; begin < images.size(); begin += kPart) {
        write_images(images.subspan(begin, std::min(kPart, images.size() - begin)),
                     entries_[subset]);
      }
    }
    if (options_.bad_images == BadImages::kRefuse) {
      refuse_bad_images(summary_.skipped);
    }
    const std::vector<std::byte> index = index_of(folder_, entries_);
    const PackFooter footer{place_, index.size(), data::sha256(index)};
    write_bytes(index);
    write(footer);
    file_.commit();
    summary_.bytes = place_;
    return std::move(summary_);
  }

 private:
  void write_bytes(std::span<const std::byte> bytes) {
    file_.write(bytes);
    place_ += bytes.size();
  }
  template <class Value>
  void write(const Value& value) {
    write_bytes(std::as_bytes(std::span(&value, 1)));
  }

  void write_images(std::span<const ListedImage> images, std::vector<PackEntry>& entries) {
    std::vector<Prepared> prepared(images.size());
    data::for_each_chunk(threads_, images.size(), 4,
                         [&](std::size_t begin, std::size_t end, int worker) {
                           for (std::size_t i = begin; i < end; ++i) {
                             try {
                               const data::MappedFile file(folder_.root / images[i].path);
                               preparers_[static_cast<std::size_t>(worker)].prepare(
                                   file.bytes(), images[i].path, options_, prepared[i]);
                             } catch (const FileError& problem) {
                               prepared[i].wrong = problem.what();
                             }
                           }
                         });
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (!prepared[i].wrong.empty()) {
        summary_.skipped.push_back(prepared[i].wrong);
        continue;
      }
      prepared[i].entry.offset = place_;
      prepared[i].entry.label = images[i].label;
      entries.push_back(prepared[i].entry);
      write_bytes(prepared[i].bytes);
      ++summary_.images;
    }
  }

  const ImageFolder& folder_;
  const PackOptions& options_;
  int threads_;
  std::vector<Preparer> preparers_;
  AtomicFile file_;
  std::uint64_t place_ = 0;
  std::array<std::vector<PackEntry>, 2> entries_;
  PackSummary summary_;
};

}  // namespace

PackSummary write_pack(const ImageFolder& folder, const PackOptions& options, int threads,
                       const std::filesystem::path& out) {
  validate(options, "pack");
  return PackWriter(folder, options, threads, out).run();
}

}  // namespace sing::lab::image
