// Parses the three formats.
#include "lab/choice/choice_files.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "lab/choice/csv.hpp"
#include "lab/data/open_file.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::choice {
namespace {

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& wanted,
                         const std::string& got) {
  throw FileError(
      fmt::format("[choice] '{}', line {}: wanted {}, got {}", name, line, wanted, got));
}

std::int64_t parse_right(const std::string& text, const std::string& name, std::size_t line) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') {
    refuse(name, line, "the right ending's place, 0 to 3", fmt::format("'{}'", text));
  }
  return text[0] - '0';
}

// Lines without their ends.
std::vector<std::string> lines_of(const std::string& content) {
  std::vector<std::string> lines;
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<ChoiceItem> check_some(std::vector<ChoiceItem> items, const std::string& name) {
  if (items.empty()) {
    throw FileError(fmt::format("[choice] '{}': wanted questions, got none", name));
  }
  return items;
}

}  // namespace

std::vector<ChoiceItem> parse_swag(const std::string& content, const std::string& name) {
  const std::vector<CsvRow> rows = parse_csv(content, name);
  if (rows.empty()) {
    refuse(name, 1, "SWAG's header", "an empty file");
  }
  const std::vector<std::string>& header = rows.front().fields;
  const auto column = [&](const std::string& title) {
    const auto found = std::find(header.begin(), header.end(), title);
    if (found == header.end()) {
      refuse(name, 1, fmt::format("a header with '{}'", title),
             fmt::format("'{}'", fmt::join(header, ",")));
    }
    return static_cast<std::size_t>(found - header.begin());
  };
  const std::size_t context = column("sent1");
  const std::size_t begin = column("sent2");
  const std::array<std::size_t, kEndings> endings = {column("ending0"), column("ending1"),
                                                     column("ending2"), column("ending3")};
  const std::size_t label = column("label");
  std::vector<ChoiceItem> items;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (row.fields.size() != header.size()) {
      refuse(name, row.line, fmt::format("{} fields", header.size()),
             std::to_string(row.fields.size()));
    }
    ChoiceItem item{row.fields[context], row.fields[begin], {}, 0};
    for (std::size_t each = 0; each < kEndings; ++each) {
      item.endings[each] = row.fields[endings[each]];
    }
    item.right = parse_right(row.fields[label], name, row.line);
    items.push_back(std::move(item));
  }
  return check_some(std::move(items), name);
}

std::vector<ChoiceItem> parse_hellaswag(const std::string& content, const std::string& name) {
  constexpr std::size_t kLines = 2 + kEndings;
  const std::vector<std::string> lines = lines_of(content);
  std::vector<ChoiceItem> items;
  for (std::size_t first = 0; first < lines.size(); first += kLines) {
    if (first + kLines > lines.size()) {
      refuse(name, first + 1, "six lines per question",
             fmt::format("{} at the end", lines.size() - first));
    }
    ChoiceItem item{lines[first], {}, {}, parse_right(lines[first + 1], name, first + 2)};
    for (std::size_t each = 0; each < kEndings; ++each) {
      item.endings[each] = lines[first + 2 + each];
      if (item.endings[each].empty()) {
        refuse(name, first + 3 + each, "an ending", "an empty line");
      }
    }
    items.push_back(std::move(item));
  }
  return check_some(std::move(items), name);
}

std::vector<ChoiceItem> parse_codah(const std::string& content, const std::string& name) {
  constexpr std::size_t kColumns = 3 + kEndings;
  std::vector<ChoiceItem> items;
  const std::vector<std::string> lines = lines_of(content);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> fields;
    std::istringstream stream(lines[i]);
    for (std::string field; std::getline(stream, field, '\t');) {
      fields.push_back(std::move(field));
    }
    if (fields.size() != kColumns) {
      refuse(name, i + 1, "seven fields separated by tabulators", std::to_string(fields.size()));
    }
    ChoiceItem item{fields[1], {}, {}, parse_right(fields.back(), name, i + 1)};
    std::copy_n(fields.begin() + 2, kEndings, item.endings.begin());
    items.push_back(std::move(item));
  }
  return check_some(std::move(items), name);
}

std::string read_choice_file(const std::filesystem::path& path) {
  std::ifstream file = data::open_file(path);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    throw FileError(fmt::format(
        "[choice] wanted a file of SWAG, HellaSwag or CODAH, got no readable '{}'", path.string()));
  }
  return content.str();
}

}  // namespace sing::lab::choice
