// Checks the progress that a training prints: a bar on a terminal, lines elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "lab/command/live_line.hpp"
#include "lab/command/progress_bar.hpp"
#include "lab/command/remaining_time.hpp"

namespace sing::lab::command {
namespace {

using namespace std::chrono_literals;

constexpr Progress kHalf{.step = 50,
                         .total_steps = 100,
                         .epoch = 1.5,
                         .loss = 0.01234,
                         .learning_rate = 0.05,
                         .units_per_second = 1234.4,
                         .seconds_left = 3723};

TEST(ProgressBar, SaysLossRateSpeedAndTimeLeft) {
  EXPECT_EQ(text_of(kHalf, 0),
            " 50 % step 50/100 · 1:02:03 left · loss 1.234e-02 · epoch 1.50 · rate 5.00e-02 · "
            "1234 images/s");
  EXPECT_EQ(text_of_seconds(59.7), "1:00");
  EXPECT_EQ(text_of_seconds(-1), "?");
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

TEST(ProgressBar, FitsTheTerminal) {
  const std::string whole = text_of(kHalf, 0);
  for (int columns = 10; columns < 200; ++columns) {
    const std::string text = text_of(kHalf, columns);
    EXPECT_LT(columns_of(text), static_cast<std::size_t>(columns));
    EXPECT_TRUE(text.ends_with("images/s") || whole.starts_with(text)) << text;
  }
  EXPECT_THAT(text_of(kHalf, 80), ::testing::HasSubstr("1:02:03 left"));
  EXPECT_EQ(columns_of(text_of(kHalf, 300)), columns_of(whole) + 24 + 1);
}

TEST(ProgressBar, WithoutATerminalItWritesALineEveryTenSeconds) {
  std::ostringstream out;
  ProgressBar bar(out, 0);
  const auto start = ProgressBar::Clock::now();
  bar.show(kHalf, start);
  bar.show(kHalf, start + 9s);
  bar.show(kHalf, start + 10s);
  bar.say("evaluated");
  bar.finish();
  const std::string line = text_of(kHalf, 0) + "\n";
  EXPECT_EQ(out.str(), line + line + "evaluated\n");
}

TEST(ProgressBar, OnATerminalALineTakesThePlaceOfTheBar) {
  std::ostringstream out;
  ProgressBar bar(out, 130);
  const auto start = ProgressBar::Clock::now();
  bar.show(kHalf, start);
  bar.show(kHalf, start + 50ms);
  const std::string shown = out.str();
  EXPECT_EQ(shown, std::string("\r").append(text_of(kHalf, 130)));
  EXPECT_THAT(shown, ::testing::HasSubstr("━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌"));
  Progress shorter = kHalf;
  shorter.seconds_left = 5;  // "0:05" is three characters shorter than "1:02:03"
  bar.show(shorter, start + 100ms);
  EXPECT_EQ(out.str(), shown + "\r" + text_of(shorter, 130) + "   ");
  bar.say("evaluated");
  EXPECT_THAT(out.str(), ::testing::EndsWith(" \revaluated\n"));
}

TEST(RemainingTime, OneSlowRecordChangesItLittleAndALastingChangeIsFollowed) {
  RemainingTime remaining;
  for (int record = 0; record < 100; ++record) {
    remaining.add(10, 1);
  }
  EXPECT_NEAR(remaining.seconds_for(1000), 100, 1e-6);
  remaining.add(10, 5);  // alone it would say 500; it weighs a tenth
  EXPECT_NEAR(remaining.seconds_for(1000), 140, 0.1);
  for (int record = 0; record < 100; ++record) {
    remaining.add(10, 5);
  }
  EXPECT_NEAR(remaining.seconds_for(1000), 500, 0.1);  // 0.9^100 = 3e-5
}

TEST(RemainingTime, ALongTrainingIsAnnouncedWithASmallerOne) {
  EXPECT_EQ(long_training_text(34, 9699, "small.toml"),
            "the first step took 34 s on this CPU: 9699 more will take about 4 days; --config "
            "small.toml trains in minutes");
  EXPECT_EQ(long_training_text(0.5, 7200, ""),
            "the first step took 0.5 s on this CPU: 7200 more will take about 60 minutes");
  EXPECT_EQ(long_training_text(0.5, 3599, "small.toml"), "");
}

TEST(LiveLine, IsWrittenOnATerminalTwicePerSecondAndCutAtWholeLetters) {
  using std::chrono::milliseconds;
  const LiveLine::Clock::time_point start{};
  std::ostringstream file;
  LiveLine silent(file, false);
  silent.show("text", start);
  silent.clear();
  EXPECT_EQ(file.str(), "");

  std::ostringstream screen;
  LiveLine line(screen, true);
  line.show("one", start);
  line.show("early", start + milliseconds(499));
  std::string wide;
  for (int letter = 0; letter < 120; ++letter) {
    wide += "ä";
  }
  line.show(wide, start + milliseconds(500));
  line.clear();
  EXPECT_EQ(screen.str(), "\r\033[Kone\r\033[K" + wide.substr(0, 2 * 99) + "\r\033[K");
}

}  // namespace
}  // namespace sing::lab::command
