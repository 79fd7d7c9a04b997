// Encodes bytes as text that a page can contain.
#pragma once

#include <string>
#include <string_view>

namespace sing::lab::page {

// Uses RFC 4648, section 4, with padding.
std::string base64(std::string_view bytes);

}  // namespace sing::lab::page
