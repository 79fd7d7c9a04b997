// Checks CUDA graphs: a captured step replays like the eager one, uses new options, and rejects
// what it could not replay.
#include <limits>

#include "tests/backend/cuda/cuda_fixture.hpp"
#include "tests/backend/cuda/step_list.hpp"
#include "tests/support/message_of.hpp"

namespace sing::test {
namespace {

class CapturedStep : public CudaTest {
 protected:
  void TearDown() override {
    for (cudaGraphExec_t graph : graphs_) {
      EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
    }
    CudaTest::TearDown();
  }

  // Captures one step of the list as a graph.
  cudaGraphExec_t capture(StepList& list) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    list.step();
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    graphs_.push_back(executable);
    return executable;
  }

  void replay(cudaGraphExec_t graph) { ASSERT_EQ(cudaGraphLaunch(graph, stream_), cudaSuccess); }

  // Takes the list's first step eagerly and captures a graph; later calls replay the graph.
  void step_or_replay(StepList& list, cudaGraphExec_t& graph) {
    if (graph != nullptr) {
      replay(graph);
      return;
    }
    list.step();
    graph = capture(list);
  }

  // Returns the message of a step that is rejected during capture.
  std::string refusal(StepList& list) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    const std::string message = message_of<std::invalid_argument>([&] { list.step(); });
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return message;
  }

  std::vector<cudaGraphExec_t> graphs_;
};

GroupStep group_of(std::size_t rule) {
  GroupStep group = soft_adamw();
  std::size_t index = 0;
  for_each_rule_type([&]<class R>() {
    if (index++ == rule) {
      group.rule = R{};
    }
  });
  return group;
}

TEST_F(CapturedStep, ReplaysAsTheEagerStepsForEveryRule) {
  for (std::size_t rule = 0; rule < kRuleCount; ++rule) {
    StepList eager(make(), mixed_shapes(), {}, group_of(rule));
    StepList captured(make(), mixed_shapes(), {}, group_of(rule));
    cudaGraphExec_t graph = nullptr;
    for (int step = 0; step < 7; ++step) {
      eager.set_gradients(step);
      captured.set_gradients(step);
      eager.step();
      step_or_replay(captured, graph);
    }
    EXPECT_EQ(eager.bytes(), captured.bytes()) << "rule " << rule;
    EXPECT_EQ(captured.group_steps(), 7);
    EXPECT_EQ(captured.tensor_progress(0).steps, 7);
  }
}

TEST_F(CapturedStep, CountsWhatIsNotFiniteInItsOwnReplayAlone) {
  StepList eager(make(), mixed_shapes(), {}, soft_adamw());
  StepList captured(make(), mixed_shapes(), {}, soft_adamw());
  cudaGraphExec_t graph = nullptr;
  for (int step = 0; step < 4; ++step) {
    for (StepList* each : {&eager, &captured}) {
      each->set_gradients(step);
      if (step == 2) {
        each->poison(1, 0, std::numeric_limits<double>::quiet_NaN());
      }
    }
    eager.step();
    step_or_replay(captured, graph);
    EXPECT_EQ(captured.progress().skipped_tensors, step < 2 ? 0 : 1);
  }
  EXPECT_EQ(captured.progress().first_non_finite, 2);
  EXPECT_EQ(captured.tensor_progress(1).steps, 3);
  EXPECT_EQ(captured.tensor_progress(0).steps, 4);
  EXPECT_EQ(captured.bytes(), eager.bytes());
}

TEST_F(CapturedStep, SeesALearningRateUploadedBetweenReplays) {
  StepList eager(make(), mixed_shapes(), {}, soft_adamw());
  const std::shared_ptr<Backend> backend = make();
  StepList captured(backend, mixed_shapes(), {}, soft_adamw());
  eager.set_gradients(0);
  captured.set_gradients(0);
  eager.step();
  captured.step();
  const cudaGraphExec_t graph = capture(captured);
  for (const double factor : {0.5, 0.25, 0.0}) {
    eager.group().learning_rate_factor = factor;
    captured.group().learning_rate_factor = factor;
    eager.step();
    backend->upload(captured.request());
    replay(graph);
    EXPECT_EQ(eager.bytes(), captured.bytes()) << "factor " << factor;
  }
}

TEST_F(CapturedStep, ClipsByALimitUploadedBetweenReplays) {
  GroupStep group = soft_adamw();
  group.standardize.normalize = Normalize::kOff;
  group.clip_norm = 4;
  StepList eager(make(), mixed_shapes(), {}, group);
  const std::shared_ptr<Backend> backend = make();
  StepList captured(backend, mixed_shapes(), {}, group);
  eager.set_gradients(0);
  captured.set_gradients(0);
  eager.step();
  captured.step();
  const cudaGraphExec_t graph = capture(captured);
  for (const double limit : {2.0, 0.5, 1e6}) {
    eager.group().clip_norm = limit;
    captured.group().clip_norm = limit;
    eager.step();
    backend->upload(captured.request());
    replay(graph);
    EXPECT_EQ(eager.bytes(), captured.bytes()) << "limit " << limit;
  }
}

TEST_F(CapturedStep, KeepsItsGradientsWhenEagerStepsUseOthers) {
  StepList list(make(), {{40, 384}, {50}}, {}, soft_adamw());
  StepList expected(make(), {{40, 384}, {50}}, {}, soft_adamw());
  list.set_gradients(0);
  expected.set_gradients(0);
  list.step();
  expected.step();
  const cudaGraphExec_t graph = capture(list);
  StepList other(make(), {{40, 384}, {50}}, {}, soft_adamw());
  other.set_gradients(1);
  const std::vector<TensorStep> own = list.tensors();
  for (std::size_t i = 0; i < own.size(); ++i) {
    list.tensors()[i].gradient = other.tensors()[i].gradient;
  }
  list.step();
  expected.set_gradients(1);
  expected.step();
  replay(graph);
  expected.set_gradients(0);
  expected.step();
  EXPECT_EQ(list.bytes(), expected.bytes());
}

TEST_F(CapturedStep, RefusesAMissingGradientAndNamesTheTensor) {
  StepList list(make(), {{3, 4}, {5}, {6}}, {}, soft_adamw());
  list.set_gradients(0);
  list.step();
  list.tensors()[1].gradient = nullptr;
  EXPECT_NE(refusal(list).find("got none for tensor 1 ''"), std::string::npos);
}

TEST_F(CapturedStep, RefusesOptionsThatWereNotUploaded) {
  StepList list(make(), {{3, 4}}, {}, soft_adamw());
  list.set_gradients(0);
  list.step();
  list.group().learning_rate_factor = 0.5;
  EXPECT_NE(refusal(list).find("upload them before the capture"), std::string::npos);
}

TEST_F(CapturedStep, RefusesAnUploadOfOtherCentralization) {
  const std::shared_ptr<Backend> backend = make();
  StepList list(backend, {{3, 4}}, {}, soft_adamw());
  list.set_gradients(0);
  list.step();
  capture(list);
  list.group().standardize.centralize = false;
  const std::string message =
      message_of<std::invalid_argument>([&] { backend->upload(list.request()); });
  EXPECT_NE(message.find("centralization"), std::string::npos);
}

TEST_F(CapturedStep, RefusesToBeTheFirst) {
  StepList list(make(), {{3, 4}}, {}, soft_adamw());
  list.set_gradients(0);
  const std::string before = list.bytes();
  EXPECT_NE(refusal(list).find("before they are captured"), std::string::npos);
  EXPECT_EQ(list.bytes(), before);
}

}  // namespace
}  // namespace sing::test
