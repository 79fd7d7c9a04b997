// Implements multiple choice: one encoder scores each ending behind its context.
#include "lab/choice/choice_task.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "lab/choice/choice_data.hpp"
#include "lab/choice/choice_sequences.hpp"
#include "lab/choice/stand_in.hpp"
#include "lab/command/field_flags.hpp"
#include "lab/data/parallel_chunks.hpp"
#include "lab/encoder/encoder_source.hpp"
#include "lab/encoder/encoder_task_model.hpp"
#include "lab/encoder/length_batches.hpp"
#include "lab/encoder/padded_batch.hpp"
#include "lab/task/counting_task.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::choice {
namespace {

// Behind the 4 B sequences of B questions, the places of the right endings, int64 [B].
enum Part : std::size_t { kRight = encoder::kPaddedParts };

constexpr std::uint32_t kTrainingPurpose = 1;
constexpr std::uint32_t kTestPurpose = 2;
constexpr std::uint32_t kValidationPurpose = 3;
constexpr std::int64_t kStandInTestShare = 4;  // one question for so many of training
constexpr std::size_t kChunk = 64;             // questions that a thread takes at a time

// The questions of a split as tokens, and their batches.
struct PreparedSet {
  std::vector<std::array<encoder::Sequence, kEndings>> sequences;
  std::vector<std::int64_t> right;
  encoder::LengthBatches batches;

  PreparedSet(const std::vector<ChoiceItem>& items, const encoder::TextPairs& pairs,
              std::int64_t length, const task::TaskSetting& setting)
      : sequences(tokenized(items, pairs, length, setting.data_threads)),
        batches(lengths_of(sequences), setting.seed) {
    for (const ChoiceItem& item : items) {
      right.push_back(item.right);
    }
  }

 private:
  static std::vector<std::array<encoder::Sequence, kEndings>> tokenized(
      const std::vector<ChoiceItem>& items, const encoder::TextPairs& pairs, std::int64_t length,
      int threads) {
    std::vector<std::array<encoder::Sequence, kEndings>> list(items.size());
    data::for_each_chunk(threads, items.size(), kChunk,
                         [&](std::size_t begin, std::size_t end, int) {
                           for (std::size_t i = begin; i < end; ++i) {
                             list[i] = sequences_of(items[i], pairs, length);
                           }
                         });
    return list;
  }
  static std::vector<std::int64_t> lengths_of(
      const std::vector<std::array<encoder::Sequence, kEndings>>& sequences) {
    std::vector<std::int64_t> lengths;
    for (const auto& question : sequences) {
      std::size_t longest = 0;
      for (const encoder::Sequence& each : question) {
        longest = std::max(longest, each.ids.size());
      }
      lengths.push_back(static_cast<std::int64_t>(longest));
    }
    return lengths;
  }
};

class ChoiceTask final : public task::CountingTask {
 public:
  void add_flags(CLI::App& command) override {
    command
        .add_option("--data", data_,
                    "SWAG: folder with train.csv and val.csv; HellaSwag and CODAH: the file")
        ->type_name("PATH")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    encoder_.add_flags(command);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_);
    append(list, encoder_.options());
    list.push_back({"data", "folder or file of the questions", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    validate(options_, "choice");
    setting_ = setting;
    const ChoiceData data = read_data();
    notice_ = data.notice;
    encoder_.prepare("choice", options_.stand_in ? stand_in_words() : std::vector<std::string>(),
                     options_.length);
    digest_ = data.digest.empty() ? "" : data.digest + encoder_.digest();
    training_.emplace(data.training, encoder_.pairs(), options_.length, setting);
    evaluation_.emplace(data.evaluation, encoder_.pairs(), options_.length, setting);
  }

  std::string notice() const override { return notice_; }
  std::string data_digest() const override { return digest_; }

  std::int64_t example_count(task::Split split) const override {
    const PreparedSet& set = split == task::Split::kTraining ? *training_ : *evaluation_;
    return static_cast<std::int64_t>(set.right.size());
  }
  std::string unit() const override { return "tokens"; }
  std::int64_t unit_count(const task::Batch& made) const override {
    return made[encoder::kLengths].sum().item<std::int64_t>();
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    PreparedSet& set = request.split == task::Split::kTraining ? *training_ : *evaluation_;
    const std::span<const std::uint64_t> numbers =
        request.split == task::Split::kTraining
            ? set.batches.training(request.epoch, request.index, request.size)
            : set.batches.evaluation(request.index, request.size);
    std::vector<encoder::Sequence> sequences;
    std::vector<std::int64_t> right;
    for (const std::uint64_t number : numbers) {
      sequences.insert(sequences.end(), set.sequences[number].begin(), set.sequences[number].end());
      right.push_back(set.right[number]);
    }
    task::Batch batch = encoder::pad(sequences, encoder_.pairs().padding(), options_.length,
                                     setting_.device.is_cuda());
    batch.push_back(at::tensor(right));
    return batch;
  }

  task::Batch to_device(const task::Batch& made) const override {
    return encoder::moved(made, setting_.device);
  }

  // [B, 4]: a score for each ending.
  task::TaskModel make_model() const override {
    return encoder::encoder_task_model(
        encoder_.make_model(model::Pooler::kFirstToken, "classifier", 1),
        [](const at::Tensor& outputs, const model::EncoderInput& /*input*/) {
          return outputs.view({-1, static_cast<std::int64_t>(kEndings)});
        });
  }

  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return at::cross_entropy_loss(prediction.to(at::kFloat), batch[kRight]);
  }
  at::Tensor right_count(const at::Tensor& prediction, const task::Batch& batch) const override {
    return (prediction.argmax(1) == batch[kRight]).sum();
  }

 private:
  ChoiceData read_data() const {
    if (options_.stand_in) {
      const bool validates = setting_.evaluate_on == data::EvaluationSet::kValidation;
      return {.training = make_stand_in(options_.stand_in_count, kTrainingPurpose),
              .evaluation = make_stand_in(
                  std::max<std::int64_t>(1, options_.stand_in_count / kStandInTestShare),
                  validates ? kValidationPurpose : kTestPurpose),
              .digest = {},
              .notice =
                  "STAND-IN DATA: generated sentences about eight crafts, not SWAG; the "
                  "accuracy says nothing about language"};
    }
    SING_CHECK(std::filesystem::exists(data_),
               "[choice] wanted {} at '{}', got nothing there: --data PATH says where it is. "
               "Without files: --stand-in trains on generated questions",
               options_.set == ChoiceSet::kSwag
                   ? "a folder with train.csv and val.csv"
                   : fmt::format("the file of {}", name_of(options_.set)),
               data_);
    return read_choice_data(options_.set, data_, setting_.evaluate_on);
  }

  std::string data_ = "data/swag";
  ChoiceOptions options_;
  encoder::EncoderSource encoder_;
  task::TaskSetting setting_;
  std::string notice_, digest_;
  std::optional<PreparedSet> training_, evaluation_;
};

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<ChoiceTask>(); }

}  // namespace sing::lab::choice
