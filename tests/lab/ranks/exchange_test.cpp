// Checks what several ranks exchange, with threads as ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "lab/ranks/ranks.hpp"

namespace sing::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// The data that the threads of a test share.
struct Meeting {
  explicit Meeting(int count) : arrived(count), tensors(static_cast<std::size_t>(count)) {}
  std::barrier<> arrived;
  std::vector<at::Tensor> tensors;
};

class ThreadRank final : public lab::ranks::Ranks {
 public:
  int exchanges = 0;  // of this rank

  ThreadRank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(meeting_.tensors.size()); }
  int rank_on_machine() const override { return rank_; }

  void sum(const at::Tensor& values) override {
    replace(values, [&] {
      at::Tensor sum = at::zeros_like(values);
      for (const at::Tensor& each : meeting_.tensors) {
        sum += each;
      }
      return sum;
    });
  }
  void broadcast(const at::Tensor& values, int from) override {
    replace(values, [&] { return meeting_.tensors[static_cast<std::size_t>(from)].clone(); });
  }
  std::vector<std::string> gather(const std::string& /*text*/) override { return {}; }
  void barrier() override { meeting_.arrived.arrive_and_wait(); }

 private:
  void replace(const at::Tensor& values, const std::function<at::Tensor()>& result) {
    ++exchanges;
    meeting_.tensors[static_cast<std::size_t>(rank_)] = values;
    barrier();
    const at::Tensor found = result();
    barrier();
    values.copy_(found);
  }

  Meeting& meeting_;
  int rank_;
};

// Calls `work` on each of `count` ranks at once.
void on_ranks(int count, const std::function<void(ThreadRank&)>& work) {
  Meeting meeting(count);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&meeting, &work, rank] {
      ThreadRank here(meeting, rank);
      work(here);
    });
  }
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

TEST(Exchange, AveragesTensorsOfOneTypeInOneSum) {
  on_ranks(2, [](ThreadRank& ranks) {
    const float rank = static_cast<float>(ranks.rank());
    const at::Tensor vector = at::full({3}, 2 * rank);
    // The elements of a transposed matrix come back to their places.
    const at::Tensor matrix = at::arange(4, at::kFloat).view({2, 2}).t() * (1 + rank);
    const at::Tensor loss = at::full({}, 10.0 + ranks.rank(), at::kDouble);
    lab::ranks::average(ranks, {loss, vector, matrix});
    EXPECT_THAT(values_of(vector), Each(1.0F));
    EXPECT_THAT(values_of(matrix), ElementsAre(0.0F, 3.0F, 1.5F, 4.5F));
    EXPECT_EQ(loss.item<double>(), 10.5);
    EXPECT_EQ(ranks.exchanges, 2);  // one for each of two types
  });
}

// Means of 1 and 4 over one and three examples are 13 / 4 over all of them.
TEST(Exchange, MeansCountAsMuchAsTheirExamples) {
  on_ranks(2, [](ThreadRank& ranks) {
    const bool first = ranks.is_first();
    const at::Tensor mean = at::full({2}, first ? 1.0F : 4.0F);
    lab::ranks::average(ranks, {mean}, first ? 1.0 : 3.0);
    EXPECT_THAT(values_of(mean), Each(3.25F));
  });
}

TEST(Exchange, BroadcastReplacesTheTensorsOfAllRanks) {
  on_ranks(3, [](ThreadRank& ranks) {
    const at::Tensor floats = at::full({2}, static_cast<float>(ranks.rank()));
    const at::Tensor integers = at::full({2}, ranks.rank(), at::kLong);
    lab::ranks::broadcast_all(ranks, {floats, integers}, 2);
    EXPECT_THAT(values_of(floats), Each(2.0F));
    EXPECT_TRUE(integers.equal(at::full({2}, 2, at::kLong)));
  });
}

TEST(Exchange, RanksAgreeOnWhatOneOfThemSays) {
  on_ranks(3, [](ThreadRank& ranks) {
    EXPECT_TRUE(lab::ranks::any_of(ranks, ranks.rank() == 1));
    EXPECT_FALSE(lab::ranks::any_of(ranks, false));
    EXPECT_EQ(lab::ranks::sum_of(ranks, ranks.rank()), 3);
  });
}

}  // namespace
}  // namespace sing::test
