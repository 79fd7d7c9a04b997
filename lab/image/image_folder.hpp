// The files of an image folder in ImageNet's layout, and which of them are bad.
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
  std::string path;  // from the root
  std::uint32_t label = 0;
};

// Every file of <root>/train/<class>/ and <root>/val/<class>/ that is not hidden, whatever its
// name. Classes and files in the order of their names' bytes, so that they are the same on every
// machine.
struct ImageFolder {
  std::filesystem::path root;
  std::vector<std::string> classes;
  std::array<std::vector<ListedImage>, 2> images;  // by Split
};

// Throws std::invalid_argument for a missing folder (saying what was looked for), one without
// images, or a class of val/ that train/ does not have.
ImageFolder list_image_folder(const std::filesystem::path& root);

// What becomes of files that are no JPEG, are cut short or damaged.
enum class BadImages : std::int32_t { kRefuse, kSkip };

constexpr auto enum_names(BadImages) {
  return std::to_array<EnumName<BadImages>>(
      {{BadImages::kRefuse, "refuse"}, {BadImages::kSkip, "skip"}});
}

// Throws FileError naming the first of the bad images; none: nothing happens.
void refuse_bad_images(const std::vector<std::string>& messages);

// Reads every file, about a millisecond each on a core. Bad ones leave the folder's list under
// kSkip, and what is wrong with each is returned; under kRefuse FileError names them.
std::vector<std::string> drop_bad_images(ImageFolder& folder, BadImages policy, int threads);

}  // namespace sing::lab::image
