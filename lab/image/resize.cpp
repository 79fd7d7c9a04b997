// Two passes of weighted sums, across and then down, bytes in between.
#include "lab/image/resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lab/image/vector_clones.hpp"

namespace sing::image {
namespace {

constexpr int kWeightBits = 32 - 8 - 2;  // as in Pillow: eight of a byte and two to spare
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// A pixel of two rows: three colours and one that is not used of each.
using Lanes = std::int32_t __attribute__((vector_size(32)));
constexpr std::ptrdiff_t kLanes = 8;
constexpr Lanes kHalves = {kHalf, kHalf, kHalf, kHalf, kHalf, kHalf, kHalf, kHalf};

// Weights are not negative and sum to 1 but for their rounding, so that no sum leaves 0 … 255.
constexpr std::uint8_t byte_of(std::int32_t sum) {
  return static_cast<std::uint8_t>(sum >> kWeightBits);
}

struct AxisSums {
  const int* first;
  const int* count;
  const std::int32_t* weights;
  int taps;
  int places;
};

// Compilers turn bytes into lanes one by one; done once a pixel and not once a tap it costs little.
void widen(const std::uint8_t* first, const std::uint8_t* second, int pixels, std::int32_t* lanes) {
  for (int pixel = 0; pixel < pixels; ++pixel, first += 3, second += 3, lanes += kLanes) {
    for (int color = 0; color < 3; ++color) {
      lanes[color] = first[color];
      lanes[color + 4] = second[color];
    }
  }
}

// Two rows, widened, at the destination's width; `step` is −3 to write them from right to left.
SING_VECTOR_CLONES void sum_across(const AxisSums& axis,
                                   const std::int32_t* lanes,
                                   std::uint8_t* first_out,
                                   std::uint8_t* second_out,
                                   std::ptrdiff_t step) {
  for (int place = 0; place < axis.places; ++place, first_out += step, second_out += step) {
    const std::int32_t* const weight = axis.weights + std::ptrdiff_t{place} * axis.taps;
    const std::int32_t* pixel = lanes + kLanes * axis.first[place];
    Lanes sum = kHalves;
    for (int tap = 0; tap < axis.count[place]; ++tap, pixel += kLanes) {
      Lanes values;
      std::memcpy(&values, pixel, sizeof(values));
      sum += values * weight[tap];
    }
    for (int color = 0; color < 3; ++color) {
      first_out[color] = byte_of(sum[color]);
      second_out[color] = byte_of(sum[color + 4]);
    }
  }
}

// One row of the destination from `taps` rows that lie row_bytes apart.
SING_VECTOR_CLONES void sum_down(const std::uint8_t* rows,
                                 std::ptrdiff_t row_bytes,
                                 const std::int32_t* weights,
                                 int taps,
                                 std::uint8_t* out) {
  constexpr std::ptrdiff_t kBlock = 64;  // sums that stay in registers or the nearest cache
  for (std::ptrdiff_t begin = 0; begin < row_bytes; begin += kBlock) {
    const std::ptrdiff_t size = std::min(kBlock, row_bytes - begin);
    std::int32_t sums[kBlock];
    std::fill_n(sums, kBlock, kHalf);
    for (int tap = 0; tap < taps; ++tap) {
      const std::uint8_t* const row = rows + tap * row_bytes + begin;
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        sums[i] += row[i] * weights[tap];
      }
    }
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      out[begin + i] = byte_of(sums[i]);
    }
  }
}

}  // namespace

// The triangle filter of Pillow's precompute_coeffs (libImaging/Resample.c), widened by the scale
// where the image shrinks.
void Resizer::set_axis(Axis& axis, int source, double begin, double end, int places) {
  const double scale = (end - begin) / places;
  const double support = std::max(scale, 1.0);
  axis.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  axis.first.resize(static_cast<std::size_t>(places));
  axis.count.resize(static_cast<std::size_t>(places));
  axis.weights.assign(static_cast<std::size_t>(places) * static_cast<std::size_t>(axis.taps), 0);
  std::vector<double> weights(static_cast<std::size_t>(axis.taps));
  for (int place = 0; place < places; ++place) {
    const double center = begin + (place + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int stop = std::min(source, static_cast<int>(center + support + 0.5));
    double total = 0;
    for (int x = first; x < stop; ++x) {
      const double weight = std::max(0.0, 1.0 - std::abs((x - center + 0.5) * (1.0 / support)));
      weights[static_cast<std::size_t>(x - first)] = weight;
      total += weight;
    }
    axis.first[static_cast<std::size_t>(place)] = first;
    axis.count[static_cast<std::size_t>(place)] = stop - first;
    std::int32_t* const row = axis.weights.data() + std::ptrdiff_t{place} * axis.taps;
    for (int tap = 0; tap < stop - first; ++tap) {
      row[tap] = static_cast<std::int32_t>(0.5 + weights[static_cast<std::size_t>(tap)] / total *
                                                     (1 << kWeightBits));
    }
  }
}

void Resizer::resize(const ImageView& source,
                     const Window& window,
                     ImageSize size,
                     bool mirrored,
                     std::uint8_t* destination) {
  set_axis(across_, source.width, window.left, window.right, size.width);
  set_axis(down_, source.height, window.top, window.bottom, size.height);
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * size.width;
  const int begin = down_.first.front();
  const int end = down_.first.back() + down_.count.back();
  rows_.resize(static_cast<std::size_t>((end - begin) * row_bytes));
  lanes_.resize(static_cast<std::size_t>(kLanes * source.width));
  const auto kept_row = [&](int y) { return rows_.data() + (y - begin) * row_bytes; };
  const AxisSums across{
      across_.first.data(), across_.count.data(), across_.weights.data(), across_.taps, size.width};
  const std::ptrdiff_t start = mirrored ? row_bytes - 3 : 0;
  for (int y = begin; y < end; y += 2) {
    const int next = std::min(y + 1, end - 1);
    widen(source.row(y), source.row(next), source.width, lanes_.data());
    sum_across(
        across, lanes_.data(), kept_row(y) + start, kept_row(next) + start, mirrored ? -3 : 3);
  }
  for (int y = 0; y < size.height; ++y) {
    const auto place = static_cast<std::size_t>(y);
    sum_down(kept_row(down_.first[place]),
             row_bytes,
             down_.weights.data() + std::ptrdiff_t{y} * down_.taps,
             down_.count[place],
             destination + y * row_bytes);
  }
}

}  // namespace sing::image
