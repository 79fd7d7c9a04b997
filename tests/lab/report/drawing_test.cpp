// Checks the numbers behind the drawings: axes, thinned curves, layers, colors, bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/picture/color_map.hpp"
#include "lab/report/axis.hpp"
#include "lab/report/base64.hpp"
#include "lab/report/heat_map.hpp"
#include "lab/report/html_text.hpp"
#include "lab/report/line_chart.hpp"
#include "lab/report/run_pictures.hpp"
#include "lab/report/run_style.hpp"
#include "lab/report/time_bars.hpp"

namespace sing::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> tick_texts(Range range, Scale scale) {
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
  EXPECT_EQ(Axis({0, 1, false}, Scale::kLog, 0, 1).scale(), Scale::kLinear);
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

TEST(LineChart, GapsBreakACurveAndADivergedOneHasNoSayInTheRange) {
  const ChartOptions options{.title = "t", .x_label = "step", .y_scale = Scale::kLinear};
  const Curve gap{.label = "gap",
                  .style = "color0",
                  .points = {curve_point(0, 0), curve_point(1, 1), curve_point(2, kAbsent),
                             curve_point(3, 1), curve_point(4, 0)}};
  // x: 64 … 628 for 0 … 4; y: 256 … 10 for 0 … 1.03
  EXPECT_THAT(draw_line_chart(options, {gap}),
              HasSubstr("d=\"M64 256L205 17.2M487 17.2L628 256\""));
  const Curve wild{.label = "wild",
                   .style = "color1",
                   .points = {curve_point(0, 1), curve_point(1, 1e9)},
                   .diverged = true};
  const std::string both = draw_line_chart(options, {gap, wild});
  EXPECT_THAT(both, HasSubstr("data-y=\"linear 0 1.03 256 10\""));
  EXPECT_THAT(both, HasSubstr("class=\"diverged color1\""));
  EXPECT_THAT(draw_line_chart(options, {wild}), HasSubstr("data-y=\"linear 1 "));
  EXPECT_EQ(draw_line_chart(options, {{.label = "none", .points = {curve_point(0, kAbsent)}}}), "");
}

TEST(LineChart, FromZeroHasNoNegativePartEvenIfAllIsZero) {
  const Curve flat{.label = "flat", .points = {curve_point(0, 0), curve_point(1, 0)}};
  EXPECT_THAT(draw_line_chart({.title = "t", .from_zero = true}, {flat}),
              HasSubstr("data-y=\"linear 0 1.03 256 10\""));
}

TEST(LayerNorms, ALayerIsTheRootOfItsSummedSquares) {
  const std::vector<NormRecord> records = {
      {10, {{"fc.weight", 3}, {"fc.bias", 4}, {"scale", 2}}},
      {20, {{"fc.weight", 6}, {"fc.bias", 8}}},
      {30, {{"fc.weight", kAbsent}, {"fc.bias", 1}, {"scale", 4}}}};
  const LayerNorms all = layer_norms(records, 3);
  EXPECT_THAT(all.layers, ElementsAre("fc", "scale"));
  EXPECT_THAT(all.steps, ElementsAre(10, 20, 30));
  EXPECT_EQ(all.at(0, 0), 5);
  EXPECT_EQ(all.at(0, 1), 10);
  EXPECT_EQ(all.at(0, 2), kInfinity);
  EXPECT_TRUE(std::isnan(all.at(1, 1)));
  const LayerNorms two = layer_norms(records, 2);
  EXPECT_THAT(two.steps, ElementsAre(10, 30));
  EXPECT_EQ(two.at(0, 0), 7.5);
  EXPECT_EQ(two.at(1, 0), 2);
  EXPECT_TRUE(layer_norms({}, 5).values.empty());
}

TEST(HeatMap, ColorsFollowTheLogarithm) {
  const LayerNorms norms{.layers = {"a"},
                         .steps = {1, 2, 3, 4, 5, 6},
                         .values = {0.01, 0.1, 1, 0, kInfinity, kAbsent}};
  const NormLevels levels = norm_levels(norms);
  EXPECT_EQ(levels.low, 0.01);
  EXPECT_EQ(levels.high, 1);
  EXPECT_THAT(levels.bitmap.pixels, ElementsAre(0, 127, kTopLevel, 0, kNotFinite, kNothing));
  EXPECT_EQ(levels.bitmap.colors[kTopLevel], lab::scale_color(1));
  const NormLevels far = norm_levels({{"a"}, {1, 2}, {1e-30, 1}});
  EXPECT_DOUBLE_EQ(far.low, 1e-8);
  EXPECT_EQ(draw_heat_map({}), "");
  EXPECT_THAT(draw_heat_map({{"a"}, {1}, {0}}), HasSubstr("<image"));
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

TEST(StepTime, IsTheMeanWithoutTheFirstRecord) {
  RunRecord run;
  EXPECT_TRUE(std::isnan(step_time(run).sum()));
  const auto record = [](double data, double model, double optimizer) {
    return StepRecord{
        .data_seconds = data, .forward_backward_seconds = model, .optimizer_seconds = optimizer};
  };
  run.steps = {record(1, 10, 2)};
  EXPECT_EQ(step_time(run).sum(), 13);
  run.steps = {record(1, 10, 2), record(0.5, 2, 0.25), record(0.25, 4, 0.75),
               record(kAbsent, 4, 1)};
  const StepTime mean = step_time(run);
  EXPECT_EQ(mean.data, 0.375);
  EXPECT_EQ(mean.forward_backward, 3);
  EXPECT_EQ(mean.optimizer, 0.5);
  EXPECT_EQ(draw_time_bars({RunRecord{}}), "");
}

TEST(RunStyle, SeedsShareAColor) {
  const auto run = [](const char* name, const char* optimizer, const char* seed) {
    return RunRecord{
        .name = name,
        .options = {
            {"optimizer", optimizer}, {"seed", seed}, {"out", std::string("runs/") + name}}};
  };
  EXPECT_THAT(
      run_styles({run("one", "adamw", "0"), run("two", "sgd", "0"), run("three", "adamw", "1")}),
      ElementsAre("color0 dash0 run0", "color1 dash0 run1", "color0 dash1 run2"));
}

TEST(RunPictures, AFewAtEvenDistancesWithBothEnds) {
  std::vector<std::filesystem::path> all;
  for (int picture = 0; picture < 100; ++picture) {
    all.emplace_back(std::to_string(picture));
  }
  EXPECT_THAT(chosen_pictures(all, 4), ElementsAre("0", "33", "66", "99"));
  EXPECT_EQ(chosen_pictures(all, 100), all);
  EXPECT_THAT(chosen_pictures(all, 1), ElementsAre("99"));
  EXPECT_TRUE(chosen_pictures({}, 4).empty());
}

}  // namespace
}  // namespace sing::report
