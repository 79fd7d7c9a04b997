// Checks a run of the theory: its output, its JSON and its page.
#include "lab/theory/theory_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/page/chart_library.hpp"
#include "lab/theory/claims.hpp"
#include "tests/lab/theory/wrong_methods.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::theory {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Printed {
  bool all_hold;
  std::string out;
};

Printed run(const TheoryRequest& request, const Method& method = library_method()) {
  std::ostringstream out;
  const bool all_hold = run_theory(request, method, out);
  return {all_hold, out.str()};
}

TEST(TheoryRun, SaysStatementNumbersAndVerdict) {
  const Printed found = run({.names = {"escape-tight"}});
  EXPECT_TRUE(found.all_hold);
  EXPECT_THAT(found.out, HasSubstr("holds  escape-tight\n"));
  EXPECT_THAT(found.out, HasSubstr("The bound is tight"));
  EXPECT_THAT(found.out, HasSubstr("    nearest landing, in radii   0.981       0.981 ± 1e-12\n"));
  EXPECT_THAT(found.out, HasSubstr("1 claim: all hold\n"));
}

TEST(TheoryRun, AFailureIsNamed) {
  const Printed found = run({.names = {"lemmas"}}, test::without_centralization());
  EXPECT_FALSE(found.all_hold);
  EXPECT_THAT(found.out, HasSubstr("FAILS  lemma-4\n"));
  EXPECT_THAT(found.out, HasSubstr("  ✗ largest error of ⟨x, φ(x)/Γ(φ(x))⟩ = N_φ(x)"));
  EXPECT_THAT(found.out,
              HasSubstr("5 claims: these fail: lemma-3 lemma-4 centralization-projection\n"));
}

TEST(TheoryRun, WritesJson) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "theory.json").string();
  ASSERT_TRUE(run({.names = {"escape-tight", "clipping-norms"}, .json = path}).all_hold);
  const auto json = nlohmann::json::parse(test::read_whole(path));
  EXPECT_EQ(json.at("format"), "sing-theory-1");
  EXPECT_EQ(json.at("holds"), true);
  ASSERT_EQ(json.at("claims").size(), 2U);
  const auto& claim = json.at("claims").at(0);
  EXPECT_EQ(claim.at("name"), "escape-tight");
  EXPECT_EQ(claim.at("family"), "escape");
  EXPECT_EQ(claim.at("holds"), true);
  EXPECT_GE(claim.at("seconds"), 0);
  const auto& number = claim.at("numbers").at(0);
  EXPECT_EQ(number.at("name"), "nearest landing, in radii");
  EXPECT_NEAR(number.at("value"), 0.981, 1e-12);
  EXPECT_NEAR(number.at("low"), 0.981, 2e-12);
  EXPECT_EQ(number.at("shown"), "0.981");
  EXPECT_EQ(number.at("holds"), true);
  EXPECT_TRUE(json.at("claims").at(1).at("numbers").at(1).at("low").is_null()) << "no lower bound";
}

TEST(TheoryRun, FailuresAreInTheFilesToo) {
  const test::TemporaryFolder folder;
  const std::string json = (folder / "theory.json").string();
  const std::string page = (folder / "theory.html").string();
  const Printed found =
      run({.names = {"lemma-1"}, .json = json, .page = page}, test::with_length_one());
  EXPECT_FALSE(found.all_hold);
  const auto parsed = nlohmann::json::parse(test::read_whole(json));
  EXPECT_EQ(parsed.at("holds"), false);
  EXPECT_EQ(parsed.at("claims").at(0).at("holds"), false);
  EXPECT_THAT(test::read_whole(page), HasSubstr("<td class=\"failed\">fails</td>"));
  EXPECT_THAT(found.out, HasSubstr(json + "\n" + page + "\n"));
}

TEST(TheoryRun, ThePageHoldsEverythingItShows) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "theory.html").string();
  ASSERT_TRUE(run({.names = {"figures", "lemma-1"}, .page = path}).all_hold);
  std::string page = test::read_whole(path);
  const std::string_view library =
      page::chart_library_script();  // names the address of its license
  page.erase(page.find(library), library.size());
  EXPECT_THAT(page, HasSubstr("<section id=\"figure-descent\">"));
  EXPECT_THAT(page, HasSubstr("‖x/Γ(x)‖ = √D if no tensor is zero"));
  EXPECT_THAT(page, HasSubstr("<animate attributeName=\"cx\""));
  EXPECT_THAT(page, HasSubstr("\"x\":\"learning rate\""));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, HasSubstr("gradient descent + SING, η = 2"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"failed\"")));
}

TEST(TheoryRun, AFileThatCannotBeWrittenIsRefusedFirst) {
  const test::TemporaryFolder folder;
  std::ostringstream out;
  EXPECT_THROW(
      run_theory({.names = {}, .json = (folder / "absent/x.json").string()}, library_method(), out),
      FileError);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace sing::lab::theory
