// Checks `sing tune` with the real program: small trainings on generated digits, one after the
// other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sing/io/file_descriptor.hpp"
#include "tests/lab/training/child_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing::lab::tune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ChildProcess;
using test::read_whole;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// Trains with momentum SGD on ten patterns, in batches of eight.
Words tune_words(const fs::path& out, int images, const Words& more) {
  Words words = {"tune", "mnist", "--optimizer", "sgd", "--out", out.string()};
  words.insert(words.end(), more.begin(), more.end());
  const Words flags = {"--",
                       "--stand-in",
                       "--stand-in-train",
                       std::to_string(images),
                       "--stand-in-test",
                       "80",
                       "--pad",
                       "0",
                       "--width",
                       "4",
                       "--batch",
                       "8",
                       "--momentum",
                       "0.9",
                       "--device",
                       "cpu",
                       "--threads",
                       "1"};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

struct Told {
  int code = -1;
  std::string out;
};

Told tune(const fs::path& out, int images, const Words& more) {
  ChildProcess child(SING_PROGRAM, tune_words(out, images, more));
  Told told;
  for (std::string line; child.read_line(line);) {
    told.out += line + "\n";
  }
  const int status = child.wait();
  told.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return told;
}

json record_of(const fs::path& folder) { return json::parse(read_whole(folder / "tune.json")); }

// Returns the last line of a kind in the metrics that a run wrote.
json last_of(const fs::path& run, const std::string& kind) {
  std::istringstream lines(read_whole(run / "metrics.jsonl"));
  json last;
  for (std::string text; std::getline(lines, text);) {
    const json line = json::parse(text);
    last = line["kind"] == kind ? line : last;
  }
  return last;
}

bool is_better(const json& one, const json& other) {
  return one["accuracy"] != other["accuracy"] ? one["accuracy"] > other["accuracy"]
                                              : one["loss"] < other["loss"];
}

std::vector<json> where(const json& results, const char* name, double value) {
  std::vector<json> found;
  for (const json& result : results) {
    if (result[name] == value) {
      found.push_back(result);
    }
  }
  return found;
}

json best_of(const std::vector<json>& results) {
  return *std::min_element(results.begin(), results.end(), is_better);
}

// Waits until the training that holds a run's folder has released it.
void wait_until_left(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const FileDescriptor lock(::open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC));
    if (lock.is_open()) {
      ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
    }
  }
}

// Tries the rates of the grid, then larger ones, because the largest is the best by far, then
// decays at the best rate; the program is killed in between.
TEST(RealTuning, FollowsThePaperAndContinuesAfterAKill) {
  const TemporaryFolder folder;
  const fs::path out = folder / "runs";
  const Words flags = {"--protocol",   "paper", "--epochs",       "1",
                       "--extensions", "2",     "--weight-decay", "5e-3"};
  {
    ChildProcess child(SING_PROGRAM, tune_words(out, 640, flags));
    std::string line;
    do {
      ASSERT_TRUE(child.read_line(line));
    } while (!line.starts_with("[2] lr0.001_wd0.005_epochs1_seed0: accuracy"));
    child.send(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.wait()));
  }
  wait_until_left(out);
  const std::string kept = read_whole(out / "lr0.001_wd0.005_epochs1_seed0/metrics.jsonl");

  const Told told = tune(out, 640, flags);
  ASSERT_EQ(told.code, 0) << told.out;
  EXPECT_THAT(told.out, HasSubstr("\n[2] lr0.001_wd0.005_epochs1_seed0: accuracy "));
  EXPECT_EQ(read_whole(out / "lr0.001_wd0.005_epochs1_seed0/metrics.jsonl"), kept);
  const json record = record_of(out);
  const json& rates = record["grid"]["learning_rates"];
  ASSERT_GE(rates.size(), 5U) << "the best of the paper's four is the largest: " << record;
  EXPECT_EQ(json(std::vector<json>(rates.begin(), rates.begin() + 5)),
            json({5e-4, 1e-3, 5e-3, 1e-2, 5e-2}));
  const json at_first_decay = where(record["results"], "weight_decay", 5e-3);
  const json best_rate = best_of(at_first_decay)["learning_rate"];
  EXPECT_GE(best_rate, 5e-2);
  // Either a worse value was tried on each side, or all allowed values were tried.
  EXPECT_TRUE(best_rate != rates.back() || rates.size() == 6U) << record;
  const std::vector<json> at_best = where(record["results"], "learning_rate", best_rate);
  for (const double decay : {5e-4, 5e-3, 5e-2, 5e-1}) {
    EXPECT_EQ(where(json(at_best), "weight_decay", decay).size(), 1U) << decay;
  }
  EXPECT_EQ(record["results"].size(), rates.size() + at_best.size() - 1);
  EXPECT_EQ(record["best"]["learning_rate"], best_of(record["results"])["learning_rate"]);
  EXPECT_EQ(record["best"]["weight_decay"], best_of(record["results"])["weight_decay"]);
  for (const json& result : record["results"]) {
    const json end = last_of(out / result["run"].get<std::string>(), "end");
    EXPECT_EQ(result["loss"], end["final_loss"]);
    EXPECT_EQ(result["accuracy"], end["final_accuracy"]);
  }
  EXPECT_THAT(told.out, HasSubstr("learning rate  weight decay  epochs  accuracy"));
  EXPECT_THAT(told.out, HasSubstr("best: sing train mnist --optimizer sgd --learning-rate "));
  const std::string page = read_whole(out / "report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Tuning of sgd</h2>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"best\" style=\"background:rgb(253,231,37)"));
}

// Each round keeps the better half of the previous one and trains it from scratch for twice as
// long. Of the 64 images 6 are held out for validation, so an epoch has 7 whole batches of 8.
TEST(RealTuning, HalvesRoundAfterRound) {
  const TemporaryFolder folder;
  const fs::path out = folder / "runs";
  const Told told = tune(out, 64, {"--protocol", "halving", "--epochs", "8"});
  ASSERT_EQ(told.code, 0) << told.out;
  EXPECT_THAT(told.out, HasSubstr("round 4 of 4: 2 runs of 8 epochs, each from its start\n"));
  const json record = record_of(out);
  ASSERT_EQ(record["results"].size(), 16U + 8 + 4 + 2);
  std::set<std::pair<double, double>> kept;
  for (const int epochs : {1, 2, 4, 8}) {
    std::vector<json> round = where(record["results"], "epochs", epochs);
    ASSERT_EQ(round.size(), 16U / static_cast<std::size_t>(epochs));
    for (const json& result : round) {
      EXPECT_TRUE(epochs == 1 || kept.contains({result["learning_rate"], result["weight_decay"]}));
      EXPECT_EQ(last_of(out / result["run"].get<std::string>(), "evaluation")["step"], 7 * epochs);
    }
    std::stable_sort(round.begin(), round.end(), is_better);
    kept.clear();
    for (std::size_t place = 0; place < round.size() / 2; ++place) {
      kept.emplace(round[place]["learning_rate"], round[place]["weight_decay"]);
    }
  }
  EXPECT_THAT(kept, ElementsAre(std::pair<double, double>(record["best"]["learning_rate"],
                                                          record["best"]["weight_decay"])));
}

}  // namespace
}  // namespace sing::lab::tune
