// Implements language modeling: windows of a text, a GPT, and bits per byte.
#include "lab/lm/lm_task.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/command/field_flags.hpp"
#include "lab/data/sha256.hpp"
#include "lab/fused/text_functions.hpp"
#include "lab/lm/corpus.hpp"
#include "lab/lm/options.hpp"
#include "lab/lm/text_writer.hpp"
#include "lab/model/freeze_norms.hpp"
#include "lab/model/gpt.hpp"
#include "lab/random/random_stream.hpp"
#include "lab/text/code_points.hpp"
#include "lab/text/stand_in_text.hpp"
#include "lab/text/text_files.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::lm {
namespace {

// Tensors in training: inputs and targets int64 [B, context].
enum Ready : std::size_t { kInputs, kTargets };

constexpr std::uint32_t kWindowPurpose = 0x7E59;
constexpr std::uint64_t kSampleSeed = 0;
constexpr std::uint64_t kStandInSeed = 0;
constexpr std::int64_t kPromptTokens = 64;

class LmTask;

class LmEvaluator final : public task::Evaluator {
 public:
  LmEvaluator(const LmTask& task, const task::TaskModel& model) : task_(task), model_(model) {}
  void add(const at::Tensor& /*prediction*/, const task::Batch& /*batch*/) override {}
  task::Scores scores(double loss) override;

 private:
  const LmTask& task_;
  const task::TaskModel& model_;
};

class LmTask final : public task::Task {
 public:
  void add_flags(CLI::App& command) override {
    command.add_option("--data", data_, "file or folder of text")
        ->type_name("PATH")
        ->capture_default_str();
    command
        .add_option("--tokenizer", tokenizer_,
                    "bytes, characters, or gpt2:FOLDER with GPT-2's encoder.json and vocab.bpe")
        ->type_name("NAME")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    command::add_field_flags(command, model_);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_, model_);
    list.push_back({"data", "file or folder of text", data_});
    list.push_back({"tokenizer", "bytes, characters or gpt2:FOLDER", tokenizer_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    validate(options_, "lm");
    setting_ = setting;
    const std::string text = read_text();
    corpus_ = make_corpus(text, tokenizer_, options_.held_out, setting.evaluate_on);
    shape_ = model::shape_of(model_, corpus_.vocabulary->size());
    for (const auto& [part, tokens] :
         {std::pair("training", &corpus_.training), std::pair("held-out", &corpus_.evaluation)}) {
      SING_CHECK(std::ssize(*tokens) > model_.context,
                 "[lm] wanted more {} tokens than the context of {}, got {} from {} bytes of text",
                 part, model_.context, tokens->size(), text.size());
    }
    windows_.emplace(corpus_, model_.context, options_.test_windows);
    hash_tokens();
  }

  std::string notice() const override { return notice_; }
  std::string data_digest() const override { return digest_; }

  std::int64_t example_count(task::Split split) const override {
    return split == task::Split::kTraining ? (std::ssize(corpus_.training) - 1) / model_.context
                                           : windows_->count();
  }
  std::string unit() const override { return "tokens"; }
  std::int64_t unit_count(const task::Batch& made) const override {
    return made.front().size(0) * model_.context;
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const std::int64_t length = model_.context + 1;
    at::Tensor tokens =
        at::empty({request.count, length},
                  at::TensorOptions(at::kInt).pinned_memory(setting_.device.is_cuda()));
    auto* row = tokens.mutable_data_ptr<std::int32_t>();
    for (std::int64_t at = 0; at < request.count; ++at, row += length) {
      const bool training = request.split == task::Split::kTraining;
      const std::vector<text::Token>& source = training ? corpus_.training : corpus_.evaluation;
      const std::int64_t first = training ? random_window(request.epoch, request.first + at)
                                          : windows_->first_token(request.first + at);
      std::copy_n(source.begin() + first, length, row);
    }
    return {tokens};
  }

  task::Batch to_device(const task::Batch& made) const override {
    const at::Tensor tokens = made.front().to(setting_.device, /*non_blocking=*/true).to(at::kLong);
    const std::int64_t length = tokens.size(1);
    return {tokens.slice(1, 0, length - 1).contiguous(), tokens.slice(1, 1, length).contiguous()};
  }

  task::TaskModel make_model() const override {
    const auto gpt = std::make_shared<model::GptImpl>(shape_);
    if (model_.freeze_norms) {
      model::freeze_norms(*gpt);
    }
    task::TaskModel model = {
        gpt, [gpt](const task::Batch& batch) { return gpt->forward(batch[kInputs]); }};
    if (gpt->has_fused_forward()) {
      model.fused = {gpt->copied_parameters(),
                     [gpt](const task::Batch& batch, const model::WeightCopies& copies) {
                       const at::Tensor logits = gpt->fused_forward(batch[kInputs], copies);
                       return gpt->is_training()
                                  ? fused::cross_entropy(logits.flatten(0, 1),
                                                         batch[kTargets].flatten(), {})
                                  : logits;
                     }};
    }
    return model;
  }

  // In training, the prediction of the fused layers is the loss itself.
  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    return prediction.dim() == 0 ? prediction
                                 : at::cross_entropy_loss(prediction.flatten(0, 1).to(at::kFloat),
                                                          batch[kTargets].flatten());
  }

  std::unique_ptr<task::Evaluator> make_evaluator(const task::TaskModel& model) const override {
    return std::make_unique<LmEvaluator>(*this, model);
  }
  std::string picture_legend() const override {
    return "the beginning of the held-out text and, after the bar, what the model writes on";
  }

  double bits_per_byte(double loss) const {
    const auto tokens = static_cast<double>(windows_->predicted_tokens());
    return loss * tokens / static_cast<double>(windows_->bytes()) / std::numbers::ln2;
  }

  std::string sample(const task::TaskModel& model) const {
    if (options_.sample_tokens == 0) {
      return {};
    }
    const auto given = std::min({kPromptTokens, model_.context, std::ssize(corpus_.evaluation)});
    const std::vector<text::Token> prompt(corpus_.evaluation.begin(),
                                          corpus_.evaluation.begin() + given);
    const auto next = [&](const at::Tensor& tokens) {
      const sing::torch::AutocastGuard autocast(setting_.device.type(), at::kBFloat16,
                                                setting_.bf16);
      return model.forward({tokens.to(setting_.device)});
    };
    const std::vector<text::Token> written =
        write_tokens(next, prompt, options_.sample_tokens, model_.context, kSampleSeed);
    return text::valid_utf8(corpus_.vocabulary->decode(prompt)) + "▌" +
           text::valid_utf8(corpus_.vocabulary->decode(written)) + "\n";
  }

 private:
  std::string read_text() {
    if (options_.stand_in) {
      notice_ = text::stand_in_text_notice();
      return text::make_stand_in_text(kStandInSeed, options_.stand_in_bytes);
    }
    text::TextFiles files = text::read_text_files(data_);
    if (!files.left_out.empty()) {
      notice_ = fmt::format("left out {} entries that are no files or have zero bytes, such as {}",
                            files.left_out.size(), files.left_out.front().string());
    }
    digest_ = files.digest;
    return std::move(files.text);
  }

  // The tokens depend on the text, the files of the tokenizer and the tables of Unicode.
  void hash_tokens() {
    if (options_.stand_in) {
      return;
    }
    data::Sha256 hash;
    hash.add(std::as_bytes(std::span(digest_)));
    hash.add(std::as_bytes(std::span(corpus_.training)));
    digest_ = data::hexadecimal(hash.digest());
  }

  std::int64_t random_window(std::int64_t epoch, std::int64_t example) const {
    const std::int64_t number = epoch * example_count(task::Split::kTraining) + example;
    random::RandomStream random(setting_.seed, static_cast<std::uint64_t>(number), kWindowPurpose);
    return random.below(static_cast<std::uint32_t>(std::ssize(corpus_.training) - model_.context));
  }

  std::string data_ = "data/lm";
  std::string tokenizer_ = "bytes";
  LmOptions options_;
  model::GptOptions model_;
  model::GptShape shape_{};
  task::TaskSetting setting_;
  std::string notice_;
  std::string digest_;  // "" for stand-in text
  Corpus corpus_;
  std::optional<EvaluationWindows> windows_;
};

task::Scores LmEvaluator::scores(double loss) {
  task::Scores scores;
  scores.others = {{"bits per byte", task_.bits_per_byte(loss)}};
  scores.sample = task_.sample(model_);
  return scores;
}

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<LmTask>(); }

}  // namespace sing::lab::lm
