// Declares the image sources: a folder, a set in memory, a pack file.
#pragma once

#include <filesystem>
#include <memory>

#include "lab/image/image_folder.hpp"
#include "lab/image/image_source.hpp"
#include "lab/image/small_images.hpp"

namespace sing::lab::image {

// Reads the listed files of a folder, without the dropped bad images.
std::unique_ptr<ImageSource> make_folder_source(ImageFolder folder);

// Holds raw images with three channels; the class names are the class numbers.
std::unique_ptr<ImageSource> make_memory_source(const SmallSet& set);

// Shows a tenth of the training images of another source as its test images, and the other training
// images as its training images (hold_out).
std::unique_ptr<ImageSource> make_held_out_source(std::unique_ptr<ImageSource> whole);

// Maps a pack into memory. Throws FileError if the file is not a pack, is truncated, has another
// version or a corrupt index. The images' bytes are not read; check_pack reads them.
std::unique_ptr<ImageSource> open_pack(const std::filesystem::path& path);

// Compares every image with its checksum; throws FileError that names the first one that differs.
void check_pack(const std::filesystem::path& path);

}  // namespace sing::lab::image
