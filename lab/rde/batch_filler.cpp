// Fills batches of RDE images, a few images at a time per thread.
#include "lab/rde/batch_filler.hpp"

#include <algorithm>

#include "lab/data/parallel_chunks.hpp"
#include "lab/rde/generator.hpp"
#include "lab/rde/render.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::rde {
namespace {

int checked(int threads) {
  SING_CHECK(threads >= 1, "[rde] wanted at least 1 thread, got {}", threads);
  return threads;
}

template <class Element>
Element* place_of(Element* first, std::size_t place, std::size_t elements) {
  return first == nullptr ? nullptr : first + place * elements;
}

}  // namespace

BatchFiller::BatchFiller(const RdeOptions& options, std::uint64_t seed, int threads)
    : options_(options), seed_(seed), threads_(checked(threads)) {
  check(options_);
}

void BatchFiller::fill(std::span<const std::uint64_t> indices, const BatchBuffers& buffers) {
  // Small enough to balance the attempts per image, large enough not to share cache lines.
  constexpr std::size_t kChunk = 4;
  data::for_each_chunk(threads_, indices.size(), kChunk,
                       [&](std::size_t begin, std::size_t end, int /*worker*/) {
                         for (std::size_t place = begin; place < end; ++place) {
                           fill_one(indices[place], place, buffers);
                         }
                       });
}

void BatchFiller::fill_one(std::uint64_t index, std::size_t place,
                           const BatchBuffers& buffers) const {
  const Scene scene = make_scene(options_, seed_, index);
  const auto size = static_cast<std::size_t>(options_.image_size);
  const auto pixels = size * size;
  render(scene, {.image = place_of(buffers.images, place, pixels),
                 .target = place_of(buffers.targets, place, pixels),
                 .rectangle = place_of(buffers.rectangles, place, pixels)});
  const auto entries = static_cast<std::size_t>(scene.count) + 1;
  if (buffers.greys != nullptr) {
    std::copy_n(scene.greys.begin(), entries, buffers.greys + place * entries);
  }
  if (buffers.levels != nullptr) {
    for (std::size_t k = 0; k < entries; ++k) {
      buffers.levels[place * entries + k] = target_of(scene, k);
    }
  }
}

}  // namespace sing::lab::rde
