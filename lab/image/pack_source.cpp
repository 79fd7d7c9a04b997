// Reads a pack file and checks its index.
#include <array>
#include <cstring>
#include <utility>

#include "lab/data/mapped_file.hpp"
#include "lab/image/image_sources.hpp"
#include "lab/image/pack_format.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

class PackSource final : public ImageSource {
 public:
  explicit PackSource(const std::filesystem::path& path) : file_(path) {
    const auto bytes = file_.bytes();
    require(bytes.size() >= sizeof(PackHeader) + sizeof(PackFooter), "it is too short");
    const auto header = copied<PackHeader>(0);
    require(header.begin == kPackBegin, "it does not begin as one");
    require(header.version == kPackVersion,
            fmt::format("wanted version {}, got {}", kPackVersion, header.version));
    const auto footer = copied<PackFooter>(bytes.size() - sizeof(PackFooter));
    require(footer.end == kPackEnd, "it is truncated");
    const std::uint64_t index_end = bytes.size() - sizeof(PackFooter);
    require(footer.index_offset >= sizeof(PackHeader) && footer.index_offset <= index_end &&
                footer.index_bytes == index_end - footer.index_offset,
            "its index lies outside it");
    const auto index = bytes.subspan(footer.index_offset, footer.index_bytes);
    require(data::sha256(index) == footer.index_digest, "its index is damaged");
    index_digest_ = footer.index_digest;
    read_index(footer.index_offset, index_end);
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  std::size_t count(Split subset) const override {
    return counts_[static_cast<std::size_t>(subset)];
  }
  std::uint32_t label(Split subset, std::size_t index) const override {
    return entry(subset, index).label;
  }
  std::string name(Split subset, std::size_t index) const override {
    return fmt::format("{}{}{}, class {}", file_.name(),
                       subset == Split::kTraining ? ": training image " : ": test image ", index,
                       classes_[label(subset, index)]);
  }
  StoredImage fetch(Split subset, std::size_t index,
                    std::vector<std::byte>& /*buffer*/) const override {
    const PackEntry& found = entry(subset, index);
    return {file_.bytes().subspan(found.offset, found.bytes),
            static_cast<Encoding>(found.encoding),
            {found.width, found.height}};
  }

  // The index contains the checksum of every image.
  std::string digest() const override { return data::hexadecimal(index_digest_); }

  void check() const {
    for (const Split subset : {Split::kTraining, Split::kTest}) {
      for (std::size_t index = 0; index < count(subset); ++index) {
        const PackEntry& found = entry(subset, index);
        if (checksum_of(file_.bytes().subspan(found.offset, found.bytes)) != found.checksum) {
          throw FileError(fmt::format("[pack] '{}': wanted the checksum in the index, got another",
                                      name(subset, index)));
        }
      }
    }
  }

 private:
  void require(bool condition, const std::string& otherwise) const {
    if (!condition) {
      throw FileError(
          fmt::format("[pack] '{}': wanted a complete pack file: {}", file_.name(), otherwise));
    }
  }

  template <class Value>
  Value copied(std::uint64_t offset) const {
    Value value;
    std::memcpy(&value, file_.bytes().data() + offset, sizeof(Value));
    return value;
  }

  void read_index(std::uint64_t place, std::uint64_t end) {
    const auto take = [&](std::uint64_t bytes) {
      require(bytes <= end - place, "its index ends too early");
      return std::exchange(place, place + bytes);
    };
    const auto class_count = copied<std::uint32_t>(take(4));
    require(class_count <= (end - place) / 4, "its index ends too early");
    classes_.resize(class_count);
    for (std::string& each : classes_) {
      const auto length = copied<std::uint32_t>(take(4));
      each.assign(reinterpret_cast<const char*>(file_.bytes().data() + take(length)), length);
    }
    for (std::uint64_t& count : counts_) {
      count = copied<std::uint64_t>(take(8));
      require(count <= file_.bytes().size(), "its counts are too large");
    }
    entries_.resize(counts_[0] + counts_[1]);
    const std::uint64_t bytes = entries_.size() * sizeof(PackEntry);
    const std::uint64_t first = take(bytes);
    require(place == end, "its index is too long");
    if (bytes > 0) {
      std::memcpy(entries_.data(), file_.bytes().data() + first, bytes);
    }
    for (const PackEntry& each : entries_) {
      check(each);
    }
  }

  void check(const PackEntry& each) const {
    const std::uint64_t size = file_.bytes().size();
    require(each.offset <= size && each.bytes <= size - each.offset, "an image lies outside it");
    require(each.label < classes_.size(), "an image has a class that it does not list");
    require(each.width > 0 && each.height > 0, "an image is empty");
    const bool is_raw = each.encoding == static_cast<std::uint32_t>(Encoding::kRaw);
    require(is_raw || each.encoding == static_cast<std::uint32_t>(Encoding::kJpeg),
            "an image has an encoding that is not known");
    require(!is_raw || each.bytes == std::uint64_t{3} * each.width * each.height,
            "an image's bytes do not fit its size");
  }

  const PackEntry& entry(Split subset, std::size_t index) const {
    return entries_[subset == Split::kTraining ? index : counts_[0] + index];
  }

  data::MappedFile file_;
  std::vector<std::string> classes_;
  std::array<std::uint64_t, 2> counts_{};
  std::vector<PackEntry> entries_;
  data::Digest index_digest_{};
};

}  // namespace

std::unique_ptr<ImageSource> open_pack(const std::filesystem::path& path) {
  return std::make_unique<PackSource>(path);
}

void check_pack(const std::filesystem::path& path) { PackSource(path).check(); }

}  // namespace sing::lab::image
