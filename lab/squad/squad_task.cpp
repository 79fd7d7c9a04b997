// Implements question answering: windows of a context, scores of first and last tokens, answers.
#include "lab/squad/squad_task.hpp"

#include <torch/torch.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <optional>

#include "lab/command/field_flags.hpp"
#include "lab/encoder/encoder_source.hpp"
#include "lab/encoder/encoder_task_model.hpp"
#include "lab/encoder/length_batches.hpp"
#include "lab/encoder/padded_batch.hpp"
#include "lab/squad/answer_evaluator.hpp"
#include "lab/squad/options.hpp"
#include "lab/squad/squad_data.hpp"
#include "lab/squad/stand_in.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::squad {
namespace {

// Behind the sequences, int64 [B]: the places of the answer's first and last token, and the
// windows' numbers.
enum Part : std::size_t { kBegins = encoder::kPaddedParts, kEnds, kWindows };

constexpr std::uint32_t kTrainingPurpose = 1;
constexpr std::uint32_t kTestPurpose = 2;
constexpr std::uint32_t kValidationPurpose = 3;
constexpr std::int64_t kStandInTestShare = 4;  // one context for so many of training

// The texts of a split with their tokens and batches.
struct PreparedSet {
  std::vector<Paragraph> paragraphs;
  TokenizedSet tokenized;
  encoder::LengthBatches batches;

  PreparedSet(std::vector<Paragraph> texts, const encoder::TextPairs& pairs,
              const WindowShape& shape, const task::TaskSetting& setting)
      : paragraphs(std::move(texts)),
        tokenized(tokenize(paragraphs, pairs, shape, setting.data_threads)),
        batches(lengths_of(tokenized.windows), setting.seed) {}

 private:
  static std::vector<std::int64_t> lengths_of(const std::vector<Window>& windows) {
    std::vector<std::int64_t> lengths;
    for (const Window& window : windows) {
      lengths.push_back(window.length);
    }
    return lengths;
  }
};

class SquadTask final : public task::Task {
 public:
  void add_flags(CLI::App& command) override {
    command.add_option("--data", data_, "folder with train-v1.1.json and dev-v1.1.json")
        ->type_name("FOLDER")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    encoder_.add_flags(command);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_);
    append(list, encoder_.options());
    list.push_back({"data", "folder of SQuAD v1.1", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    validate(options_, "squad");
    setting_ = setting;
    SquadTexts texts = read_texts();
    encoder_.prepare("squad", options_.stand_in ? stand_in_words() : std::vector<std::string>(),
                     options_.length);
    const WindowShape shape{.length = options_.length,
                            .stride = options_.stride,
                            .question_length = options_.question_length};
    digest_ = texts.digest.empty() ? "" : texts.digest + encoder_.digest();
    training_.emplace(std::move(texts.training), encoder_.pairs(), shape, setting);
    evaluation_.emplace(std::move(texts.evaluation), encoder_.pairs(), shape, setting);
  }

  std::string notice() const override {
    return options_.stand_in
               ? "STAND-IN DATA: generated sentences with four kinds of questions, not SQuAD; the "
                 "scores say nothing about question answering"
               : "";
  }
  std::string data_digest() const override { return digest_; }

  std::int64_t example_count(task::Split split) const override {
    return static_cast<std::int64_t>(set_of(split).tokenized.windows.size());
  }
  std::string unit() const override { return "tokens"; }
  std::int64_t unit_count(const task::Batch& made) const override {
    return made[encoder::kLengths].sum().item<std::int64_t>();
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    if (request.split == task::Split::kTraining) {
      training_size_ = request.size;
    }
    PreparedSet& set = request.split == task::Split::kTraining ? *training_ : *evaluation_;
    const std::span<const std::uint64_t> numbers =
        request.split == task::Split::kTraining
            ? set.batches.training(request.epoch, request.index, request.size)
            : set.batches.evaluation(request.index, request.size);
    std::vector<encoder::Sequence> sequences;
    std::vector<std::int64_t> begins, ends, windows;
    for (const std::uint64_t number : numbers) {
      const Window& window = set.tokenized.windows[number];
      sequences.push_back(
          encoder_.pairs().join(set.tokenized.questions[window.question],
                                std::span(set.tokenized.contexts[window.paragraph])
                                    .subspan(static_cast<std::size_t>(window.first),
                                             static_cast<std::size_t>(window.count))));
      begins.push_back(window.answer_begin);
      ends.push_back(window.answer_end);
      windows.push_back(static_cast<std::int64_t>(number));
    }
    task::Batch batch = encoder::pad(sequences, encoder_.pairs().padding(), options_.length,
                                     setting_.device.is_cuda());
    batch.insert(batch.end(), {at::tensor(begins), at::tensor(ends), at::tensor(windows)});
    return batch;
  }

  task::Batch to_device(const task::Batch& made) const override {
    return encoder::moved(made, setting_.device);
  }

  // [B, 2, T]: filled-up places cannot be part of an answer.
  task::TaskModel make_model() const override {
    return encoder::encoder_task_model(
        encoder_.make_model(model::Pooler::kNone, "qa_outputs", 2),
        [](const at::Tensor& outputs, const model::EncoderInput& input) {
          return outputs.to(at::kFloat)
              .transpose(1, 2)
              .masked_fill(input.is_token.logical_not().unsqueeze(1),
                           -std::numeric_limits<float>::infinity());
        });
  }

  // A window that does not have the whole answer wants the first special token.
  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return (at::cross_entropy_loss(prediction.select(1, 0), batch[kBegins]) +
            at::cross_entropy_loss(prediction.select(1, 1), batch[kEnds])) /
           2;
  }

  std::string score_name() const override { return "F1"; }
  std::unique_ptr<task::Evaluator> make_evaluator(const task::TaskModel& /*model*/) const override {
    return std::make_unique<AnswerEvaluator>(
        evaluation_->paragraphs, evaluation_->tokenized,
        ExtractionOptions{.best = options_.best, .answer_length = options_.answer_length}, kWindows,
        training_size_ > 0
            ? std::optional(training_->batches.padding_share(training_size_, options_.length))
            : std::nullopt);
  }
  std::string picture_legend() const override {
    return "questions, the answers given, and a right answer";
  }

 private:
  const PreparedSet& set_of(task::Split split) const {
    return split == task::Split::kTraining ? *training_ : *evaluation_;
  }

  SquadTexts read_texts() const {
    if (options_.stand_in) {
      const bool validates = setting_.evaluate_on == data::EvaluationSet::kValidation;
      return {make_stand_in(options_.stand_in_count, kTrainingPurpose),
              make_stand_in(std::max<std::int64_t>(1, options_.stand_in_count / kStandInTestShare),
                            validates ? kValidationPurpose : kTestPurpose),
              ""};
    }
    SING_CHECK(std::filesystem::is_directory(data_),
               "[squad] wanted train-v1.1.json and dev-v1.1.json in the folder '{}', got no such "
               "folder: --data FOLDER says where they are. Without files: --stand-in trains on "
               "generated questions",
               data_);
    return read_squad_folder(data_, setting_.evaluate_on);
  }

  std::string data_ = "data/squad";
  SquadOptions options_;
  encoder::EncoderSource encoder_;
  task::TaskSetting setting_;
  std::string digest_;
  std::optional<PreparedSet> training_, evaluation_;
  std::atomic<std::int64_t> training_size_ = 0;  // windows per training batch; 0: none was made
};

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<SquadTask>(); }

}  // namespace sing::lab::squad
