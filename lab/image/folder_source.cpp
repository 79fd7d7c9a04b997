// Reads images from the files of a folder.
#include <fstream>
#include <system_error>
#include <utility>

#include "lab/data/sha256.hpp"
#include "lab/image/image_sources.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

class FolderSource final : public ImageSource {
 public:
  explicit FolderSource(ImageFolder folder) : folder_(std::move(folder)) {}

  const std::vector<std::string>& classes() const override { return folder_.classes; }
  std::size_t count(Split subset) const override { return images(subset).size(); }
  std::uint32_t label(Split subset, std::size_t index) const override {
    return images(subset)[index].label;
  }
  std::string name(Split subset, std::size_t index) const override {
    return images(subset)[index].path;
  }

  StoredImage fetch(Split subset, std::size_t index,
                    std::vector<std::byte>& buffer) const override {
    const std::filesystem::path path = folder_.root / images(subset)[index].path;
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    const auto size = stream.good() ? static_cast<std::streamoff>(stream.tellg()) : 0;
    buffer.resize(static_cast<std::size_t>(size));
    stream.seekg(0);
    if (!stream.read(reinterpret_cast<char*>(buffer.data()), size)) {
      throw FileError(fmt::format("[images] '{}': cannot read it", path.string()));
    }
    return {buffer, Encoding::kJpeg, {}};
  }

  // Hashes names and sizes only, because reading the bytes of all files takes long.
  std::string digest() const override {
    data::Sha256 hash;
    for (const std::vector<ListedImage>& subset : folder_.images) {
      for (const ListedImage& image : subset) {
        std::error_code unreadable;  // fetch() reports the error when the image is read
        const std::string line =
            fmt::format("{}{}{}{}", image.path, '\n',
                        std::filesystem::file_size(folder_.root / image.path, unreadable), '\n');
        hash.add(std::as_bytes(std::span(line)));
      }
    }
    return data::hexadecimal(hash.digest());
  }

 private:
  const std::vector<ListedImage>& images(Split subset) const {
    return folder_.images[static_cast<std::size_t>(subset)];
  }

  ImageFolder folder_;
};

}  // namespace

std::unique_ptr<ImageSource> make_folder_source(ImageFolder folder) {
  return std::make_unique<FolderSource>(std::move(folder));
}

}  // namespace sing::lab::image
