// Declares the parts that pages share: head, style sheet and script.
#pragma once

#include <string_view>

namespace sing::lab::page {

// Returns the page up to its title, with the rule that nothing may be fetched.
std::string_view page_head();

// Returns a style sheet that is light or dark like the reader's system. Curves are styled by the
// class names colorK and dashK.
std::string_view page_style();

// Returns a script for a page that is complete without it: it shows the numbers under the pointer,
// and hides a run when its name is clicked.
std::string_view page_script();

}  // namespace sing::lab::page
