// Checks what is read from files of options, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/command/option_texts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::command {
namespace {

using test::TemporaryFolder;
using test::write_whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct Command {
  CLI::App app;
  std::string rate, batch;
  bool freeze = false;

  Command() {
    app.add_option("--learning-rate,--lr", rate);
    app.add_option("--batch", batch);
    app.add_flag("--freeze-norms", freeze);
  }
};

// Returns the message about a file with this text, or "".
std::string refusal(const std::string& text) {
  const TemporaryFolder folder;
  write_whole(folder / "options", text);
  Command command;
  return test::message_of<std::invalid_argument>(
      [&] { apply_options(command.app, read_option_file(folder / "options"), "--config"); });
}

TEST(OptionFile, ReadsNamesAndValues) {
  const TemporaryFolder folder;
  write_whole(folder / "options", "# a comment\nlearning_rate = 5e-2\nbatch = \"64\"\n");
  const OptionTexts options = read_option_file(folder / "options");
  EXPECT_THAT(options, ElementsAre(Pair("learning_rate", "5e-2"), Pair("batch", "64")));
  Command command;
  apply_options(command.app, options, "--config");
  EXPECT_EQ(command.rate, "5e-2");
  EXPECT_EQ(command.batch, "64");
}

TEST(OptionFile, AnOptionThatIsGivenTwiceIsRefused) {
  EXPECT_THAT(refusal("batch = 64\nbatch = 32\n"), HasSubstr("wanted one value of 'batch', got 2"));
  EXPECT_THAT(refusal("batch = 64\nlr = 1\nbatch = 32\n"),
              HasSubstr("wanted one value of --batch, got 'batch' and 'batch'"));
  EXPECT_THAT(refusal("learning_rate = 1\nlr = 2\n"),
              HasSubstr("wanted one value of --learning-rate, got 'learning_rate' and 'lr'"));
  EXPECT_THAT(refusal("batch = [64, 32]\n"), HasSubstr("wanted one value of 'batch', got 2"));
}

TEST(OptionFile, AFileNamesNoOtherFile) {
  EXPECT_THAT(refusal("config = \"other.toml\"\n"), HasSubstr("a file cannot name another"));
}

TEST(OptionFile, ABadValueIsNamedWithItsOption) {
  EXPECT_THAT(refusal("freeze-norms = maybe\n"), HasSubstr("--freeze-norms, got 'maybe'"));
  EXPECT_THAT(refusal("[part]\nbatch = 3\n"), HasSubstr("without sections, got '[part]'"));
  EXPECT_THAT(refusal("bach = 3\n"), HasSubstr("got 'bach'; did you mean '--batch'?"));
}

}  // namespace
}  // namespace sing::lab::command
