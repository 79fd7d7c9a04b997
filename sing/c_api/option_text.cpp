// Conversions of options to the texts of the C interface.
#include "sing/c_api/option_text.hpp"

#include "sing/base/message.hpp"
#include "sing/c_api/guard.hpp"
#include "sing/c_api/versioned.hpp"

namespace sing::c_api {
namespace {

std::string_view kind_of(const Value& value) {
  if (std::holds_alternative<bool>(value)) {
    return "bool";
  }
  if (std::holds_alternative<std::int64_t>(value)) {
    return "integer";
  }
  return std::holds_alternative<std::string>(value) ? "text" : "number";
}

}  // namespace

std::string plain_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_text(value);
}

std::vector<OptionText> describe_options(const std::vector<OptionInfo>& options) {
  std::vector<OptionText> texts;
  texts.reserve(options.size());
  for (const OptionInfo& option : options) {
    texts.push_back({option.name, option.help, plain_text(option.value), kind_of(option.value)});
  }
  return texts;
}

void write_option_info(const std::vector<OptionText>& options, std::size_t index,
                       sing_option_info* info, std::string_view where) {
  SING_CHECK(index < options.size(), "[{}] wanted an option below {}, got {}", where,
             options.size(), index);
  const OptionText& option = options[index];
  write_struct(info,
               {.struct_size = 0,
                .name = option.name.c_str(),
                .help = option.help.c_str(),
                .default_text = option.default_text.c_str(),
                .kind = option.kind.data()},
               SING_SIZE_THROUGH(sing_option_info, default_text), where);
}

void write_name(const std::vector<std::string>& names, std::size_t index, const char** name,
                std::string_view where, std::string_view kind) {
  required(name, where, "a place for the name");
  SING_CHECK(index < names.size(), "[{}] wanted a {} below {}, got {}", where, kind, names.size(),
             index);
  *name = names[index].c_str();
}

}  // namespace sing::c_api
