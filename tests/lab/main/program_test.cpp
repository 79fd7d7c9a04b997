// Checks what the program `sing` does with good and bad command lines.
#include "lab/main/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sing/base/message.hpp"
#include "sing/c_api/sing.h"
#include "tests/lab/main/run_words.hpp"
#include "tests/support/read_png.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::main {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using command::kFailure;
using command::kSuccess;
using command::kUsage;
using test::run_words;
using Outcome = test::WordsOutcome;

void expect_usage_error(const std::vector<std::string>& arguments, const std::string& message) {
  const Outcome outcome = run_words(arguments);
  EXPECT_EQ(outcome.code, kUsage) << message;
  EXPECT_EQ(outcome.error, message + "\n");
  EXPECT_EQ(outcome.out, "");
}

TEST(Program, UnknownWordsAreNamedWithTheNearestKnownOne) {
  expect_usage_error({"data", "rde", "--sedd", "3", "--out", "x"},
                     "[sing data rde] wanted a known option, got '--sedd'; did you mean '--seed'?");
  expect_usage_error({"data", "rde", "--image_size=64"},
                     "[sing data rde] wanted a known option, got '--image_size'; did you mean "
                     "'--image-size'?");
  expect_usage_error(
      {"data", "rd", "--seed", "1"},
      "[sing data] wanted one of the commands rde, cifar100, mnist, pack, weights, text, got "
      "'rd'; did you mean "
      "'rde'?");
  expect_usage_error({"dat", "rde"},
                     "[sing] wanted one of the commands data, compare, tune, reproduce, report, "
                     "theory, got 'dat'"
                     "; did you mean 'data'?");
  expect_usage_error({"data", "rde", "more"}, "[sing data rde] wanted options only, got 'more'");
}

TEST(Program, SaysWhichOptionHasTooManyOrTooFewValues) {
  expect_usage_error({"data", "rde", "--seed", "3", "--check", "1", "--seed=4"},
                     "[sing data rde] wanted --seed once, got it 2 times");
  expect_usage_error({"data", "rde", "--check", "1", "--out"},
                     "[sing data rde] wanted a value of --out, got none");
  expect_usage_error({"tune", "rde"}, "[sing tune] wanted --optimizer, got none");
  expect_usage_error({"tune", "--optimizer", "adamw"}, "[sing tune] wanted TASK, got none");
  expect_usage_error({"report"}, "[sing report] wanted RUN, got none");
}

TEST(Program, SaysWhereFlagsOfATrainingBelong) {
  const auto with_train = [](CLI::App& app, command::CommandContext&) {
    app.add_subcommand("train")->add_subcommand("mnist")->add_flag("--stand-in");
  };
  for (const char* command : {"tune", "compare", "reproduce"}) {
    EXPECT_EQ(run_words({command, "--stand-in"}, with_train).error,
              fmt::format("[sing {}] wanted a known option, got '--stand-in'; flags of sing train "
                          "come last, after --\n",
                          command));
  }
  EXPECT_THAT(run_words({"tune", "--standin"}, with_train).error, Not(HasSubstr("after --")));
  EXPECT_THAT(run_words({"report", "--stand-in"}, with_train).error, Not(HasSubstr("after --")));
}

TEST(Program, HelpIsPrintedWithoutWordsAndOnRequest) {
  const Outcome help = run_words({"--help"});
  EXPECT_EQ(help.code, kSuccess);
  EXPECT_THAT(help.out, HasSubstr("compare"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"help"}}) {
    const Outcome outcome = run_words(words);
    EXPECT_EQ(outcome.code, kSuccess);
    EXPECT_EQ(outcome.out, help.out);
    EXPECT_EQ(outcome.error, "");
  }
  EXPECT_EQ(run_words({"help", "data", "rde"}).out, run_words({"data", "rde", "--help"}).out);
  EXPECT_THAT(run_words({"help", "dat"}).error, HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(run_words({"help", "data", "rde", "seed"}).error,
              HasSubstr("[sing help] wanted an option of 'rde', got 'seed'"));
}

TEST(Program, ATaskIsCheckedBeforeAnythingIsTrained) {
  const auto with_train = [](CLI::App& app, command::CommandContext&) {
    app.add_subcommand("train")->add_subcommand("rde");
  };
  const test::TemporaryFolder folder;
  const std::string out = folder / "runs";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", "rd", "--optimizers", "adamw", "--out", out},
        {"tune", "rd", "--optimizer", "adamw", "--out", out}}) {
    const Outcome outcome = run_words(words, with_train);
    EXPECT_EQ(outcome.code, kUsage);
    EXPECT_EQ(outcome.error,
              fmt::format("[sing {}] wanted a task of sing train, rde, got 'rd'; did you mean "
                          "'rde'?\n",
                          words.front()));
    EXPECT_THAT(folder.names(), IsEmpty());
  }
}

TEST(Program, AnEmptyListIsAnError) {
  for (const char* list : {"--seeds", "--learning-rates", "--optimizers"}) {
    const Outcome outcome = run_words({"compare", "rde", "--variant", "a=adamw", list, ""});
    EXPECT_EQ(outcome.code, kUsage) << list;
    EXPECT_THAT(outcome.error, HasSubstr(list));
  }
}

TEST(Program, TheVersionIsThatOfTheLibrary) {
  const Outcome outcome = run_words({"--version"});
  EXPECT_EQ(outcome.code, kSuccess);
  EXPECT_EQ(outcome.out, fmt::format("sing {}.{}.{}\n", SING_VERSION_MAJOR, SING_VERSION_MINOR,
                                     SING_VERSION_PATCH));
}

TEST(Program, MissingAndBadValuesAreReported) {
  expect_usage_error(
      {"data"},
      "[sing data] wanted one of the commands rde, cifar100, mnist, pack, weights, text, got none");
  expect_usage_error({"data", "rde"},
                     "[sing data rde] wanted --out, --preview or --check, got none of them");
  expect_usage_error({"data", "rde", "--count", "1", "--preview", "picture.jpg"},
                     "[--preview] wanted a file name that ends in .png, got 'picture.jpg'");
  expect_usage_error({"data", "rde", "--labels", "chan", "--check", "1"},
                     "[--labels] wanted one of stack, chain, got 'chan'");
  expect_usage_error({"data", "rde", "--check", "1", "--rectangles", "17"},
                     "[rde] wanted rectangles in [1, 16], got 17");
  expect_usage_error({"data", "rde", "--check", "1", "--seed", "-1"},
                     "[sing data rde] wanted seed at least 0 and finite, got -1");
  expect_usage_error({"reproduce", "--list=maybe"}, "[--list] wanted true or false, got 'maybe'");
  expect_usage_error({"compare", "rde", "--seeds", "0,x", "--", "--steps", "1"},
                     "[--seeds] wanted a whole number, got 'x'");
  expect_usage_error({"tune", "rde", "--optimizer", "adamw", "--epochs", "0"},
                     "[--epochs] wanted a number at least 1 and finite, got 0");
  expect_usage_error({"tune", "rde", "--optimizer", "adamw", "--epochs", "1e400"},
                     "[--epochs] wanted a whole number, got '1e400'");
  expect_usage_error({"tune", "rde", "--optimizer", "adamw", "--weight-decay", "-1"},
                     "[--weight-decay] wanted a number at least 0 and finite, got -1");
  expect_usage_error({"tune", "rde", "--optimizer", "adamw", "--extensions", "21"},
                     "[--extensions] wanted a number in [0, 20], got 21");
  expect_usage_error({"tune", "rde", "--optimizer", "adamw", "--protocol", "papr"},
                     "[sing tune] --protocol: wanted budget, paper, halving, got 'papr'; did you "
                     "mean 'paper'?");
  expect_usage_error({"reproduce", "--table", "cifar100", "--scale", "smol"},
                     "[sing reproduce] --scale: wanted smoke, short, full, got 'smol'; did you "
                     "mean 'smoke'?");
  EXPECT_THAT(run_words({"reproduce", "--table", "abl"}).error,
              HasSubstr("got 'abl'; did you mean 'ablation'?"));
  EXPECT_THAT(
      run_words({"tune", "rde", "--optimizer", "adamw", "--epochs", "3", "--epochs", "4"}).error,
      HasSubstr("[sing tune] wanted --epochs once, got it 2 times"));
  const Outcome name =
      run_words({"compare", "rde", "--optimizers", "adamw", "--variant", "soft=sing-adam"});
  EXPECT_EQ(name.code, kUsage);
  EXPECT_THAT(name.error, HasSubstr("got 'sing-adam'; did you mean 'sing-adamw'?"));
  EXPECT_EQ(name.out, "");  // nothing was trained
  const Outcome outcome = run_words({"data", "rde", "--check", "1x"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.error, HasSubstr("[--check]"));
  EXPECT_THAT(outcome.error, HasSubstr("'1x'"));
}

TEST(Program, HelpNamesEveryOptionWithItsDefault) {
  const Outcome outcome = run_words({"data", "rde", "--help"});
  EXPECT_EQ(outcome.code, kSuccess);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.out, HasSubstr("--min-visible INTEGER=250"));
  EXPECT_THAT(outcome.out, HasSubstr("--labels NAME=stack"));
  EXPECT_THAT(outcome.out, HasSubstr("--preview FILE"));
}

TEST(Program, WritesASetAndAPreview) {
  const test::TemporaryFolder folder;
  const std::string set = (folder / "set.safetensors").string();
  const std::string picture = (folder / "picture.png").string();
  const Outcome outcome =
      run_words({"data", "rde", "--count", "3", "--out", set, "--preview", picture});
  EXPECT_EQ(outcome.code, kSuccess) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("3 images"));
  EXPECT_THAT(outcome.out, HasSubstr("input in gray, target from violet (0) to yellow (1)"));
  EXPECT_EQ(std::filesystem::file_size(set) % 8, 0U);
  EXPECT_GT(std::filesystem::file_size(set), 3U * 128 * 128 * 9);
  const picture::Picture read = test::read_png(picture);
  EXPECT_EQ(read.width(), 12 + 2 * (3 * 128 + 2 * 4 + 12));
  EXPECT_EQ(read.height(), 12 + 2 * (128 + 12));
}

TEST(Program, OptionsAndSplitReachTheImages) {
  const test::TemporaryFolder folder;
  const auto bytes_with = [&](std::vector<std::string> more) {
    const std::string path = (folder / "set").string();
    more.insert(more.begin(), {"data", "rde", "--count", "2", "--out", path});
    EXPECT_EQ(run_words(more).code, kSuccess);
    const std::string text = test::read_whole(path);
    return text.substr(text.size() - 2 * 128 * 128);
  };
  const std::string plain = bytes_with({});
  EXPECT_EQ(bytes_with({"--threads", "1", "--seed", "0"}), plain);
  EXPECT_NE(bytes_with({"--seed", "1"}), plain);
  EXPECT_NE(bytes_with({"--test"}), plain);
  EXPECT_NE(bytes_with({"--max-side", "64"}), plain);
}

TEST(Program, AFailureLeavesNoFileAndSaysWhich) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "absent/set").string();
  const Outcome outcome = run_words({"data", "rde", "--out", path});
  EXPECT_EQ(outcome.code, kFailure);
  EXPECT_THAT(outcome.error, HasSubstr(path));
  EXPECT_EQ(run_words({"data", "rde", "--out", "/dev/full", "--count", "1"}).code, kFailure);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Program, CheckPrintsTheCounts) {
  const Outcome outcome = run_words({"data", "rde", "--check", "200", "--labels", "chain"});
  EXPECT_EQ(outcome.code, kSuccess) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("form a chain"));
  EXPECT_THAT(outcome.out, HasSubstr("100.000 %"));
}

}  // namespace
}  // namespace sing::lab::main
