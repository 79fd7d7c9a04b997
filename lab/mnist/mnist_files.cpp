// Reads idx files: the first big-endian word gives the type (0x08: bytes) and the number of axes.
#include "lab/mnist/mnist_files.hpp"

#include <array>
#include <utility>

#include "lab/data/packed_file.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::mnist {
namespace {

constexpr std::array<image::OfficialFile, 4> kFiles = {
    {{"train-images-idx3-ubyte", 47'040'016,
      "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
     {"train-labels-idx1-ubyte", 60'008,
      "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
     {"t10k-images-idx3-ubyte", 7'840'016,
      "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
     {"t10k-labels-idx1-ubyte", 10'008,
      "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}}};

// Returns the values after the header, whose axes must be a count followed by `inner`.
std::vector<std::uint8_t> read_idx(const std::filesystem::path& path, std::uint64_t most_bytes,
                                   const std::vector<std::uint32_t>& inner) {
  std::vector<std::uint8_t> content = data::read_packed(path, most_bytes);
  const auto require = [&](bool condition, const std::string& otherwise) {
    if (!condition) {
      throw FileError(fmt::format("[mnist] '{}': {}", path.string(), otherwise));
    }
  };
  const std::size_t axes = inner.size() + 1;
  const std::size_t header = 4 * (axes + 1);
  require(content.size() >= header, "wanted an idx header, got less");
  const auto word = [&](std::size_t place) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8 | content[4 * place + i];
    }
    return value;
  };
  require(word(0) == (0x0800 | axes),
          fmt::format("wanted an idx file of bytes with {} axes", axes));
  std::uint64_t values = word(1);
  for (std::size_t axis = 0; axis < inner.size(); ++axis) {
    require(word(2 + axis) == inner[axis],
            fmt::format("wanted {} pixels per side, got {}", inner[axis], word(2 + axis)));
    values *= inner[axis];
  }
  require(content.size() - header == values,
          fmt::format("wanted {} values, got {}", values, content.size() - header));
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(header));
  return content;
}

image::SmallSubset read_subset(const std::filesystem::path& images,
                               const std::filesystem::path& labels) {
  const auto side = static_cast<std::uint32_t>(kShape.size);
  image::SmallSubset subset{read_idx(images, kFiles[0].bytes, {side, side}),
                            read_idx(labels, kFiles[1].bytes, {})};
  const bool same_count =
      subset.pixels.size() == subset.labels.size() * static_cast<std::size_t>(kShape.values());
  for (const std::uint8_t label : subset.labels) {
    if (!same_count || label >= kShape.classes) {
      throw FileError(fmt::format("[mnist] '{}': wanted a label below {} for each image",
                                  labels.string(), kShape.classes));
    }
  }
  return subset;
}

}  // namespace

const image::OfficialSet& official_set() {
  static constexpr image::OfficialSet kSet = {"mnist", "MNIST (LeCun, Cortes and Burges 1998)",
                                              kFiles};
  return kSet;
}

image::SmallSet read_set(const std::filesystem::path& folder) {
  const auto paths = image::find_files(official_set(), folder);
  return {kShape, {read_subset(paths[0], paths[1]), read_subset(paths[2], paths[3])}};
}

}  // namespace sing::lab::mnist
