// Adds up the right examples of an evaluation on the device.
#include "lab/task/counting_task.hpp"

namespace sing::lab::task {
namespace {

class RightCounter final : public Evaluator {
 public:
  explicit RightCounter(const CountingTask& task) : task_(task) {}

  void add(const at::Tensor& prediction, const Batch& batch) override {
    const at::Tensor right = task_.right_count(prediction, batch);
    right_ = right_.defined() ? right_ + right : right;
  }

  Scores scores(double /*loss*/) override {
    const std::int64_t right = right_.defined() ? right_.item<std::int64_t>() : 0;
    return {.accuracy =
                static_cast<double>(right) / static_cast<double>(task_.example_count(Split::kTest)),
            .others = {},
            .sample = {}};
  }

 private:
  const CountingTask& task_;
  at::Tensor right_;
};

}  // namespace

std::unique_ptr<Evaluator> CountingTask::make_evaluator(const TaskModel& /*model*/) const {
  return std::make_unique<RightCounter>(*this);
}

}  // namespace sing::lab::task
