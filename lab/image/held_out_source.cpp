// Shows a part of an image source's training images as its test images.
#include <utility>

#include "lab/image/hold_out.hpp"
#include "lab/image/image_sources.hpp"

namespace sing::lab::image {
namespace {

class HeldOutSource final : public ImageSource {
 public:
  explicit HeldOutSource(std::unique_ptr<ImageSource> whole)
      : whole_(std::move(whole)),
        split_(hold_out(static_cast<std::int64_t>(whole_->count(Split::kTraining)))) {}

  const std::vector<std::string>& classes() const override { return whole_->classes(); }
  std::size_t count(Split subset) const override { return places(subset).size(); }
  std::uint32_t label(Split subset, std::size_t index) const override {
    return whole_->label(Split::kTraining, places(subset)[index]);
  }
  std::string name(Split subset, std::size_t index) const override {
    return whole_->name(Split::kTraining, places(subset)[index]);
  }
  StoredImage fetch(Split subset, std::size_t index,
                    std::vector<std::byte>& buffer) const override {
    return whole_->fetch(Split::kTraining, places(subset)[index], buffer);
  }
  std::string digest() const override { return whole_->digest(); }

 private:
  const std::vector<std::uint64_t>& places(Split subset) const {
    return subset == Split::kTraining ? split_.kept : split_.held;
  }

  std::unique_ptr<ImageSource> whole_;
  HoldOut split_;
};

}  // namespace

std::unique_ptr<ImageSource> make_held_out_source(std::unique_ptr<ImageSource> whole) {
  return std::make_unique<HeldOutSource>(std::move(whole));
}

}  // namespace sing::lab::image
