// The sources of images: a folder, a set in memory, a pack file.
#pragma once

#include <filesystem>
#include <memory>

#include "lab/image/image_folder.hpp"
#include "lab/image/image_source.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// The files of a folder as listed, bad images dropped.
std::unique_ptr<ImageSource> make_folder_source(ImageFolder folder);

// Raw images of three channels; classes are named by their numbers.
std::unique_ptr<ImageSource> make_memory_source(const SmallSet& set);

// A pack, mapped into memory. Throws FileError for a file that is no pack, is cut short, has
// another version or a damaged index. The images' bytes are not read; check_pack does that.
std::unique_ptr<ImageSource> open_pack(const std::filesystem::path& path);

// Compares every image with its checksum; throws FileError naming the first that differs.
void check_pack(const std::filesystem::path& path);

}  // namespace sing::lab::image
