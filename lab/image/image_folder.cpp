// Lists and checks the image files of a folder.
#include "lab/image/image_folder.hpp"

#include <algorithm>
#include <optional>

#include "lab/data/mapped_file.hpp"
#include "lab/data/parallel_chunks.hpp"
#include "lab/image/jpeg_decoder.hpp"
#include "lab/image/png_decoder.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::image {
namespace {

constexpr std::array<const char*, 2> kSubsetFolders = {"train", "val"};
constexpr std::size_t kNamedImages = 10;

bool is_hidden(const std::filesystem::path& path) {
  return path.filename().string().starts_with('.');
}

// An entry that cannot be followed, such as a symbolic link to itself, counts as a file: reading it
// then fails with its name, and the policy for bad images applies.
std::vector<std::string> names_in(const std::filesystem::path& folder, bool folders) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code ignored;
    if (!is_hidden(entry.path()) && entry.is_directory(ignored) == folders) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<ListedImage> list_subset(const ImageFolder& folder, const char* subset) {
  std::vector<ListedImage> images;
  for (const std::string& name : names_in(folder.root / subset, /*folders=*/true)) {
    const auto found = std::lower_bound(folder.classes.begin(), folder.classes.end(), name);
    SING_CHECK(found != folder.classes.end() && *found == name,
               "[images] '{}': wanted a class that train/ also has",
               (folder.root / subset / name).string());
    const auto label = static_cast<std::uint32_t>(found - folder.classes.begin());
    const std::string prefix = std::string(subset) + "/" + name + "/";
    for (const std::string& file : names_in(folder.root / subset / name, /*folders=*/false)) {
      images.push_back({prefix + file, label});
    }
  }
  SING_CHECK(!images.empty(), "[images] '{}': wanted images in one folder per class, got none",
             (folder.root / subset).string());
  return images;
}

}  // namespace

ImageFolder list_image_folder(const std::filesystem::path& root) {
  for (const char* const subset : kSubsetFolders) {
    SING_CHECK(
        std::filesystem::is_directory(root / subset),
        "[images] wanted the folder '{}' with one folder of JPEG or PNG files per class, got none",
        (root / subset).string());
  }
  ImageFolder folder{root, names_in(root / kSubsetFolders[0], /*folders=*/true), {}};
  for (std::size_t subset = 0; subset < kSubsetFolders.size(); ++subset) {
    folder.images[subset] = list_subset(folder, kSubsetFolders[subset]);
  }
  return folder;
}

void refuse_bad_images(const std::vector<std::string>& messages) {
  if (messages.empty()) {
    return;
  }
  std::string text = fmt::format(
      "[images] wanted complete JPEG or PNG files (or --bad-images skip), got {} that are not:",
      messages.size());
  for (std::size_t i = 0; i < std::min(messages.size(), kNamedImages); ++i) {
    text += "\n  " + messages[i];
  }
  if (messages.size() > kNamedImages) {
    text += fmt::format("\n  and {} more", messages.size() - kNamedImages);
  }
  throw FileError(text);
}

std::vector<std::string> drop_bad_images(ImageFolder& folder, BadImages policy, int threads) {
  constexpr std::size_t kChunk = 32;
  struct Decoders {
    JpegDecoder jpeg;
    RgbImage png;
  };
  std::vector<Decoders> decoders(static_cast<std::size_t>(threads));
  std::vector<std::string> messages;
  for (std::vector<ListedImage>& images : folder.images) {
    std::vector<std::string> wrong(images.size());
    data::for_each_chunk(threads, images.size(), kChunk,
                         [&](std::size_t begin, std::size_t end, int worker) {
                           auto& [jpeg, png] = decoders[static_cast<std::size_t>(worker)];
                           for (std::size_t i = begin; i < end; ++i) {
                             try {
                               const data::MappedFile file(folder.root / images[i].path);
                               if (is_png(file.bytes())) {
                                 decode_png(file.bytes(), images[i].path, png);
                               } else {
                                 jpeg.open(file.bytes(), images[i].path);
                                 jpeg.check();
                               }
                             } catch (const FileError& problem) {
                               wrong[i] = problem.what();
                             }
                           }
                         });
    std::size_t index = 0;
    std::erase_if(images, [&](const ListedImage&) { return !wrong[index++].empty(); });
    std::erase(wrong, "");
    messages.insert(messages.end(), wrong.begin(), wrong.end());
  }
  if (policy == BadImages::kRefuse) {
    refuse_bad_images(messages);
  }
  return messages;
}

}  // namespace sing::lab::image
