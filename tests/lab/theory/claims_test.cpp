// Checks that every claim holds for the library, and that wrong methods fail exactly the claims
// about their faults.
#include "lab/theory/claims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/lab/theory/wrong_methods.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::theory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> failing(const Method& method, std::vector<std::string> names = {}) {
  std::vector<std::string> found;
  for (const Claim& claim : select_claims(names)) {
    if (!try_claim(claim, method).evidence.holds()) {
      found.push_back(claim.name);
    }
  }
  return found;
}

std::vector<std::string> names_of(const std::vector<Claim>& claims) {
  std::vector<std::string> names;
  for (const Claim& claim : claims) {
    names.push_back(claim.name);
  }
  return names;
}

TEST(Claims, HoldOfTheLibrary) { EXPECT_THAT(failing(library_method()), IsEmpty()); }

TEST(Claims, HoldOfTheReferenceBackend) {
  EXPECT_THAT(failing(library_method(make_reference_backend()), {"escape", "lemmas", "invariance"}),
              IsEmpty());
}

TEST(Claims, MissingCentralizationIsNoticed) {
  EXPECT_THAT(failing(test::without_centralization()),
              ElementsAre("escape-zero-blocks", "invariance-means", "lemma-3", "lemma-4",
                          "centralization-projection", "convergence-centralized"));
}

TEST(Claims, OneNormForAllTensorsIsNoticed) {
  EXPECT_THAT(
      failing(test::with_global_norm()),
      ElementsAre("escape-bound", "escape-boundary", "escape-tight", "escape-tensors",
                  "escape-zero-blocks", "invariance-layers", "lemma-1", "lemma-2", "lemma-3",
                  "lemma-4", "convergence-proof", "convergence-rate", "clipping-norms",
                  "calibrated-escape", "calibrated-counterexample", "figure-escape"));
}

TEST(Claims, AWrongLengthOfTheStepIsNoticed) {
  EXPECT_THAT(
      failing(test::with_length_one()),
      ElementsAre("escape-bound", "escape-boundary", "escape-tight", "escape-tensors",
                  "escape-zero-blocks", "lemma-1", "lemma-2", "lemma-3", "lemma-4",
                  "convergence-proof", "convergence-rate", "calibrated-escape", "figure-escape"));
}

// The lemmas notice it too: some of their tensors have norms near 2⁻⁴⁰⁰.
TEST(Claims, AnEpsilonIsNoticed) {
  EXPECT_THAT(failing(test::with_epsilon(), {"invariance", "lemmas"}),
              ElementsAre("invariance-scale", "invariance-layers", "lemma-1", "lemma-2", "lemma-3",
                          "lemma-4"));
}

TEST(Claims, AreSelectedByNameAndByFamily) {
  const std::vector<std::string> some = {"lemma-2", "clipping", "lemma-2"};
  EXPECT_THAT(names_of(select_claims(some)),
              ElementsAre("lemma-2", "clipping-norms", "clipping-values"));
  EXPECT_EQ(select_claims({}).size(), all_claims().size());
}

TEST(Claims, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Claim& claim : all_claims()) {
    EXPECT_TRUE(names.insert(claim.name).second) << claim.name;
    EXPECT_FALSE(claim.statement.empty()) << claim.name;
    EXPECT_FALSE(claim.experiment.empty()) << claim.name;
  }
  for (const Claim& claim : all_claims()) {
    EXPECT_FALSE(names.contains(claim.family)) << claim.family;
  }
}

TEST(Claims, AnUnknownNameIsAnErrorWithTheNearest) {
  const std::vector<std::string> wrong = {"escape-tigth"};
  EXPECT_EQ(test::message_of<std::invalid_argument>([&] { select_claims(wrong); }),
            "[sing theory] wanted the name of a claim or of a family (escape, invariance, lemmas, "
            "convergence, clipping, calibrated, figures), got 'escape-tigth'"
            "; did you mean 'escape-tight'?");
}

TEST(Number, HoldsBetweenItsBoundsOnly) {
  EXPECT_TRUE(at_most("", 1, 1).holds());
  EXPECT_FALSE(at_most("", 1.01, 1).holds());
  EXPECT_FALSE(at_least("", 0.99, 1).holds());
  EXPECT_FALSE(exactly("", 0.99, 1).holds());
  EXPECT_TRUE(close_to("", 0.99, 1, 0.02).holds());
  EXPECT_FALSE(shown("", std::nan("")).holds());
  EXPECT_FALSE(Evidence{}.holds()) << "no numbers, no evidence";
}

TEST(Number, SaysWhatIsWanted) {
  EXPECT_EQ(wanted_text(at_most("", 0, 0.25)), "≤ 0.25");
  EXPECT_EQ(wanted_text(at_least("", 0, 3)), "≥ 3");
  EXPECT_EQ(wanted_text(exactly("", 0, 10)), "= 10");
  EXPECT_EQ(wanted_text(close_to("", 0, 2, 0.01)), "2 ± 0.01");
  EXPECT_EQ(wanted_text(shown("", 0)), "");
}

}  // namespace
}  // namespace sing::lab::theory
