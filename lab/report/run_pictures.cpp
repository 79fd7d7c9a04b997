// Embeds PNG files as base64, and sample texts as they are.
#include "lab/report/run_pictures.hpp"

#include <fstream>
#include <iterator>

#include "lab/page/base64.hpp"
#include "lab/page/html_text.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::report {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 20;
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

// Returns "" for a file that is too large.
std::string read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMostBytes) {
    return {};
  }
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string draw_picture(const std::filesystem::path& path) {
  const std::string name = page::escape_html(path.stem().string());
  const std::string bytes = read_bytes(path);
  if (path.extension() == ".txt") {
    return fmt::format(
        "<figure class=\"sample\"><figcaption>{}</figcaption><pre>{}</pre></figure>\n", name,
        page::escape_html(bytes));
  }
  if (!bytes.starts_with(kPngSignature)) {
    return fmt::format("<p class=\"note\">{}: no PNG file of at most 8 MiB</p>\n", name);
  }
  return fmt::format(
      "<figure class=\"picture\"><figcaption>{}</figcaption><img alt=\"{}\" "
      "src=\"data:image/png;base64,{}\"></figure>\n",
      name, name, page::base64(bytes));
}

}  // namespace

std::vector<std::filesystem::path> chosen_pictures(const std::vector<std::filesystem::path>& all,
                                                   std::size_t most) {
  if (all.size() <= most) {
    return all;
  }
  if (most < 2) {
    return {all.end() - static_cast<std::ptrdiff_t>(most), all.end()};
  }
  std::vector<std::filesystem::path> chosen;
  for (std::size_t place = 0; place < most; ++place) {
    chosen.push_back(all[place * (all.size() - 1) / (most - 1)]);
  }
  return chosen;
}

std::string draw_pictures(const run::RunRecord& run, std::size_t most) {
  const std::vector<std::filesystem::path> chosen = chosen_pictures(run.pictures, most);
  if (chosen.empty()) {
    return {};
  }
  std::string drawn;
  if (const std::string legend = run.setting("picture_legend"); !legend.empty()) {
    drawn = fmt::format("<p class=\"note\">{}</p>\n", page::escape_html(legend));
  }
  drawn += draw_picture(chosen.back());
  if (chosen.size() == 1) {
    return drawn;
  }
  drawn += "<details><summary>Earlier pictures";
  if (chosen.size() < run.pictures.size()) {
    drawn += fmt::format(": {} of the {}", chosen.size() - 1, run.pictures.size() - 1);
  }
  drawn += "</summary>\n";
  for (std::size_t at = chosen.size() - 1; at-- > 0;) {
    drawn += draw_picture(chosen[at]);
  }
  return drawn + "</details>\n";
}

}  // namespace sing::lab::report
