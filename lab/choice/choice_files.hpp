// Reads the files of SWAG, HellaSwag and CODAH.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/choice/choice_item.hpp"

namespace sing::lab::choice {

// Each function reads the content of a file; messages use `name`. They throw FileError that names
// the line of what is missing, left over or no ending's place.

// SWAG: comma-separated values with a header that has sent1, sent2, ending0 … ending3 and label.
std::vector<ChoiceItem> parse_swag(const std::string& content, const std::string& name);
// HellaSwag: six lines per question: "activity: context", the right ending's place, the endings.
std::vector<ChoiceItem> parse_hellaswag(const std::string& content, const std::string& name);
// CODAH: category, context, four endings and the right one's place, separated by tabulators.
std::vector<ChoiceItem> parse_codah(const std::string& content, const std::string& name);

// Throws FileError if there is no such file.
std::string read_choice_file(const std::filesystem::path& path);

}  // namespace sing::lab::choice
