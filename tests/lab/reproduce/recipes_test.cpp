// Trains two steps of every recipe at the smallest scale, to check that each option in it is known
// and has an allowed value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/command/option_texts.hpp"
#include "lab/main/task_registry.hpp"
#include "lab/reproduce/paper_tables.hpp"
#include "lab/reproduce/scale.hpp"
#include "sing/optim/named_options.hpp"
#include "tests/lab/training/tiny_run.hpp"

namespace sing::lab::reproduce {
namespace {

bool has_task(std::string_view name) {
  const auto entries = main::task_entries();
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return entry.name == name; });
}

bool has_optimizer(const std::string& recipe) {
  const std::vector<std::string> known = optimizer_names();
  for (const auto& [name, text] : command::read_option_file(recipe)) {
    if (name == "optimizer") {
      return std::find(known.begin(), known.end(), text) != known.end();
    }
  }
  return false;
}

class EveryTable : public testing::TestWithParam<const char*> {};

TEST_P(EveryTable, TrainsTwoStepsOfEachRecipe) {
  const PaperTable& table = paper_table(GetParam());
  const test::TemporaryFolder folder;
  for (const PaperRow& row : table.rows) {
    const std::string recipe = std::string(SING_RECIPES "/") + row.recipe + ".toml";
    const char* const task = table.task_of(row);
    if (!has_task(task) || !has_optimizer(recipe)) {
      continue;  // `sing reproduce` reports it
    }
    test::Words words = {"train", task, "--config", recipe};
    for (const std::string& flag : scale_flags("smoke", task, folder / "absent").flags) {
      words.push_back(flag);
    }
    const auto replace = [&](const std::string& flag, const std::string& value) {
      const auto found = std::find(words.begin(), words.end(), flag);
      ASSERT_NE(found, words.end()) << flag;
      *std::next(found) = value;
    };
    replace("--steps", "2");
    replace("--evaluate-steps", "2");
    if (std::string_view(task) != "translation") {  // which counts tokens
      replace("--batch", "8");
    }
    words.insert(words.end(), {"--device", "cpu", "--threads", "1"});
    words.insert(words.end(), {"--out", folder / row.recipe});
    const test::Outcome outcome = test::run_sing(words);
    EXPECT_EQ(outcome.code, 0) << row.recipe << ": " << outcome.error << outcome.out;
    const auto config =
        nlohmann::json::parse(test::read_whole(folder / row.recipe / "config.json"));
    for (const auto& [name, text] : command::read_option_file(recipe)) {
      EXPECT_TRUE(config["options"].contains(name)) << row.recipe << " says " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, EveryTable,
                         testing::Values("ablation", "hosts", "optimizers", "cifar100", "imagenet",
                                         "nlp"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace sing::lab::reproduce
