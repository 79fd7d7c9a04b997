// Checks saving and loading: a resumed run has the bits of an uninterrupted one, for every rule and
// type.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sing/base/message.hpp"
#include "tests/contract/rule_variants.hpp"
#include "tests/optim/resumable_run.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/same_bytes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing {
namespace {

using test::ResumableRun;
using test::same_bytes;
using test::TemporaryFolder;

constexpr int kSteps = 9;

class StateFile : public test::BackendTest {
 protected:
  void expect_exact_resume(const Options& options, Dtype dtype, int saved_after) {
    const TemporaryFolder folder;
    ResumableRun whole(backend_, dtype, options);
    for (int step = 0; step < kSteps; ++step) {
      whole.take_step(step);
    }
    ResumableRun first(backend_, dtype, options);
    for (int step = 0; step < saved_after; ++step) {
      first.take_step(step);
    }
    first.optimizer().save(folder / "state.safetensors");
    ResumableRun second(backend_, dtype, options);
    second.copy_parameters(first);
    second.optimizer().load(folder / "state.safetensors");
    EXPECT_TRUE(same_bytes(second.everything(), first.everything())) << "just loaded";
    for (int step = saved_after; step < kSteps; ++step) {
      second.take_step(step);
    }
    EXPECT_TRUE(same_bytes(second.everything(), whole.everything())) << "after the last step";
  }
};
SING_ON_BACKENDS(StateFile, test::backend_kinds());

constexpr Dtype kFloatingTypes[] = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16,
                                    Dtype::kFloat16};

TEST_P(StateFile, BytesAreThoseOfTheFile) {
  const TemporaryFolder folder;
  ResumableRun first(backend_, Dtype::kFloat32, {});
  for (int step = 0; step < 4; ++step) {
    first.take_step(step);
  }
  const std::string bytes = first.optimizer().save_bytes();
  first.optimizer().save(folder / "state.safetensors");
  std::ifstream file(folder / "state.safetensors", std::ios::binary);
  EXPECT_EQ(bytes, std::string(std::istreambuf_iterator<char>(file), {}));
  ResumableRun second(backend_, Dtype::kFloat32, {});
  second.copy_parameters(first);
  const std::vector<std::string> before = second.everything();
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, bytes.size() - 1}) {
    EXPECT_THROW(second.optimizer().load_bytes(std::string_view(bytes).substr(0, length)),
                 FileError);
  }
  EXPECT_TRUE(same_bytes(second.everything(), before));
  second.optimizer().load_bytes(bytes);
  EXPECT_TRUE(same_bytes(second.everything(), first.everything()));
}

// The run is saved in the middle of a LookAhead period (2 and 4 of 5), before and after the late
// parameter's first gradient.
TEST_P(StateFile, ResumesExactlyForEveryRuleAndType) {
  for (const test::RuleVariant& variant : test::rule_variants()) {
    for (const Dtype dtype : kFloatingTypes) {
      for (const int saved_after : {2, 4}) {
        SCOPED_TRACE(
            fmt::format("{}, {}, saved after {}", variant.name, name_of(dtype), saved_after));
        expect_exact_resume({.rule = variant.rule}, dtype, saved_after);
      }
    }
  }
}

// The run is saved before the first step, at a merge and after it.
TEST_P(StateFile, ResumesExactlyFromAnyStep) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    for (const int saved_after : {0, 1, 5, 7}) {
      SCOPED_TRACE(fmt::format("{}, saved after {}", variant.name, saved_after));
      expect_exact_resume({.rule = variant.rule}, Dtype::kFloat32, saved_after);
    }
  }
}

TEST_P(StateFile, ResumesExactlyWithMasters) {
  for (const test::RuleVariant& variant : test::all_rules()) {
    for (const Dtype dtype : {Dtype::kBFloat16, Dtype::kFloat16}) {
      SCOPED_TRACE(fmt::format("{}, {}", variant.name, name_of(dtype)));
      expect_exact_resume({.rule = variant.rule, .master_weights = true}, dtype, 4);
    }
  }
}

TEST_P(StateFile, ResumesExactlyWithBFloat16State) {
  if (backend_->device().type != DeviceType::kCpu) {
    GTEST_SKIP() << "state in bfloat16 is for the CPU";
  }
  for (const test::RuleVariant& variant : test::all_rules()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16, Dtype::kFloat16}) {
      SCOPED_TRACE(fmt::format("{}, {}", variant.name, name_of(dtype)));
      expect_exact_resume({.rule = variant.rule, .state = StateType::kBFloat16}, dtype, 4);
    }
  }
}

TEST_P(StateFile, OfTheOtherStateTypeIsRefused) {
  const TemporaryFolder folder;
  ResumableRun saved(make_reference_backend(), Dtype::kFloat32, {.state = StateType::kBFloat16});
  saved.take_step(0);
  saved.optimizer().save(folder / "state");
  ResumableRun loaded(backend_, Dtype::kFloat32, {});
  loaded.take_step(0);
  const std::vector<std::string> before = loaded.everything();
  EXPECT_NE(test::message_of<FileError>([&] { loaded.optimizer().load(folder / "state"); })
                .find("wanted options that keep the state of 'weight' in float32, got state "
                      "'bfloat16'"),
            std::string::npos);
  EXPECT_TRUE(same_bytes(loaded.everything(), before));
}

TEST_P(StateFile, ResumesWithoutLookahead) {
  expect_exact_resume({.lookahead = std::nullopt}, Dtype::kFloat32, 3);
}

TEST_P(StateFile, RestoresOptionsFactorAndCounters) {
  const TemporaryFolder folder;
  ResumableRun saved(backend_, Dtype::kFloat32, {.non_finite = NonFinite::kSkipStep});
  saved.optimizer().set_learning_rate_factor(0.125);
  saved.optimizer().set_option(1, "weight_decay", 0.75);
  saved.optimizer().set_option(0, "normalize", "size_calibrated");
  saved.take_step(0);
  saved.spoil_gradient(0);
  saved.optimizer().step();
  saved.optimizer().save(folder / "state");
  ResumableRun loaded(backend_, Dtype::kFloat32, {});
  loaded.copy_parameters(saved);
  loaded.optimizer().load(folder / "state");
  EXPECT_TRUE(same_bytes(loaded.everything(), saved.everything()));
  EXPECT_EQ(loaded.optimizer().status().skipped_steps, 1);
  EXPECT_EQ(std::get<double>(get_option(loaded.optimizer().options(1), "weight_decay")), 0.75);
  // The factor and the policy affect the next step.
  saved.take_step(1);
  loaded.take_step(1);
  EXPECT_TRUE(same_bytes(loaded.everything(), saved.everything()));
  saved.spoil_gradient(1);
  loaded.spoil_gradient(1);
  saved.optimizer().step();
  loaded.optimizer().step();
  EXPECT_TRUE(same_bytes(loaded.everything(), saved.everything()));
  EXPECT_EQ(loaded.optimizer().status().skipped_steps, 2);
}

// The file replaces the state that existed before it was loaded.
TEST_P(StateFile, LoadReplacesWhateverWasThere) {
  const TemporaryFolder folder;
  ResumableRun saved(backend_, Dtype::kFloat32, {});
  saved.take_step(0);
  saved.optimizer().save(folder / "state");
  ResumableRun other(backend_, Dtype::kFloat32, {});
  for (int step = 0; step < 6; ++step) {
    other.take_step(step);
  }
  other.copy_parameters(saved);
  other.optimizer().load(folder / "state");
  EXPECT_TRUE(same_bytes(other.everything(), saved.everything()));
  for (int step = 1; step < kSteps; ++step) {
    saved.take_step(step);
    other.take_step(step);
  }
  EXPECT_TRUE(same_bytes(other.everything(), saved.everything()));
}

TEST_P(StateFile, SavingChangesNothing) {
  const TemporaryFolder folder;
  ResumableRun run(backend_, Dtype::kFloat32, {});
  run.take_step(0);
  const auto before = run.everything();
  run.optimizer().save(folder / "state");
  EXPECT_TRUE(same_bytes(run.everything(), before));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state"});
}

TEST_P(StateFile, NeitherSavesNorLoadsWhileSlowWeightsAreInUse) {
  const TemporaryFolder folder;
  ResumableRun run(backend_, Dtype::kFloat32, {});
  run.take_step(0);
  run.optimizer().save(folder / "state");
  run.optimizer().use_slow_weights();
  EXPECT_THROW(run.optimizer().save(folder / "other"), std::invalid_argument);
  EXPECT_THROW(run.optimizer().load(folder / "state"), std::invalid_argument);
  run.optimizer().use_fast_weights();
  EXPECT_NO_THROW(run.optimizer().load(folder / "state"));
}

// A file saved by one backend can be read by any other.
TEST_P(StateFile, TravelsBetweenBackends) {
  const TemporaryFolder folder;
  ResumableRun saved(backend_, Dtype::kFloat32, {});
  for (int step = 0; step < 5; ++step) {
    saved.take_step(step);
  }
  saved.optimizer().save(folder / "state");
  ResumableRun loaded(make_reference_backend(), Dtype::kFloat32, {});
  loaded.copy_parameters(saved);
  loaded.optimizer().load(folder / "state");
  EXPECT_TRUE(same_bytes(loaded.everything(), saved.everything()));
}

}  // namespace
}  // namespace sing
