// Contains the beginning of every page.
#include "lab/page/page_parts.hpp"

namespace sing::lab::page {

std::string_view page_head() {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         // The browser refuses everything that is not inside the page.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
}

}  // namespace sing::lab::page
