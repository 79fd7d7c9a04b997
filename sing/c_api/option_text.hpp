// Options as the texts that C callers give and read.
#pragma once

#include <string>
#include <vector>

#include "sing/c_api/sing.h"
#include "sing/optim/options.hpp"

namespace sing::c_api {

// A value as text that reads back as the same value.
std::string plain_text(const Value& value);

// One option as text, kept for as long as pointers into it are handed out.
struct OptionText {
  std::string name;
  std::string help;
  std::string default_text;
  std::string_view kind;
};

std::vector<OptionText> describe_options(const std::vector<OptionInfo>& options);

// The option at `index` into a caller's struct; `where` names the C function.
void write_option_info(const std::vector<OptionText>& options, std::size_t index,
                       sing_option_info* info, std::string_view where);

}  // namespace sing::c_api
