// Checks what a program does that was built without MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

#include "lab/ranks/join_ranks.hpp"
#include "lab/ranks/launched_processes.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

using lab::ranks::join_ranks;
using lab::ranks::launched_processes;
using ::testing::HasSubstr;

class OneProcess : public testing::Test {
 protected:
  ~OneProcess() override {
    ::unsetenv("OMPI_COMM_WORLD_SIZE");
    ::unsetenv("PMI_SIZE");
  }
};

TEST_F(OneProcess, IsTheOnlyRankAndChangesNothing) {
  const auto ranks = join_ranks();
  EXPECT_EQ(ranks->count(), 1);
  EXPECT_TRUE(ranks->is_first());
  const at::Tensor values = at::arange(3, at::kFloat);
  lab::ranks::average(*ranks, {values});
  lab::ranks::broadcast_all(*ranks, {values}, 0);
  EXPECT_TRUE(values.equal(at::arange(3, at::kFloat)));
  EXPECT_FALSE(lab::ranks::any_of(*ranks, false));
  EXPECT_TRUE(lab::ranks::any_of(*ranks, true));
  EXPECT_EQ(ranks->gather("text"), std::vector<std::string>{"text"});
}

TEST_F(OneProcess, IsWhatAnMpirunOfOneStarts) {
  ::setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(join_ranks()->count(), 1);
}

TEST_F(OneProcess, SaysWhatToInstallWhenSeveralAreStarted) {
  for (const char* variable : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    ::setenv(variable, "3", 1);
    EXPECT_EQ(launched_processes(), 3);
    const std::string message = message_of<std::invalid_argument>([] { join_ranks(); });
    EXPECT_THAT(message, HasSubstr("to train with 3 processes"));
    EXPECT_THAT(message, HasSubstr("apt-get install libopenmpi-dev openmpi-bin"));
  }
}

}  // namespace
}  // namespace sing::test
