// Declares the library that draws the charts of pages: dygraphs (MIT license).
#pragma once

#include <string_view>

namespace sing::lab::page {

std::string_view chart_library_script();
std::string_view chart_library_style();

}  // namespace sing::lab::page
