// The parts that pages share: head, style sheet and script.
#pragma once

#include <string_view>

namespace sing::lab::page {

// Up to the title, and with the rule that nothing is fetched from anywhere.
std::string_view page_head();

// Light or dark as the reader's system is; curves by class names colorK and dashK.
std::string_view page_style();

// Adds to a page that is complete without it: numbers under the pointer, and runs that a click on
// their name hides.
std::string_view page_script();

}  // namespace sing::lab::page
