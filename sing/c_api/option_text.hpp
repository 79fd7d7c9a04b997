// Names and options as the texts that C callers pass and read.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sing/c_api/sing.h"
#include "sing/optim/options.hpp"

namespace sing::c_api {

// A value as text that is parsed to the same value.
std::string plain_text(const Value& value);

// One option as text. It lives as long as C callers may have pointers into it.
struct OptionText {
  std::string name;
  std::string help;
  std::string default_text;
  std::string_view kind;
};

std::vector<OptionText> describe_options(const std::vector<OptionInfo>& options);

// Writes the option at `index` to a caller's struct; `where` names the C function.
void write_option_info(const std::vector<OptionText>& options, std::size_t index,
                       sing_option_info* info, std::string_view where);

// Writes the name at `index` of a list that lives as long as the program; `kind` says what it
// names.
void write_name(const std::vector<std::string>& names, std::size_t index, const char** name,
                std::string_view where, std::string_view kind);

// The options of everything in a list of names.
template <class List>
std::map<std::string, std::vector<OptionText>, std::less<>> describe_all(
    const std::vector<std::string>& names, List&& list) {
  std::map<std::string, std::vector<OptionText>, std::less<>> all;
  for (const std::string& name : names) {
    all[name] = describe_options(list(name));
  }
  return all;
}

}  // namespace sing::c_api
