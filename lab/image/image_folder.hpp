// Lists the files of an image folder in ImageNet's layout and finds bad images among them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lab/image/image_source.hpp"
#include "sing/base/enum_names.hpp"

namespace sing::lab::image {

struct ListedImage {
  std::string path;  // relative to the root
  std::uint32_t label = 0;
};

// Every file of <root>/train/<class>/ and <root>/val/<class>/ that is not hidden, whatever its
// name. Classes and files are sorted by the bytes of their names, so that the order is the same on
// every machine.
struct ImageFolder {
  std::filesystem::path root;
  std::vector<std::string> classes;
  std::array<std::vector<ListedImage>, 2> images;  // indexed by Split
};

// Throws std::invalid_argument if a folder is missing (naming the expected path) or has no images,
// or if val/ has a class that train/ does not have.
ImageFolder list_image_folder(const std::filesystem::path& root);

// Policy for files that are neither JPEG nor PNG, truncated or corrupt.
enum class BadImages : std::int32_t { kRefuse, kSkip };

constexpr auto enum_names(BadImages) {
  return std::to_array<EnumName<BadImages>>(
      {{BadImages::kRefuse, "refuse"}, {BadImages::kSkip, "skip"}});
}

// Throws FileError that names the first bad images; does nothing if there are none.
void refuse_bad_images(const std::vector<std::string>& messages);

// Reads every file, about one millisecond per file on one core. kSkip removes bad images from the
// folder's list and returns one message for each; kRefuse throws FileError that names them.
std::vector<std::string> drop_bad_images(ImageFolder& folder, BadImages policy, int threads);

}  // namespace sing::lab::image
