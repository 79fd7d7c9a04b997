// Writes verdicts as a page in the style of the reports.
#include "lab/page/html_text.hpp"
#include "lab/page/page_parts.hpp"
#include "lab/theory/verdict_texts.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::theory {
namespace {

using page::escape_html;

std::string overview(std::span<const Verdict> verdicts) {
  std::string table = "<div class=\"wide\"><table><tr><th>claim</th><th>verdict</th></tr>\n";
  for (const Verdict& verdict : verdicts) {
    const std::string name = escape_html(verdict.claim.name);
    table += fmt::format("<tr><td><a href=\"#{}\">{}</a></td>", name, name);
    table += verdict.evidence.holds() ? "<td>holds</td></tr>\n"
                                      : "<td class=\"failed\">fails</td></tr>\n";
  }
  return table + "</table></div>\n";
}

std::string numbers_table(const Evidence& evidence) {
  std::string table =
      "<div class=\"wide\"><table><tr><th></th><th>measured</th><th>wanted</th></tr>\n";
  for (const Number& number : evidence.numbers) {
    table += fmt::format("<tr><td>{}</td><td class=\"number", escape_html(number.name));
    table +=
        fmt::format("{}\">{}", number.holds() ? "" : " failed", page::short_number(number.value));
    table += fmt::format("</td><td>{}</td></tr>\n", escape_html(wanted_text(number)));
  }
  return table + "</table></div>\n";
}

std::string section(const Verdict& verdict) {
  const Claim& claim = verdict.claim;
  std::string text = fmt::format("<section id=\"{}\"><h2>", escape_html(claim.name));
  text += escape_html(claim.name) +
          (verdict.evidence.holds() ? "" : " <small class=\"failed\">fails</small>");
  text += "</h2>\n<p>" + escape_html(claim.statement) + "</p>\n<p class=\"note\">";
  text += escape_html(claim.experiment) + "</p>\n" + numbers_table(verdict.evidence);
  if (!verdict.evidence.figures.empty()) {
    text += "<div class=\"charts even\">";
    for (const std::string& figure : verdict.evidence.figures) {
      text += figure;
    }
    text += "</div>\n";
  }
  return text + "</section>\n";
}

}  // namespace

std::string verdicts_page(std::span<const Verdict> verdicts) {
  std::string page = fmt::format("{}<title>SING: the theory</title>\n<style>", page::page_head());
  page += fmt::format("{}</style></head><body>\n<h1>SING: the theory</h1>\n<main>\n",
                      page::page_style());
  page +=
      "<p>Each claim of the paper, and of the page on the algorithm, is checked by an experiment. "
      "It "
      "holds if every measured number is within the bounds beside it.</p>\n";
  page += overview(verdicts);
  for (const Verdict& verdict : verdicts) {
    page += section(verdict);
  }
  return page + fmt::format("</main>\n<script>{}</script>\n</body></html>\n", page::page_script());
}

}  // namespace sing::lab::theory
