// Images straight from the files of a folder.
#pragma once

#include <memory>

#include "lab/image/image_folder.hpp"

namespace sing::lab::image {

// The folder as listed, bad images dropped.
std::unique_ptr<ImageSource> make_folder_source(ImageFolder folder);

}  // namespace sing::lab::image
