// Checks the claims one after the other, prints each verdict at once, and writes files at the end.
#include "lab/theory/theory_run.hpp"

#include <optional>
#include <ostream>

#include "lab/theory/claims.hpp"
#include "lab/theory/verdict_texts.hpp"
#include "sing/io/atomic_file.hpp"

namespace sing::lab::theory {
namespace {

// A file that is written at the end, but checked at the beginning.
class ResultFile {
 public:
  explicit ResultFile(const std::string& path) : path_(path) {
    if (!path.empty()) {
      file_.emplace(path);
    }
  }

  template <class Format>
  void write(const Format& format, std::span<const Verdict> verdicts, std::ostream& out) {
    if (file_) {
      const std::string text = format(verdicts);
      file_->write(std::as_bytes(std::span(text.data(), text.size())));
      file_->commit();
      out << path_ << '\n';
    }
  }

 private:
  std::string path_;
  std::optional<AtomicFile> file_;
};

}  // namespace

bool run_theory(const TheoryRequest& request, const Method& method, std::ostream& out) {
  const std::vector<Claim> claims = select_claims(request.names);
  ResultFile json(request.json);
  ResultFile page(request.page);
  std::vector<Verdict> verdicts;
  std::string failed;
  for (const Claim& claim : claims) {
    verdicts.push_back(try_claim(claim, method));
    out << verdict_text(verdicts.back()) << std::flush;
    if (!verdicts.back().evidence.holds()) {
      failed += " " + claim.name;
    }
  }
  out << claims.size() << (claims.size() == 1 ? " claim: " : " claims: ")
      << (failed.empty() ? "all hold" : "these fail:" + failed) << '\n';
  json.write(verdicts_json, verdicts, out);
  page.write(verdicts_page, verdicts, out);
  return failed.empty();
}

}  // namespace sing::lab::theory
