// Splits the records of CIFAR-100 files into labels and pixels.
#include "lab/cifar100/cifar100_files.hpp"

#include <array>

#include "lab/data/packed_file.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::cifar100 {
namespace {

constexpr std::array<image::OfficialFile, 2> kFiles = {
    {{"train.bin", 153'700'000, "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
     {"test.bin", 30'740'000, "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"}}};

constexpr std::size_t kLabels = 2;  // coarse, fine

image::SmallSubset read_subset(const std::filesystem::path& path, std::uint64_t bytes) {
  const std::vector<std::uint8_t> content = data::read_packed(path, bytes);
  if (content.size() != bytes) {
    throw FileError(fmt::format(
        "[cifar100] '{}': wanted {} bytes, got {}; `sing data cifar100 --from` says more",
        path.string(), bytes, content.size()));
  }
  const auto values = static_cast<std::size_t>(kShape.values());
  image::SmallSubset subset;
  subset.pixels.reserve(content.size());
  for (std::size_t place = 0; place < content.size(); place += kLabels + values) {
    const std::uint8_t label = content[place + 1];
    if (label >= kShape.classes) {
      throw FileError(fmt::format("[cifar100] '{}': wanted fine labels below {}, got {}",
                                  path.string(), kShape.classes, int{label}));
    }
    subset.labels.push_back(label);
    const auto first = content.begin() + static_cast<std::ptrdiff_t>(place + kLabels);
    subset.pixels.insert(subset.pixels.end(), first, first + static_cast<std::ptrdiff_t>(values));
  }
  return subset;
}

}  // namespace

const image::OfficialSet& official_set() {
  static constexpr image::OfficialSet kSet = {
      "cifar100", "CIFAR-100, binary version (Krizhevsky 2009)", kFiles};
  return kSet;
}

image::SmallSet read_set(const std::filesystem::path& folder) {
  const auto paths = image::find_files(official_set(), folder);
  return {kShape, {read_subset(paths[0], kFiles[0].bytes), read_subset(paths[1], kFiles[1].bytes)}};
}

}  // namespace sing::lab::cifar100
