// Resizes images in two passes of weighted sums: horizontal to bytes, then vertical.
#include "lab/image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lab/image/vector_clones.hpp"

namespace sing::lab::image {
namespace {

constexpr int kWeightBits = 32 - 8 - 2;  // as in Pillow: 8 bits for a byte and 2 spare bits
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// One pixel of two rows: three colors and an unused lane for each row.
using Lanes = std::int32_t __attribute__((vector_size(32)));
using LaneBytes = std::uint8_t __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));
using Bytes = std::uint8_t __attribute__((vector_size(16)));
constexpr std::ptrdiff_t kLanes = 8;
constexpr Lanes kHalves = {kHalf, kHalf, kHalf, kHalf, kHalf, kHalf, kHalf, kHalf};

// Weights are not negative and sum to 1 up to rounding, so that no sum leaves 0 … 255.
constexpr std::uint8_t byte_of(std::int32_t sum) {
  return static_cast<std::uint8_t>(sum >> kWeightBits);
}

struct AxisSums {
  const int* first;
  const std::int32_t* weights;
  int taps;
  int places;
  bool mirrored;  // the last pixel is written first
};

// Widens the pixels of a row, each into the first half of its eight lanes, four at a time while 16
// bytes can be read. A plain loop compiles to code that takes three times as long.
SING_VECTOR_CLONES void widen(const std::uint8_t* bytes, int pixels, std::int32_t* lanes) {
  int pixel = 0;
  for (; pixel + 6 <= pixels; pixel += 4, bytes += 12, lanes += 4 * kLanes) {
    Bytes four;
    std::memcpy(&four, bytes, sizeof(four));
    const Bytes none = {};
    const Bytes wide[4] = {__builtin_shufflevector(four, none, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16,
                                                   16, 16, 16, 16, 16, 16),
                           __builtin_shufflevector(four, none, 3, 16, 16, 16, 4, 16, 16, 16, 5, 16,
                                                   16, 16, 16, 16, 16, 16),
                           __builtin_shufflevector(four, none, 6, 16, 16, 16, 7, 16, 16, 16, 8, 16,
                                                   16, 16, 16, 16, 16, 16),
                           __builtin_shufflevector(four, none, 9, 16, 16, 16, 10, 16, 16, 16, 11,
                                                   16, 16, 16, 16, 16, 16, 16)};
    for (int i = 0; i < 4; ++i) {
      std::memcpy(lanes + i * kLanes, &wide[i], sizeof(Bytes));
    }
  }
  for (; pixel < pixels; ++pixel, bytes += 3, lanes += kLanes) {
    for (int color = 0; color < 3; ++color) {
      lanes[color] = bytes[color];
    }
  }
}

// Resizes two widened rows to the destination's width. `taps` is axis.taps, passed as a constant
// where the compiler should unroll the loop.
[[gnu::always_inline]] inline void sum_places(const AxisSums& axis, int taps,
                                              const std::int32_t* lanes, std::uint8_t* first_out,
                                              std::uint8_t* second_out) {
  const std::ptrdiff_t step = axis.mirrored ? -1 : 1;
  std::ptrdiff_t place = axis.mirrored ? axis.places - 1 : 0;
  for (int i = 0; i < axis.places; ++i, place += step, first_out += 3, second_out += 3) {
    const std::int32_t* const weight = axis.weights + place * taps;
    const std::int32_t* pixel = lanes + kLanes * axis.first[place];
    Lanes sum = kHalves;
    for (int tap = 0; tap < taps; ++tap, pixel += kLanes) {
      Lanes values;
      std::memcpy(&values, pixel, sizeof(values));
      sum += values * weight[tap];
    }
    const auto bytes = reinterpret_cast<LaneBytes>(sum >> kWeightBits);
    // clang-format off
    const auto both = reinterpret_cast<Words>(__builtin_shufflevector(bytes, bytes,
        0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12,
        16, 20, 24, 28, 16, 20, 24, 28, 16, 20, 24, 28, 16, 20, 24, 28));
    // clang-format on
    const std::uint32_t first_pixel = both[0];
    const std::uint32_t second_pixel = both[4];
    if (i + 1 < axis.places) {  // the next pixel overwrites the fourth byte
      std::memcpy(first_out, &first_pixel, 4);
      std::memcpy(second_out, &second_pixel, 4);
    } else {
      std::memcpy(first_out, &first_pixel, 3);
      std::memcpy(second_out, &second_pixel, 3);
    }
  }
}

SING_VECTOR_CLONES void sum_across(const AxisSums& axis, const std::int32_t* lanes,
                                   std::uint8_t* first_out, std::uint8_t* second_out) {
  switch (axis.taps) {
    case 2:
      return sum_places(axis, 2, lanes, first_out, second_out);
    case 3:
      return sum_places(axis, 3, lanes, first_out, second_out);
    case 4:
      return sum_places(axis, 4, lanes, first_out, second_out);
    default:
      return sum_places(axis, axis.taps, lanes, first_out, second_out);
  }
}

constexpr std::ptrdiff_t kBlock = 64;  // sums that are kept in registers

// Computes one row of the destination from `taps` rows that are `stride` apart, in whole blocks.
SING_VECTOR_CLONES void sum_down(const std::uint8_t* rows, std::ptrdiff_t stride,
                                 const std::int32_t* weights, int taps, std::uint8_t* out) {
  for (std::ptrdiff_t begin = 0; begin < stride; begin += kBlock) {
    std::int32_t sums[kBlock];
    std::fill_n(sums, kBlock, kHalf);
    for (int tap = 0; tap < taps; ++tap) {
      const std::uint8_t* const row = rows + tap * stride + begin;
      for (std::ptrdiff_t i = 0; i < kBlock; ++i) {
        sums[i] += row[i] * weights[tap];
      }
    }
    for (std::ptrdiff_t i = 0; i < kBlock; ++i) {
      out[begin + i] = byte_of(sums[i]);
    }
  }
}

}  // namespace

// The triangle filter of Pillow's precompute_coeffs (libImaging/Resample.c), widened by the scale
// when the image shrinks.
void Resizer::set_axis(Axis& axis, int source, double begin, double end, int places) {
  const double scale = (end - begin) / places;
  const double support = std::max(scale, 1.0);
  const auto center = [&](int place) { return begin + (place + 0.5) * scale; };
  const auto stop = [&](int place) {
    return std::min(source, static_cast<int>(center(place) + support + 0.5));
  };
  axis.first.resize(static_cast<std::size_t>(places));
  axis.taps = 0;
  for (int place = 0; place < places; ++place) {
    int& first = axis.first[static_cast<std::size_t>(place)];
    first = std::max(0, static_cast<int>(center(place) - support + 0.5));
    axis.taps = std::max(axis.taps, stop(place) - first);
  }
  axis.end = stop(places - 1);
  axis.weights.assign(static_cast<std::size_t>(places) * static_cast<std::size_t>(axis.taps), 0);
  axis.exact.resize(static_cast<std::size_t>(axis.taps));
  for (int place = 0; place < places; ++place) {
    const int first = axis.first[static_cast<std::size_t>(place)];
    const int count = stop(place) - first;
    double total = 0;
    for (int tap = 0; tap < count; ++tap) {
      const double distance = first + tap - center(place) + 0.5;
      const double weight = std::max(0.0, 1.0 - std::abs(distance * (1.0 / support)));
      axis.exact[static_cast<std::size_t>(tap)] = weight;
      total += weight;
    }
    std::int32_t* const row = axis.weights.data() + std::ptrdiff_t{place} * axis.taps;
    for (int tap = 0; tap < count; ++tap) {
      row[tap] = static_cast<std::int32_t>(0.5 + axis.exact[static_cast<std::size_t>(tap)] / total *
                                                     (1 << kWeightBits));
    }
  }
}

void Resizer::resize(const ImageView& source, const Window& window, ImageSize size, bool mirrored,
                     std::uint8_t* destination) {
  set_axis(across_, source.width, window.left, window.right, size.width);
  set_axis(down_, source.height, window.top, window.bottom, size.height);
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * size.width;
  const std::ptrdiff_t stride = (row_bytes + kBlock - 1) / kBlock * kBlock;
  const int begin = down_.first.front();
  // Zero weights read up to taps − 1 places past the last pixel and the last row.
  rows_.resize(static_cast<std::size_t>((down_.end - begin + down_.taps) * stride));
  lanes_.resize(static_cast<std::size_t>(kLanes * (source.width + across_.taps)));
  const auto kept_row = [&](int y) { return rows_.data() + (y - begin) * stride; };
  const AxisSums across{across_.first.data(), across_.weights.data(), across_.taps, size.width,
                        mirrored};
  for (int y = begin; y < down_.end; y += 2) {
    const int next = std::min(y + 1, down_.end - 1);
    widen(source.row(y), source.width, lanes_.data());
    widen(source.row(next), source.width, lanes_.data() + kLanes / 2);
    sum_across(across, lanes_.data(), kept_row(y), kept_row(next));
  }
  blocks_.resize(static_cast<std::size_t>(stride));
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* const out = destination + y * row_bytes;
    sum_down(kept_row(down_.first[static_cast<std::size_t>(y)]), stride,
             down_.weights.data() + std::ptrdiff_t{y} * down_.taps, down_.taps,
             stride == row_bytes ? out : blocks_.data());
    if (stride != row_bytes) {
      std::copy_n(blocks_.data(), row_bytes, out);
    }
  }
}

}  // namespace sing::lab::image
