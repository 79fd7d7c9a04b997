// Checks `sing reproduce` with a program that replaces the training, and that every row of the
// tables has a recipe.
#include "lab/reproduce/reproduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lab/command/option_texts.hpp"
#include "lab/reproduce/reproduction_table.hpp"
#include "sing/base/message.hpp"
#include "tests/lab/compare/fake_training.hpp"

namespace sing::lab::reproduce {
namespace {

using test::calls;
using test::read_whole;
using test::Said;
using test::TemporaryFolder;
using test::write_whole;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Said reproduce(const TemporaryFolder& folder, std::vector<std::string> words,
               const std::vector<std::string>& flags = {}) {
  words.insert(words.begin(), {"sing", "reproduce"});
  return test::say_with_plan(folder, std::move(words), flags);
}

TEST(Recipes, EveryRowHasOneAndEveryOneHasARow) {
  std::set<std::string> used = {"choice_demo", "lm_demo", "rde_demo", "squad_demo",
                                "translation_demo"};
  for (const PaperTable& table : paper_tables()) {
    for (const PaperRow& row : table.rows) {
      used.insert(row.recipe);
      std::set<std::string> names;
      for (const auto& [name, text] :
           command::read_option_file(std::string(SING_RECIPES "/") + row.recipe + ".toml")) {
        EXPECT_TRUE(names.insert(name).second) << row.recipe << " says " << name << " twice";
      }
      for (const char* wanted : {"optimizer", "learning_rate", "weight_decay", "epochs", "batch"}) {
        EXPECT_TRUE(names.contains(wanted)) << row.recipe << " has no " << wanted;
      }
    }
  }
  std::set<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(SING_RECIPES)) {
    found.insert(file.path().stem().string());
  }
  EXPECT_EQ(found, used);
}

constexpr const char* kPlan = R"({
  "cifar100_sgd_seed0": {"accuracy": 0.5, "loss": 0.25, "seconds": 40},
  "cifar100_sgd_seed1": {"accuracy": 0.625, "loss": 0.75, "seconds": 60},
  "cifar100_adamw_seed0": {"accuracy": 0.75, "loss": 0.5},
  "cifar100_adamw_seed1": {"status": "diverged"},
  "cifar100_adamw_clip_seed0": {"accuracy": 0.5, "loss": 0.5},
  "cifar100_adamw_clip_seed1": {"accuracy": 0.5, "loss": 0.5},
  "cifar100_adamw_gc_seed0": {"accuracy": 0.25, "loss": 1},
  "cifar100_adamw_gc_seed1": {"accuracy": 0.25, "loss": 1},
  "cifar100_adabelief_seed0": {"accuracy": 0.25, "loss": 1},
  "cifar100_adabelief_seed1": {"accuracy": 0.25, "loss": 1},
  "cifar100_sing_adamw_seed0": {"accuracy": 0.75, "loss": 0.125},
  "cifar100_sing_adamw_seed1": {"accuracy": 0.75, "loss": 0.125},
  "cifar100_plugsing_adamw_seed0": {"accuracy": 0.75, "loss": 0.25},
  "cifar100_plugsing_adamw_seed1": {"accuracy": 0.75, "loss": 0.25},
  "cifar100_sing_adamw_calibrated_seed0": {"accuracy": 0.5, "loss": 0.25},
  "cifar100_sing_adamw_calibrated_seed1": {"accuracy": 0.5, "loss": 0.25}})";

TEST(Reproduce, PutsOursBesideThePapers) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const Said said = reproduce(folder, {"--table", "cifar100", "--seeds", "2"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  // 0.5 and 0.625 have the spread 0.125 / √2, 0.25 and 0.75 the spread 0.5 / √2. The paper has no
  // losses.
  EXPECT_THAT(
      said.out,
      HasSubstr("\nResNet18 on CIFAR-100\n"
                "                         runs  accuracy          paper             loss\n"
                "SGD                      2     56.25 % ± 8.84 %  75.63 %           0.5 ± 0.35\n"
                "AdamW                    1     75 %              77.95 % ± 0.15 %  0.5         "
                "1 of 2 diverged\n"
                "AdamW, clipped           2     50 % ± 0 %        –                 0.5 ± 0     "
                "not in the paper\n"
                "AdamW + GC               2     25 % ± 0 %        –                 1 ± 0       "
                "not in the paper\n"));
  const std::string page = read_whole(folder / "runs/cifar100.html");
  EXPECT_THAT(page, HasSubstr("<td>SGD</td><td>2</td><td>56.25 % ± 8.84 %</td><td>75.63 %</td>"));
  const std::vector<std::string> first = calls(folder)[0];
  EXPECT_THAT(first, ElementsAre("train", "cifar100", "--config", SING_RECIPES "/cifar100_sgd.toml",
                                 "--seed", "0", "--plan", std::string(folder / "plan"), "--out",
                                 std::string(folder / "runs/cifar100_sgd_seed0")))
      << "full scale is the recipe alone";
  EXPECT_EQ(calls(folder)[8][5], "1") << "seed 1 comes after seed 0 of every row";

  const Said again = reproduce(folder, {"--table", "cifar100", "--seeds", "2"});
  EXPECT_EQ(calls(folder).size(), 16U);
  EXPECT_THAT(again.out,
              HasSubstr("[2/16] cifar100_adamw_seed0: accuracy 75 %, loss 0.5, 1 s (kept)"));
  EXPECT_THAT(text_of(row_states(paper_table("optimizers"), {.recipes = SING_RECIPES}, {})),
              HasSubstr("accuracy  paper    loss  paper\n"))
      << "it has losses on RDE";
}

TEST(Reproduce, ListsWhatIsDone) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({"cifar100_sgd_seed0": {"accuracy": 0.5, "loss": 0.25},
    "cifar100_adamw_seed0": {"interrupt": true, "accuracy": 0.5, "loss": 0.25}})");
  const Said stopped = reproduce(folder, {"--table", "cifar100", "--seeds", "2"});
  EXPECT_EQ(stopped.code, command::kInterruptedExit);
  const Said said = reproduce(folder, {"--list", "--table", "cifar100", "--seeds", "2"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(
      said.out,
      HasSubstr("cifar100: ResNet18 on CIFAR-100\n"
                "  SGD                      cifar100_sgd                    1 of 2 runs done\n"
                "  AdamW                    cifar100_adamw                  not done\n"));
  EXPECT_THAT(reproduce(folder, {"--list", "--table", "cifar100"}).out,
              HasSubstr("cifar100_sgd                    done, 1 run\n"));
  EXPECT_EQ(calls(folder).size(), 2U);
  const Said all = reproduce(folder, {"--list"});
  for (const PaperTable& table : paper_tables()) {
    EXPECT_THAT(all.out, HasSubstr(fmt::format("\n{}: {}\n", table.name, table.title)));
  }
}

// A row that cannot be trained is reported, never dropped.
TEST(Reproduce, ReportsWhatThisProgramDoesNotHave) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "recipes");
  for (const PaperRow& row : paper_table("cifar100").rows) {
    write_whole(folder / "recipes" / fmt::format("{}.toml", row.recipe), "optimizer = \"adamv\"\n");
  }
  write_whole(folder / "recipes/cifar100_sgd.toml", "optimizer = \"sgd\"\n");
  write_whole(folder / "plan", kPlan);
  const std::string recipes = folder / "recipes";
  const Said said = reproduce(folder, {"--table", "cifar100", "--recipes", recipes});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(said.out, HasSubstr("left out: AdamW: this program has no optimizer adamv\n"));
  EXPECT_THAT(said.out, HasSubstr("[1/1] cifar100_sgd_seed0: accuracy 50 %"));
  EXPECT_EQ(calls(folder).size(), 1U);

  // Without --program the tasks are those of this program, which cannot train here.
  const Said list = test::say({"sing", "reproduce", "--list", "--out", folder / "runs"});
  EXPECT_EQ(list.code, command::kSuccess) << list.error;
  EXPECT_THAT(list.out, HasSubstr("this program has no task imagefolder\n"));
  EXPECT_THAT(list.out, Not(HasSubstr("not done")));
}

TEST(Reproduce, SmokeTakesGeneratedDataWhereThereAreNoFilesAndSaysSo) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const std::string data = folder / "data";
  const Said said =
      reproduce(folder, {"--table", "cifar100", "--scale", "smoke"}, {"--data", data});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(said.out, HasSubstr("no data in " + data + ": generated stand-in data"));
  EXPECT_THAT(calls(folder)[0], Contains("--stand-in"));
  EXPECT_THAT(read_whole(folder / "runs/cifar100.html"), HasSubstr("generated stand-in data"));

  std::filesystem::create_directories(data);
  write_whole(folder / "data/train.bin", "");
  write_whole(folder / "data/test.bin", "");
  const ScaleFlags with_files = scale_flags("smoke", "cifar100", data);
  EXPECT_THAT(with_files.flags, Not(Contains("--stand-in")));
  EXPECT_THAT(with_files.notice, Not(HasSubstr("stand-in")));
  std::filesystem::rename(folder / "data/test.bin", folder / "data/test.bin.gz");
  EXPECT_THAT(scale_flags("smoke", "cifar100", data).flags, Not(Contains("--stand-in")));
  EXPECT_THAT(scale_flags("smoke", "rde", folder / "absent").flags, Not(Contains("--stand-in")));
  EXPECT_THAT(scale_flags("short", "cifar100", data).flags, ElementsAre("--epochs", "30"));
}

TEST(Reproduce, ATableOfSeveralTasksTrainsEachRowOnItsOwn) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", R"({"squad_adamw_seed0": {"accuracy": 0.5, "loss": 1},
    "squad_plugsing_adamw_seed0": {"accuracy": 0.5, "loss": 1},
    "squad_sing_adamw_seed0": {"accuracy": 0.625, "loss": 1},
    "translation_adamw_seed0": {"accuracy": 0.25, "loss": 3},
    "translation_plugsing_adamw_seed0": {"accuracy": 0.25, "loss": 3},
    "translation_sing_adamw_seed0": {"accuracy": 0.25, "loss": 3},
    "swag_adamw_seed0": {"accuracy": 0.25, "loss": 1},
    "swag_plugsing_adamw_seed0": {"accuracy": 0.25, "loss": 1},
    "swag_sing_adamw_seed0": {"accuracy": 0.375, "loss": 1}})");
  const Said said = reproduce(folder, {"--table", "nlp", "--scale", "smoke"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_EQ(calls(folder)[0][1], "translation");
  EXPECT_EQ(calls(folder)[3][1], "squad");
  EXPECT_EQ(calls(folder)[6][1], "choice");
  for (const auto& call : calls(folder)) {
    EXPECT_THAT(call, Contains("--stand-in"));
    EXPECT_EQ(std::count(call.begin(), call.end(), "encoder-tiny"), call[1] != "translation");
  }
  EXPECT_THAT(said.out, HasSubstr("SWAG: AdamW + SING               1     37.5 %  "));
}

// `sing train` refuses a flag that is given twice.
TEST(Reproduce, AFlagAfterTheDashesWinsOverTheScale) {
  const TemporaryFolder folder;
  write_whole(folder / "plan", kPlan);
  const Said said =
      reproduce(folder, {"--table", "cifar100", "--scale", "short"}, {"--epochs", "3"});
  EXPECT_EQ(said.code, command::kSuccess) << said.error;
  EXPECT_THAT(said.out, HasSubstr("a tenth of the epochs"));
  EXPECT_THAT(said.out, HasSubstr("; but --epochs as given\n"));
  const std::vector<std::string> first = calls(folder)[0];
  EXPECT_EQ(std::count(first.begin(), first.end(), "--epochs"), 1);
  EXPECT_THAT(first, Contains("3"));
  EXPECT_THAT(first, Not(Contains("30")));

  const ScaleFlags smoke = scale_flags("smoke", "cifar100", folder / "absent");
  const ScaleFlags left = without_given(smoke, {"--batch=8", "--epochs", "1", "--stand-in"});
  EXPECT_THAT(smoke.flags, ::testing::IsSupersetOf({"--batch", "--steps", "--stand-in"}));
  for (const char* flag : {"--batch", "16", "--steps", "--stand-in"}) {
    EXPECT_THAT(left.flags, Not(Contains(flag)));
  }
  EXPECT_THAT(left.flags, ::testing::IsSupersetOf({"--precision", "float32", "--width", "4"}));
  EXPECT_EQ(without_given(smoke, {}).flags, smoke.flags);
  EXPECT_EQ(without_given(smoke, {"--bat", "--batches"}).flags, smoke.flags);
}

TEST(Reproduce, ContinuesAfterAFailureAndEndsWithIt) {
  const TemporaryFolder folder;
  auto plan = nlohmann::json::parse(kPlan);
  plan["cifar100_sgd_seed0"] = {{"crash", 7}};
  write_whole(folder / "plan", plan.dump());
  const Said said = reproduce(folder, {"--table", "cifar100"});
  EXPECT_EQ(said.code, command::kFailure);
  EXPECT_EQ(calls(folder).size(), 8U);
  EXPECT_THAT(said.out, HasSubstr("1 of 1 failed"));
  EXPECT_THAT(said.error, HasSubstr("got 1 that failed, the first: cifar100_sgd_seed0"));
}

TEST(Reproduce, RefusesUnknownNames) {
  const TemporaryFolder folder;
  EXPECT_THAT(reproduce(folder, {"--table", "cifar10"}).error, HasSubstr("cifar100"));
  EXPECT_THAT(reproduce(folder, {}).error, HasSubstr("wanted --table or --list"));
  EXPECT_THAT(reproduce(folder, {"--table", "cifar100"}, {"--seed", "1"}).error,
              HasSubstr("got --seed, which is set for each run"));
  EXPECT_THAT(reproduce(folder, {"--table", "hosts", "--recipes", folder / "absent"}).error,
              HasSubstr("rde_sgd.toml"));
}

}  // namespace
}  // namespace sing::lab::reproduce
