// Checks field lists: visiting, values from text and other languages, bounds, misspelled names.
#include "sing/base/fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"
#include "tests/support/message_of.hpp"

namespace sing {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Colour { kRed, kGreen };

constexpr auto enum_names(Colour) {
  return std::to_array<EnumName<Colour>>({{Colour::kRed, "red"}, {Colour::kGreen, "green"}});
}

struct Paint {
  double thickness = 0.5;
  std::int64_t coats = 2;
  bool glossy = false;
  std::optional<double> thinner = std::nullopt;
  Colour colour = Colour::kRed;

  static constexpr auto fields() {
    return std::tuple{field("thickness", &Paint::thickness, "in mm", from_zero_below(1)),
                      field("coats", &Paint::coats, "layers", between(1, 3)),
                      field("glossy", &Paint::glossy, "shines"),
                      field("thinner", &Paint::thinner, "share of solvent", at_least(0.1)),
                      field("colour", &Paint::colour, "which")};
  }
};

TEST(Fields, AreVisitedInTheOrderOfTheList) {
  Paint paint{
      .thickness = 0.25, .coats = 3, .glossy = true, .thinner = 0.75, .colour = Colour::kGreen};
  std::vector<std::string> seen;
  visit_fields(paint, [&](const auto& each, auto& member) {
    seen.push_back(fmt::format("{}={}", each.name, to_text(to_value(member))));
  });
  EXPECT_THAT(seen, ElementsAre("thickness=0.25", "coats=3", "glossy=true", "thinner=0.75",
                                "colour='green'"));
}

TEST(Fields, AVisitorMayChangeTheMember) {
  Paint paint;
  visit_fields(paint, [](const auto& each, auto& member) {
    if (each.name == "coats") {
      assign(member, Value("3"), each.name);
    }
  });
  EXPECT_EQ(paint.coats, 3);
}

TEST(Assign, ReadsANumberFromNumbersAndText) {
  double member = 0;
  assign(member, Value(0.25), "x");
  EXPECT_EQ(member, 0.25);
  assign(member, Value(std::int64_t{3}), "x");
  EXPECT_EQ(member, 3);
  assign(member, Value("1e-3"), "x");
  EXPECT_EQ(member, 1e-3);
}

TEST(Assign, ReadsAWholeNumberFromWholeNumbersAndText) {
  std::int64_t member = 0;
  assign(member, Value(std::int64_t{7}), "x");
  EXPECT_EQ(member, 7);
  assign(member, Value("-12"), "x");
  EXPECT_EQ(member, -12);
}

TEST(Assign, ReadsABooleanFromBooleansAndText) {
  bool member = false;
  assign(member, Value(true), "x");
  EXPECT_TRUE(member);
  assign(member, Value("false"), "x");
  EXPECT_FALSE(member);
}

TEST(Assign, AnOptionalNumberTakesNone) {
  std::optional<double> member = 1;
  assign(member, Value(std::monostate{}), "x");
  EXPECT_FALSE(member.has_value());
  assign(member, Value(2.5), "x");
  EXPECT_EQ(member, 2.5);
  assign(member, Value("none"), "x");
  EXPECT_FALSE(member.has_value());
  EXPECT_EQ(to_text(to_value(member)), "none");
}

TEST(Assign, AnEnumerationTakesItsNames) {
  Colour member = Colour::kRed;
  assign(member, Value("green"), "x");
  EXPECT_EQ(member, Colour::kGreen);
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { assign(member, Value("blue"), "colour"); }),
      ::testing::AllOf(HasSubstr("[colour]"), HasSubstr("red, green"), HasSubstr("'blue'")));
  EXPECT_EQ(member, Colour::kGreen);
}

template <class Member>
void expect_refused(const Value& value, const std::string& wanted) {
  Member member{};
  EXPECT_EQ(message_of<std::invalid_argument>([&] { assign(member, value, "beta"); }),
            "[beta] wanted " + wanted + ", got " + to_text(value));
  EXPECT_EQ(member, Member{});
}

TEST(Assign, RefusesOtherKindsAndLeavesTheMember) {
  expect_refused<double>(Value(true), "a number");
  expect_refused<double>(Value("fast"), "a number");
  expect_refused<double>(Value("1.5x"), "a number");
  expect_refused<double>(Value(""), "a number");
  expect_refused<double>(Value(std::monostate{}), "a number");
  expect_refused<std::int64_t>(Value(2.5), "a whole number");
  expect_refused<std::int64_t>(Value("2.5"), "a whole number");
  expect_refused<std::int64_t>(Value("99999999999999999999"), "a whole number");
  expect_refused<bool>(Value(std::int64_t{1}), "true or false");
  expect_refused<bool>(Value("yes"), "true or false");
  expect_refused<std::optional<double>>(Value("many"), "a number");
}

std::string validation_message(const Paint& paint) {
  return message_of<std::invalid_argument>([&] { validate(paint, "paint"); });
}

TEST(Validate, AcceptsTheEndsOfBounds) {
  EXPECT_NO_THROW(validate(Paint{.thickness = 0, .coats = 1, .thinner = 0.1}, "paint"));
  EXPECT_NO_THROW(validate(Paint{.thickness = std::nextafter(1.0, 0.0), .coats = 3}, "paint"));
}

TEST(Validate, NamesFieldBoundsAndValue) {
  EXPECT_EQ(validation_message({.thickness = 1}), "[paint] wanted thickness in [0, 1), got 1");
  EXPECT_EQ(validation_message({.thickness = -0.5}),
            "[paint] wanted thickness in [0, 1), got -0.5");
  EXPECT_EQ(validation_message({.coats = 4}), "[paint] wanted coats in [1, 3], got 4");
  EXPECT_EQ(validation_message({.coats = 0}), "[paint] wanted coats in [1, 3], got 0");
  EXPECT_EQ(validation_message({.coats = 100000}), "[paint] wanted coats in [1, 3], got 100000");
  EXPECT_EQ(validation_message({.thickness = 1234567}),
            "[paint] wanted thickness in [0, 1), got 1234567");
  EXPECT_THAT(validation_message({.thinner = 0.0625}),
              HasSubstr("[paint] wanted thinner at least"));
}

TEST(Validate, RefusesWhatIsNotFinite) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_THAT(validation_message({.thickness = value}), HasSubstr("thickness"));
    EXPECT_THAT(validation_message({.thinner = value}), HasSubstr("thinner"));
  }
}

TEST(ShortestText, WritesWholeNumbersWithoutAnExponent) {
  EXPECT_EQ(shortest_text(100000), "100000");
  EXPECT_EQ(shortest_text(-1234567), "-1234567");
  EXPECT_EQ(shortest_text(0.1), "0.1");
  EXPECT_EQ(shortest_text(1e300), "1e+300");
}

TEST(NearestName, FindsAMisspelledName) {
  const std::vector<std::string> known{"learning_rate", "beta1", "beta2", "weight_decay"};
  EXPECT_EQ(did_you_mean("learning_rte", known), "; did you mean 'learning_rate'?");
  EXPECT_EQ(did_you_mean("weight-decay", known), "; did you mean 'weight_decay'?");
  EXPECT_EQ(did_you_mean("beta_2", known), "; did you mean 'beta2'?");
}

TEST(NearestName, FindsANameThatContainsTheWord) {
  const std::vector<std::string> known{"constant", "warmup_hold_cosine", "warmup_cosine"};
  EXPECT_EQ(did_you_mean("cosine", known), "; did you mean 'warmup_cosine'?");
  EXPECT_EQ(did_you_mean("hold", known), "; did you mean 'warmup_hold_cosine'?");
  EXPECT_EQ(did_you_mean("in", known), "") << "a short word is part of too many names";
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("xyzzy_quux", {}), "");
  const std::vector<std::string> known{"beta1"};
  EXPECT_EQ(did_you_mean("completely_different", known), "");
}

}  // namespace
}  // namespace sing
