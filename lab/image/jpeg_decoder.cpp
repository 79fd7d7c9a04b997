// Decodes JPEG images with libjpeg-turbo.
#include "lab/image/jpeg_decoder.hpp"

#include <algorithm>
#include <cstdint>

#include "lab/image/jpeg_errors.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

// Subsampled color planes are interpolated between neighboring columns, so the columns at the edge
// of a decoded part differ from those of the whole image. Rows at the edge do not differ.
constexpr int kMargin = 2;

// Converts Adobe's inverted values (255 − ink) as Pillow does.
void cmyk_to_rgb(const std::uint8_t* inks, int pixels, std::uint8_t* out) {
  for (int pixel = 0; pixel < pixels; ++pixel, inks += 4, out += 3) {
    const int light = inks[3];
    for (int color = 0; color < 3; ++color) {
      const int product = (255 - inks[color]) * light + 128;
      out[color] =
          static_cast<std::uint8_t>(std::clamp(light - ((product + (product >> 8)) >> 8), 0, 255));
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct info{};
  JpegErrors errors;
  jpeg_progress_mgr progress{};
  std::string name;
  RgbImage scratch;
  std::vector<std::uint8_t> inks;

  [[noreturn]] void fail() {
    jpeg_abort_decompress(&info);
    throw FileError(fmt::format("[jpeg] '{}': {}", name, errors.message));
  }

  bool is_cmyk() const {
    return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  }

  void set_output(int eighths) {
    info.out_color_space = is_cmyk() ? JCS_CMYK : JCS_RGB;
    info.scale_num = static_cast<unsigned>(eighths);
    info.scale_denom = 8;
  }

  // Reads the next row, three bytes per pixel; `columns` is the width that libjpeg returns.
  void read_row(std::uint8_t* out, int columns) {
    JSAMPROW row = is_cmyk() ? inks.data() : out;
    jpeg_read_scanlines(&info, &row, 1);
    if (is_cmyk()) {
      cmyk_to_rgb(inks.data(), columns, out);
    }
  }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  state_->info.err = state_->errors.start();
  if (setjmp(state_->errors.jump) != 0) {
    throw Error(fmt::format("[jpeg] {}", state_->errors.message));
  }
  jpeg_create_decompress(&state_->info);
  state_->progress.progress_monitor = JpegErrors::refuse_many_scans;
  state_->info.progress = &state_->progress;
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->info); }

bool JpegDecoder::is_cmyk() const { return state_->is_cmyk(); }

ImageSize JpegDecoder::open(std::span<const std::byte> bytes, std::string_view name) {
  State& state = *state_;
  state.name = name;
  if (setjmp(state.errors.jump) != 0) {
    state.fail();
  }
  jpeg_abort_decompress(&state.info);
  state.errors.manager.num_warnings = 0;
  if (bytes.empty()) {  // clearer than libjpeg's message
    throw FileError(fmt::format("[jpeg] '{}': wanted a JPEG file, got an empty one", name));
  }
  jpeg_mem_src(&state.info, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&state.info, TRUE);
  const ImageSize size{static_cast<int>(state.info.image_width),
                       static_cast<int>(state.info.image_height)};
  if (std::int64_t{size.width} * size.height > kMostPixels) {
    throw FileError(fmt::format("[jpeg] '{}': wanted at most {} pixels, got {} × {}", name,
                                kMostPixels, size.width, size.height));
  }
  return size;
}

void JpegDecoder::decode(RgbImage& image) {
  State& state = *state_;
  image.set_size(static_cast<int>(state.info.image_width),
                 static_cast<int>(state.info.image_height));
  state.inks.resize(std::size_t{4} * state.info.image_width);
  if (setjmp(state.errors.jump) != 0) {
    state.fail();
  }
  state.set_output(8);
  jpeg_start_decompress(&state.info);
  while (state.info.output_scanline < state.info.output_height) {
    state.read_row(
        image.bytes.data() + std::size_t{3} * state.info.output_scanline * state.info.output_width,
        image.width);
  }
  jpeg_finish_decompress(&state.info);
}

void JpegDecoder::decode(const Box& box, int eighths, DecodedPart& part) {
  State& state = *state_;
  const auto down = [&](int place) { return place * eighths / 8; };
  const auto up = [&](int place) { return (place * eighths + 7) / 8; };
  part.eighths = eighths;
  state.inks.resize(std::size_t{4} * state.info.image_width);
  // All objects are constructed before setjmp, and no variable that a jump leaves undefined is
  // read.
  RgbImage& image = part.image;
  if (setjmp(state.errors.jump) != 0) {
    state.fail();
  }
  state.set_output(eighths);
  jpeg_start_decompress(&state.info);
  const int whole_width = static_cast<int>(state.info.output_width);
  const int whole_height = static_cast<int>(state.info.output_height);
  const int wanted_left = std::max(0, down(box.x) - kMargin);
  const int wanted_right = std::min(whole_width, up(box.x + box.width) + kMargin);
  auto left = static_cast<JDIMENSION>(wanted_left);
  auto columns = static_cast<JDIMENSION>(wanted_right - wanted_left);
  jpeg_crop_scanline(&state.info, &left, &columns);
  part.left = static_cast<int>(left);
  part.top = down(box.y);
  const int bottom = std::min(whole_height, up(box.y + box.height));
  image.set_size(static_cast<int>(state.info.output_width), bottom - part.top);
  if (part.top > 0) {
    jpeg_skip_scanlines(&state.info, static_cast<JDIMENSION>(part.top));
  }
  for (int y = 0; y < image.height; ++y) {
    state.read_row(image.bytes.data() + std::ptrdiff_t{3} * image.width * y, image.width);
  }
  jpeg_abort_decompress(&state.info);
}

void JpegDecoder::check() {
  State& state = *state_;
  state.inks.resize(std::size_t{4} * state.info.image_width);
  state.scratch.set_size(static_cast<int>(state.info.image_width), 1);
  if (setjmp(state.errors.jump) != 0) {
    state.fail();
  }
  state.set_output(1);
  jpeg_start_decompress(&state.info);
  while (state.info.output_scanline < state.info.output_height) {
    state.read_row(state.scratch.bytes.data(), static_cast<int>(state.info.output_width));
  }
  jpeg_finish_decompress(&state.info);
}

int JpegDecoder::enough_eighths(const Box& box, ImageSize wanted) const {
  const jpeg_decompress_struct& info = state_->info;
  bool even = true;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& plane = info.comp_info[i];
    even = even && plane.h_samp_factor * info.comp_info[0].v_samp_factor ==
                       plane.v_samp_factor * info.comp_info[0].h_samp_factor;
  }
  for (const int eighths : {1, 2, 4}) {
    if (box.width * eighths >= 8 * wanted.width && box.height * eighths >= 8 * wanted.height) {
      return even ? eighths : 2 * eighths;
    }
  }
  return 8;
}

}  // namespace sing::lab::image
