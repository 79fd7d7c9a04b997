// Draws the held-out images.
#include "lab/image/hold_out.hpp"

#include <algorithm>

#include "lab/random/shuffled.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

constexpr std::uint32_t kHoldOutPurpose = 4;
constexpr std::int64_t kHeldPart = 10;  // one image in ten

}  // namespace

HoldOut hold_out(std::int64_t count) {
  SING_CHECK(count >= 2, "[images] wanted at least 2 training images to hold some out, got {}",
             count);
  const std::vector<std::uint64_t> order =
      random::shuffled(count, random::RandomStream(0, 0, kHoldOutPurpose));
  const std::int64_t held = std::max<std::int64_t>(1, count / kHeldPart);
  HoldOut split{{order.begin(), order.end() - held}, {order.end() - held, order.end()}};
  std::sort(split.kept.begin(), split.kept.end());
  std::sort(split.held.begin(), split.held.end());
  return split;
}

}  // namespace sing::lab::image
