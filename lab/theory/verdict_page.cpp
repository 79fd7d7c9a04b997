// Verdicts as a page, in the style of the reports.
#include "lab/report/html_text.hpp"
#include "lab/report/page_parts.hpp"
#include "lab/theory/verdict_texts.hpp"
#include "sing/base/check.hpp"

namespace sing::theory {
namespace {

using report::escape_html;

std::string overview(std::span<const Verdict> verdicts) {
  std::string table = "<div class=\"wide\"><table><tr><th>claim</th><th>verdict</th></tr>\n";
  for (const Verdict& verdict : verdicts) {
    const std::string name = escape_html(verdict.claim.name);
    table += concat("<tr><td><a href=\"#", name, "\">", name, "</a></td>");
    table += verdict.outcome.holds() ? "<td>holds</td></tr>\n"
                                     : "<td class=\"failed\">fails</td></tr>\n";
  }
  return table + "</table></div>\n";
}

std::string numbers_table(const Outcome& outcome) {
  std::string table =
      "<div class=\"wide\"><table><tr><th></th><th>measured</th><th>wanted</th></tr>\n";
  for (const Number& number : outcome.numbers) {
    table += concat("<tr><td>", escape_html(number.name), "</td><td class=\"number");
    table += concat(number.holds() ? "" : " failed", "\">", report::short_number(number.value));
    table += concat("</td><td>", escape_html(wanted_text(number)), "</td></tr>\n");
  }
  return table + "</table></div>\n";
}

std::string section(const Verdict& verdict) {
  const Claim& claim = verdict.claim;
  std::string text = concat("<section id=\"", escape_html(claim.name), "\"><h2>");
  text += escape_html(claim.name) +
          (verdict.outcome.holds() ? "" : " <small class=\"failed\">fails</small>");
  text += "</h2>\n<p>" + escape_html(claim.statement) + "</p>\n<p class=\"note\">";
  text += escape_html(claim.experiment) + "</p>\n" + numbers_table(verdict.outcome);
  if (!verdict.outcome.figures.empty()) {
    text += "<div class=\"charts even\">";
    for (const std::string& figure : verdict.outcome.figures) {
      text += figure;
    }
    text += "</div>\n";
  }
  return text + "</section>\n";
}

}  // namespace

std::string verdicts_page(std::span<const Verdict> verdicts) {
  std::string page = concat(report::page_head(), "<title>SING: the theory</title>\n<style>");
  page +=
      concat(report::page_style(), "</style></head><body>\n<h1>SING: the theory</h1>\n<main>\n");
  page += overview(verdicts);
  for (const Verdict& verdict : verdicts) {
    page += section(verdict);
  }
  return page + concat("</main>\n<script>", report::page_script(), "</script>\n</body></html>\n");
}

}  // namespace sing::theory
