// Serves images from memory, converted from color planes to pixels.
#include "lab/image/image_sources.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

class MemorySource final : public ImageSource {
 public:
  explicit MemorySource(const SmallSet& set) : shape_(set.shape) {
    SING_CHECK(shape_.channels == 3, "[images] wanted 3 channels, got {}", shape_.channels);
    for (std::int64_t label = 0; label < shape_.classes; ++label) {
      classes_.push_back(std::to_string(label));
    }
    const auto plane = static_cast<std::size_t>(shape_.size * shape_.size);
    for (std::size_t subset = 0; subset < set.subsets.size(); ++subset) {
      const SmallSubset& from = set.subsets[subset];
      labels_[subset] = from.labels;
      pixels_[subset].resize(from.pixels.size());
      for (std::size_t value = 0; value < from.pixels.size(); ++value) {
        const std::size_t image = value / (3 * plane);
        const std::size_t channel = value / plane % 3;
        pixels_[subset][3 * (image * plane + value % plane) + channel] = from.pixels[value];
      }
    }
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  std::size_t count(Split subset) const override { return labels_[at(subset)].size(); }
  std::uint32_t label(Split subset, std::size_t index) const override {
    return labels_[at(subset)][index];
  }
  std::string name(Split /*subset*/, std::size_t index) const override {
    return "generated image " + std::to_string(index);
  }
  StoredImage fetch(Split subset, std::size_t index,
                    std::vector<std::byte>& /*buffer*/) const override {
    const auto bytes = static_cast<std::size_t>(shape_.values());
    const int size = static_cast<int>(shape_.size);
    return {std::as_bytes(std::span(pixels_[at(subset)]).subspan(index * bytes, bytes)),
            Encoding::kRaw,
            {size, size}};
  }

 private:
  static std::size_t at(Split subset) { return static_cast<std::size_t>(subset); }

  SmallShape shape_;
  std::vector<std::string> classes_;
  std::array<std::vector<std::uint8_t>, 2> labels_;
  std::array<std::vector<std::uint8_t>, 2> pixels_;  // [N, size, size, 3]
};

}  // namespace

std::unique_ptr<ImageSource> make_memory_source(const SmallSet& set) {
  return std::make_unique<MemorySource>(set);
}

}  // namespace sing::lab::image
