// Bytes as text that a page can carry.
#pragma once

#include <string>
#include <string_view>

namespace sing::lab::page {

// RFC 4648, section 4, padded.
std::string base64(std::string_view bytes);

}  // namespace sing::lab::page
