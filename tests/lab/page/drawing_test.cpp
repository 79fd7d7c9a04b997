// Checks the numbers in the drawings of a page: axes, thinned curves, bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/page/axis.hpp"
#include "lab/page/base64.hpp"
#include "lab/page/bitmap.hpp"
#include "lab/page/html_text.hpp"
#include "lab/page/line_chart.hpp"

namespace sing::lab::page {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> tick_texts(AxisRange range, Scale scale) {
  std::vector<std::string> texts;
  for (const Tick& tick : Axis(range, scale, 0, 100).ticks()) {
    texts.push_back(tick.text);
  }
  return texts;
}

TEST(HtmlText, NumbersAreShortAndReadable) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(0.05), "0.05");
  EXPECT_EQ(short_number(0.0123456), "0.01235");
  EXPECT_EQ(short_number(1234.56), "1235");
  EXPECT_EQ(short_number(-17261), "-17\u202f261");
  EXPECT_EQ(short_number(1234567), "1\u202f234\u202f567");
  EXPECT_EQ(short_number(1.2e-5), "1.2e-5");
  EXPECT_EQ(short_number(3e10), "3e10");
  EXPECT_EQ(short_number(kInfinity), "–");
  EXPECT_EQ(percent_text(0.62345), "62.34 %");
  EXPECT_EQ(percent_text(kAbsent), "–");
  EXPECT_EQ(duration_text(41.26), "41.3 s");
  EXPECT_EQ(duration_text(312), "5.2 min");
  EXPECT_EQ(duration_text(9000), "2.5 h");
  EXPECT_EQ(duration_text(kAbsent), "–");
  EXPECT_EQ(coordinate(12.04), "12");
  EXPECT_EQ(coordinate(-0.01), "0");
  EXPECT_EQ(escape_html("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
}

TEST(Axis, TicksAreRoundNumbers) {
  EXPECT_THAT(tick_texts({0, 240, false}, Scale::kLinear),
              ElementsAre("0", "50", "100", "150", "200"));
  EXPECT_THAT(tick_texts({0, 0.053, false}, Scale::kLinear),
              ElementsAre("0", "0.01", "0.02", "0.03", "0.04", "0.05"));
  EXPECT_THAT(tick_texts({0.004, 0.09, false}, Scale::kLog),
              ElementsAre("0.005", "0.01", "0.02", "0.05"));
  EXPECT_THAT(tick_texts({0.022, 0.044, false}, Scale::kLog),
              ElementsAre("0.025", "0.03", "0.035", "0.04"));
  EXPECT_THAT(tick_texts({2e-6, 0.1, false}, Scale::kLog),
              ElementsAre("1e-5", "1e-4", "0.001", "0.01", "0.1"));
}

TEST(Axis, PlacesNumbersOnItsScale) {
  const Axis linear({0, 10, false}, Scale::kLinear, 100, 0);
  EXPECT_DOUBLE_EQ(linear.place(2.5), 75);
  const Axis log({0.01, 100, false}, Scale::kLog, 0, 100);
  EXPECT_DOUBLE_EQ(log.place(1), 50);
  EXPECT_TRUE(std::isnan(log.place(0)));
  EXPECT_DOUBLE_EQ(Axis({0, 1, false}, Scale::kLog, 0, 1).place(0.25), 0.25) << "linear";
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    const Axis point({3, 3, false}, scale, 0, 100);
    EXPECT_GT(point.place(3), 10);
    EXPECT_LT(point.place(3), 90);
    EXPECT_FALSE(point.ticks().empty());
  }
}

TEST(ThinCurve, KeepsTheMeanAndTheExtremes) {
  const double none = kAbsent;
  std::vector<CurvePoint> curve;
  for (const double y : {1.0, 9.0, 2.0, none, none, none, 5.0}) {
    curve.push_back(curve_point(static_cast<double>(curve.size()), y));
  }
  EXPECT_EQ(thin_curve(curve, 7).size(), 7U);
  const std::vector<CurvePoint> thin = thin_curve(curve, 4);  // pairs
  ASSERT_EQ(thin.size(), 4U);
  EXPECT_EQ(thin[0].x, 0.5);
  EXPECT_EQ(thin[0].y, 5);
  EXPECT_EQ(thin[0].low, 1);
  EXPECT_EQ(thin[0].high, 9);
  EXPECT_EQ(thin[1].y, 2);
  EXPECT_TRUE(std::isnan(thin[2].y));
  EXPECT_EQ(thin[3].y, 5);
}

TEST(LineChart, GapsBreakACurveAndADivergedOneIsMarked) {
  const ChartOptions options{.title = "t", .x_label = "step", .y_scale = Scale::kLinear};
  const Curve gap{.label = "gap",
                  .style = "color0",
                  .points = {curve_point(0, 0), curve_point(1, 1), curve_point(2, kAbsent),
                             curve_point(3, 1), curve_point(4, 0)}};
  EXPECT_THAT(draw_line_chart(options, {gap}),
              HasSubstr("\"points\":[[0.0,0.0],[1.0,1.0],[2.0],[3.0,1.0],[4.0,0.0]]"));
  const Curve wild{.label = "wild",
                   .style = "color1",
                   .points = {curve_point(0, 1), curve_point(1, 1e9)},
                   .diverged = true};
  const std::string both = draw_line_chart(options, {gap, wild});
  EXPECT_THAT(both, HasSubstr("{\"diverged\":false,\"label\":\"gap\""));
  EXPECT_THAT(both, HasSubstr("{\"diverged\":true,\"label\":\"wild\""));
  EXPECT_EQ(draw_line_chart(options, {{.label = "none", .points = {curve_point(0, kAbsent)}}}), "");
}

TEST(LineChart, ALogarithmicChartHasOnlyPositiveNumbers) {
  const Curve curve{.label = "c",
                    .points = {curve_point(1, -1), {.x = 2, .y = 3, .low = -1, .high = 4}}};
  EXPECT_THAT(draw_line_chart({.title = "t", .y_scale = Scale::kLog}, {curve}),
              HasSubstr("\"points\":[[1.0],[2.0,3.0,3.0,4.0]]"));
  EXPECT_THAT(draw_line_chart({.title = "t"}, {curve}),
              HasSubstr("\"points\":[[1.0,-1.0],[2.0,3.0,-1.0,4.0]]"));
}

// std::stod throws for such a number.
TEST(LineChart, ANumberMayBeSmallerThanNormalNumbers) {
  const Curve curve{.label = "c", .points = {curve_point(0, 1.25e-310)}};
  EXPECT_THAT(draw_line_chart({.title = "t"}, {curve}), HasSubstr("\"points\":[[0.0,1.25e-310]]"));
}

TEST(LineChart, ALabelCannotEndTheScript) {
  const Curve curve{.label = "</script>\xff", .points = {curve_point(0, 1)}};
  EXPECT_THAT(draw_line_chart({.title = "t"}, {curve}),
              HasSubstr("\"label\":\"\\u003c/script>\xEF\xBF\xBD\""));
}

TEST(Bitmap, HasTheHeaderAndTheRowsOfTheFormat) {
  const Bitmap bitmap{.width = 3, .height = 2, .pixels = {1, 2, 3, 4, 5, 6}};
  const std::string bytes = bmp_bytes(bitmap);
  ASSERT_EQ(bytes.size(), kBitmapHeader + 8);
  EXPECT_EQ(bytes.substr(0, 2), "BM");
  EXPECT_EQ(bytes.substr(18, 8), std::string("\x03\0\0\0\xfe\xff\xff\xff", 8)) << "3, -2";
  EXPECT_EQ(bytes.substr(kBitmapHeader), std::string("\1\2\3\0\4\5\6\0", 8));
}

TEST(Base64, AgreesWithTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace sing::lab::page
