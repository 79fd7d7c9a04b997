// Augments small images with tensor functions, interpolating between four neighbors per pixel.
#include "lab/image/augment.hpp"

#include <torch/torch.h>

#include "lab/fused/kernel_arguments.hpp"
#include "lab/image/augment_kernel.hpp"
#include "lab/image/place_bits.hpp"

namespace sing::lab::image {
namespace {

// One corner of the interpolation: reads the source pixels at (x, y) of the crop, flipped if
// `mirrored` is 1, and 0 outside the crop or the image. Arguments are int32 [B, S·S]; the result is
// [B, C, S·S].
struct Corners {
  const at::Tensor& pixels;  // uint8 [B, C, S·S]
  std::int64_t size;
  at::Tensor origin_x, origin_y, mirrored;  // [B, 1]

  at::Tensor at_places(const at::Tensor& x, const at::Tensor& y) const {
    const auto inside = [&](const at::Tensor& place) {
      return (place >= 0).logical_and(place < size);
    };
    // Products with 0 and 1 replace at::where, whose scalars a CUDA graph cannot copy.
    const at::Tensor image_x = x + mirrored * (size - 1 - 2 * x) + origin_x;
    const at::Tensor image_y = y + origin_y;
    const at::Tensor seen =
        inside(x).logical_and(inside(y)).logical_and(inside(image_x).logical_and(inside(image_y)));
    const at::Tensor place = ((image_y * size + image_x) * seen).to(at::kLong);
    const at::Tensor found =
        pixels.gather(2, place.unsqueeze(1).expand({-1, pixels.size(1), -1})).to(at::kInt);
    return found * seen.unsqueeze(1);
  }
};

}  // namespace

Augmenter::Augmenter(const Normalization& normalization, std::int64_t size, bool rotates,
                     at::Device device)
    : size_(size), rotates_(rotates), normalizer_(normalization, device) {
  const at::Tensor axis = ::torch::arange(size, at::TensorOptions(device).dtype(at::kInt));
  columns_ = axis.repeat({size}).unsqueeze(0);
  rows_ = axis.repeat_interleave(size).unsqueeze(0);
}

at::Tensor Augmenter::operator()(const at::Tensor& pixels, const at::Tensor& rows) const {
  return pixels.is_cuda() ? in_one_kernel(pixels, rows) : in_tensor_functions(pixels, rows);
}

at::Tensor Augmenter::in_one_kernel(const at::Tensor& pixels, const at::Tensor& rows) const {
  const at::Tensor images =
      at::empty({rows.size(0), size_, size_, pixels.size(1)}, pixels.options().dtype(at::kFloat));
  augment({.pixels = pixels.const_data_ptr<std::uint8_t>(),
           .rows = rows.const_data_ptr<std::int32_t>(),
           .mean = normalizer_.mean().const_data_ptr<float>(),
           .scale = normalizer_.scale().const_data_ptr<float>(),
           .images = images.mutable_data_ptr<float>(),
           .count = rows.size(0),
           .channels = static_cast<int>(pixels.size(1)),
           .size = static_cast<int>(size_),
           .rotates = rotates_},
          fused::stream_of(pixels));
  return images.permute({0, 3, 1, 2});
}

at::Tensor Augmenter::in_tensor_functions(const at::Tensor& pixels, const at::Tensor& rows) const {
  const at::Tensor chosen = pixels.flatten(2).index_select(0, rows.select(1, kIndex));
  const auto column = [&](AugmentColumn which) {
    return rows.slice(1, static_cast<std::int64_t>(which), static_cast<std::int64_t>(which) + 1);
  };
  const Corners corners{chosen, size_, column(kOriginX), column(kOriginY), column(kMirrored)};
  const auto shaped = [&](const at::Tensor& values) {
    return values.view({rows.size(0), pixels.size(1), size_, size_});
  };
  if (!rotates_) {
    const at::Tensor x = columns_.expand({rows.size(0), -1});
    const at::Tensor y = rows_.expand({rows.size(0), -1});
    return normalizer_.normalized(shaped(corners.at_places(x, y)));
  }
  // Twice the distance from the center is an integer. The source is found by the inverse rotation.
  const at::Tensor from_middle_x = 2 * columns_ - (size_ - 1);
  const at::Tensor from_middle_y = 2 * rows_ - (size_ - 1);
  const at::Tensor cosine = column(kCosine);
  const at::Tensor sine = column(kSine);
  const auto source = [&](const at::Tensor& doubled) {
    return at::bitwise_right_shift(doubled + doubled_middle(static_cast<int>(size_)), kDroppedBits);
  };
  const at::Tensor x = source(cosine * from_middle_x - sine * from_middle_y);
  const at::Tensor y = source(sine * from_middle_x + cosine * from_middle_y);
  const at::Tensor left = at::bitwise_right_shift(x, kPlaceBits);
  const at::Tensor top = at::bitwise_right_shift(y, kPlaceBits);
  const at::Tensor right_weight = x - left * kPlaceUnit;
  const at::Tensor bottom_weight = y - top * kPlaceUnit;
  at::Tensor sum;
  for (const std::int64_t down : {0, 1}) {
    const at::Tensor row_weight = down == 1 ? bottom_weight : kPlaceUnit - bottom_weight;
    for (const std::int64_t right : {0, 1}) {
      const at::Tensor weight =
          row_weight * (right == 1 ? right_weight : kPlaceUnit - right_weight);
      const at::Tensor part = corners.at_places(left + right, top + down) * weight.unsqueeze(1);
      sum = sum.defined() ? sum + part : part;
    }
  }
  return normalizer_.normalized(shaped(sum.to(at::kFloat) * (1.0 / (kPlaceUnit * kPlaceUnit))));
}

}  // namespace sing::lab::image
