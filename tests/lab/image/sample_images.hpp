// Makes images, JPEG files of several kinds and folders of them for the tests of lab/image.
#pragma once

#include <cstddef>
#include <cstdio>
//
#include <jpeglib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/image/jpeg_encoder.hpp"
#include "lab/image/rgb_image.hpp"
#include "lab/random/random_stream.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::test {

// Returns smooth waves with a little noise, so that a JPEG of it has content at every frequency.
inline lab::image::RgbImage sample_image(int width, int height, std::uint64_t seed = 1) {
  lab::random::RandomStream random(seed, 0, 0);
  const auto period = [&] { return 8 + static_cast<int>(random.below(40)); };
  const int periods[3][2] = {{period(), period()}, {period(), period()}, {period(), period()}};
  lab::image::RgbImage image;
  image.set_size(width, height);
  std::size_t place = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const auto& [across, down] : periods) {
        const int wave = std::abs(x % (2 * across) - across) * 100 / across +
                         std::abs(y % (2 * down) - down) * 100 / down;
        image.bytes[place++] = static_cast<std::uint8_t>(wave + static_cast<int>(random.below(40)));
      }
    }
  }
  return image;
}

inline std::string as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string sample_jpeg(int width, int height, std::uint64_t seed = 1) {
  return as_text(lab::image::encode_jpeg(sample_image(width, height, seed).view(), 92));
}

// The properties of a JPEG file other than its pixels.
struct JpegKind {
  int quality = 100;
  int halved_across = 1;  // 2: colors at half the width; likewise below
  int halved_down = 1;
  bool own_codes = false;  // Huffman codes made for this image
  bool progressive = false;
  int restart_rows = 0;
};

// Encodes one, three or four values per pixel without conversion: gray, RGB, or Adobe's CMYK.
inline std::string jpeg_of_values(const std::vector<std::uint8_t>& values, int width, int channels,
                                  const JpegKind& kind = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(values.size()) / (info.image_width * channels);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kind.quality, TRUE);
  info.comp_info[0].h_samp_factor = kind.halved_across;
  info.comp_info[0].v_samp_factor = kind.halved_down;
  info.optimize_coding = kind.own_codes ? TRUE : FALSE;
  info.restart_in_rows = kind.restart_rows;
  if (kind.progressive) {
    jpeg_simple_progression(&info);
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(
        values.data() + info.next_scanline * static_cast<std::size_t>(width * channels));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return text;
}

inline std::string cmyk_jpeg(int width, int height) {
  std::vector<std::uint8_t> values;
  for (int pixel = 0; pixel < width * height; ++pixel) {
    values.insert(values.end(), {200, 120, 60, 180});
  }
  return jpeg_of_values(values, width, 4);
}

inline std::string grey_jpeg(int width, int height) {
  return jpeg_of_values(std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), 90),
                        width, 1);
}

inline void put_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  write_whole(path, bytes);
}

// Writes a folder with ImageNet's layout: two classes with 5 + 3 images each, some of them gray,
// CMYK or a single pixel.
inline void put_sample_folder(const std::filesystem::path& root) {
  for (const std::string name : {"cat", "dog"}) {
    const std::uint64_t seed = name == "cat" ? 10 : 20;
    put_file(root / "train" / name / "a.JPEG", sample_jpeg(90, 70, seed));
    put_file(root / "train" / name / "b.JPEG", sample_jpeg(500, 120, seed + 1));
    put_file(root / "train" / name / "grey.jpg", grey_jpeg(40, 50));
    put_file(root / "train" / name / "inks.jpg", cmyk_jpeg(33, 21));
    put_file(root / "train" / name / "pixel.jpg", sample_jpeg(1, 1, seed + 2));
    for (std::uint64_t test = 0; test < 3; ++test) {
      put_file(root / "val" / name / (std::to_string(test) + ".JPEG"),
               sample_jpeg(80, 60 + static_cast<int>(test), seed + 3 + test));
    }
  }
}

// Writes three files that are not complete JPEG files.
inline void put_bad_files(const std::filesystem::path& root) {
  const std::string whole = sample_jpeg(90, 70, 3);
  put_file(root / "train" / "cat" / "cut.JPEG", whole.substr(0, whole.size() / 2));
  put_file(root / "train" / "dog" / "empty.JPEG", "");
  put_file(root / "val" / "dog" / "text.JPEG", "\x89PNG\r\n\x1a\n but not a picture at all");
}

}  // namespace sing::test
