// Declares the parts that pages share: head, style sheet and script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sing::lab::page {

// Returns the page up to its title, with the rule that nothing may be fetched.
std::string_view page_head();

// Returns a style sheet that is light or dark like the reader's system. Curves are styled by the
// class names color0 … color9 and dash0 … dash3.
std::string page_style();
inline constexpr std::size_t kColors = 10;
inline constexpr std::size_t kDashes = 4;

// Returns a script that draws the charts, shows the numbers under the pointer, zooms where the
// pointer is dragged, and hides a run when its name is clicked.
std::string page_script();

}  // namespace sing::lab::page
