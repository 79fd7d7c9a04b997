// Augments a batch of small images in one kernel. Each thread computes all channels of one pixel.
#include "lab/fused/pack.cuh"
#include "lab/image/augment_kernel.hpp"
#include "lab/image/place_bits.hpp"

namespace sing::lab::image {
namespace {

constexpr int kThreads = 128;

struct Source {
  const std::uint8_t* image;  // [channels, size, size]
  int size, origin_x, origin_y;
  bool mirrored;

  // Index within a channel of the pixel at (x, y) of the crop, or −1 for black.
  __device__ int place(int x, int y) const {
    const auto inside = [this](int at) { return at >= 0 && at < size; };
    const int image_x = (mirrored ? size - 1 - x : x) + origin_x;
    const int image_y = y + origin_y;
    const bool seen = inside(x) && inside(y) && inside(image_x) && inside(image_y);
    return seen ? image_y * size + image_x : -1;
  }

  __device__ int value(int channel, int place) const {
    return place < 0 ? 0 : image[channel * size * size + place];
  }
};

// Rounds twice: the intrinsics keep the compiler from fusing the two operations.
__device__ float normalized(float value, float mean, float scale) {
  return __fmul_rn(__fsub_rn(value, mean), scale);
}

__global__ void make_pixels(AugmentedBatch batch) {
  const int pixels = batch.size * batch.size;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= batch.count * pixels) {
    return;
  }
  const std::int32_t* const row = batch.rows + at / pixels * kColumns;
  const int within = static_cast<int>(at % pixels);
  const int x = within % batch.size;
  const int y = within / batch.size;
  const Source source{batch.pixels + std::int64_t{row[kIndex]} * batch.channels * pixels,
                      batch.size, row[kOriginX], row[kOriginY], row[kMirrored] != 0};
  float* const image = batch.images + at * batch.channels;
  if (!batch.rotates) {
    const int place = source.place(x, y);
    for (int channel = 0; channel < batch.channels; ++channel) {
      image[channel] = normalized(static_cast<float>(source.value(channel, place)),
                                  batch.mean[channel], batch.scale[channel]);
    }
    return;
  }
  const int from_middle_x = 2 * x - (batch.size - 1);
  const int from_middle_y = 2 * y - (batch.size - 1);
  const int cosine = row[kCosine];
  const int sine = row[kSine];
  const int middle = doubled_middle(batch.size);
  const int turned_x = (cosine * from_middle_x - sine * from_middle_y + middle) >> kDroppedBits;
  const int turned_y = (sine * from_middle_x + cosine * from_middle_y + middle) >> kDroppedBits;
  const int left = turned_x >> kPlaceBits;
  const int top = turned_y >> kPlaceBits;
  const int right_weight = turned_x - left * kPlaceUnit;
  const int bottom_weight = turned_y - top * kPlaceUnit;
  int places[4], weights[4];
  for (int corner = 0; corner < 4; ++corner) {
    const int right = corner % 2;
    const int down = corner / 2;
    places[corner] = source.place(left + right, top + down);
    weights[corner] = (down == 1 ? bottom_weight : kPlaceUnit - bottom_weight) *
                      (right == 1 ? right_weight : kPlaceUnit - right_weight);
  }
  for (int channel = 0; channel < batch.channels; ++channel) {
    int sum = 0;
    for (int corner = 0; corner < 4; ++corner) {
      sum += source.value(channel, places[corner]) * weights[corner];
    }
    const float value = __fmul_rn(static_cast<float>(sum), 1.0f / (kPlaceUnit * kPlaceUnit));
    image[channel] = normalized(value, batch.mean[channel], batch.scale[channel]);
  }
}

}  // namespace

void augment(const AugmentedBatch& batch, fused::Stream stream) {
  const std::int64_t pixels = batch.count * batch.size * batch.size;
  const auto blocks = static_cast<unsigned>((pixels + kThreads - 1) / kThreads);
  make_pixels<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(batch);
  fused::check_launch("augment");
}

}  // namespace sing::lab::image
