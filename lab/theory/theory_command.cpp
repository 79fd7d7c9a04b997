// Tries the claims one after the other, says each verdict as it is known, writes files at the end.
#include "lab/theory/theory_command.hpp"

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lab/theory/claims.hpp"
#include "lab/theory/verdict_texts.hpp"
#include "sing/optim/atomic_file.hpp"

namespace sing::theory {
namespace {

struct Request {
  std::vector<std::string> names;
  std::string json;
  std::string page;
};

void write_file(const std::filesystem::path& path, const std::string& text, std::ostream& out) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
  out << path.string() << '\n';
}

// Returns whether all hold.
bool run(const Request& request, std::ostream& out) {
  const std::vector<Claim> claims = select_claims(request.names);
  const Method method = library_method();
  std::vector<Verdict> verdicts;
  std::string failed;
  for (const Claim& claim : claims) {
    verdicts.push_back(try_claim(claim, method));
    out << verdict_text(verdicts.back()) << std::flush;
    if (!verdicts.back().outcome.holds()) {
      failed += " " + claim.name;
    }
  }
  out << claims.size() << (claims.size() == 1 ? " claim: " : " claims: ")
      << (failed.empty() ? "all hold" : "these fail:" + failed) << '\n';
  if (!request.json.empty()) {
    write_file(request.json, verdicts_json(verdicts), out);
  }
  if (!request.page.empty()) {
    write_file(request.page, verdicts_page(verdicts), out);
  }
  return failed.empty();
}

}  // namespace

void add_theory_command(CLI::App& app, lab::Session& session) {
  CLI::App* const command =
      app.add_subcommand("theory", "Check the paper's theorems, and draw its figures");
  const auto request = std::make_shared<Request>();
  command->add_option("CLAIM", request->names, "claims or families of claims; without any, all")
      ->type_name("");
  command->add_option("--json", request->json, "statements, numbers and verdicts")
      ->type_name("FILE");
  command->add_option("--report", request->page, "the same and the figures, as one HTML page")
      ->type_name("FILE");
  command->callback([request, &session] {
    session.chosen = [request, &session] {
      session.exit_code = run(*request, session.out) ? lab::kSuccess : lab::kFailure;
    };
  });
}

}  // namespace sing::theory
