// Implements translation: batches by tokens, label smoothing as in fairseq, BLEU.
#include "lab/translation/translation_task.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "lab/command/field_flags.hpp"
#include "lab/fused/text_functions.hpp"
#include "lab/model/translator.hpp"
#include "lab/text/bleu.hpp"
#include "lab/translation/options.hpp"
#include "lab/translation/prepared_text.hpp"
#include "lab/translation/stand_in.hpp"
#include "lab/translation/token_batches.hpp"
#include "lab/translation/translate.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::translation {
namespace {

// Tensors made on the host: pieces int64 [B, S] and [B, T], each sentence with its end.
enum Made : std::size_t { kMadeSource, kMadeTarget };
// Tensors in training. The inputs are the targets one place later: before the first piece stands
// the end of the sentence before, as in fairseq.
enum Ready : std::size_t { kSource, kInputs, kTargets };

constexpr std::int64_t kSampleSentences = 8;

// Sum of −log p over the pieces of the targets, without smoothing.
at::Tensor negative_log_likelihood(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat), targets.flatten(), {},
                                at::Reduction::Sum, text::kPadding);
}

class TranslationTask;

class TranslationEvaluator final : public task::Evaluator {
 public:
  TranslationEvaluator(const TranslationTask& task, const task::TaskModel& model)
      : task_(task), model_(model) {}

  void add(const at::Tensor& prediction, const task::Batch& batch) override {
    const at::Tensor sum = negative_log_likelihood(prediction, batch[kTargets]).to(at::kDouble);
    const at::Tensor count = (batch[kTargets] != text::kPadding).sum();
    sum_ = sum_.defined() ? sum_ + sum : sum;
    count_ = count_.defined() ? count_ + count : count;
  }
  task::Scores scores(double loss) override;

 private:
  const TranslationTask& task_;
  const task::TaskModel& model_;
  at::Tensor sum_, count_;
};

class TranslationTask final : public task::Task {
 public:
  void add_flags(CLI::App& command) override {
    command.add_option("--data", data_, "folder made by `sing data text`")
        ->type_name("FOLDER")
        ->capture_default_str();
    command::add_field_flags(command, options_);
    command::add_field_flags(command, model_);
  }

  std::vector<OptionInfo> options() const override {
    std::vector<OptionInfo> list = list_fields(options_, model_);
    list.push_back({"data", "folder made by `sing data text`", data_});
    return list;
  }

  void prepare(const task::TaskSetting& setting) override {
    validate(options_, "translation");
    validate(model_, "translation");
    setting_ = setting;
    text_ = options_.stand_in ? make_stand_in(options_.stand_in_train, options_.stand_in_test)
                              : read_prepared_text(data_);
    SING_CHECK(!model_.share_embeddings || text_.one_vocabulary,
               "[translation] wanted share_embeddings only with one vocabulary for both languages, "
               "got two");
    SING_CHECK(evaluated().count() > 0, "[translation] wanted sentences to evaluate, got none");
  }

  std::string notice() const override { return options_.stand_in ? kStandInNotice : ""; }
  std::string data_digest() const override { return text_.digest; }

  std::int64_t example_count(task::Split split) const override { return part(split).count(); }
  std::int64_t batch_count(task::Split split, std::int64_t size) const override {
    return batches(split, size).count();
  }
  std::string unit() const override { return "tokens"; }  // counted in the target
  std::int64_t unit_count(const task::Batch& made) const override {
    return weight(made).item<std::int64_t>();
  }

  task::Batch make_batch(const task::BatchRequest& request) override {
    const TokenBatches& all = batches(request.split, request.size);
    std::int64_t number = request.index;
    if (request.split == task::Split::kTraining) {
      if (request.epoch != epoch_ || request.size != epoch_size_) {
        order_ = all.order(request.epoch);
        epoch_ = request.epoch;
        epoch_size_ = request.size;
      }
      number = static_cast<std::int64_t>(order_[static_cast<std::size_t>(number)]);
    }
    std::vector<std::span<const Piece>> source;
    std::vector<std::span<const Piece>> target;
    for (const std::uint64_t pair : all.batch(number)) {
      source.push_back(part(request.split).source.sentence(static_cast<std::int64_t>(pair)));
      target.push_back(part(request.split).target.sentence(static_cast<std::int64_t>(pair)));
    }
    const bool pinned = setting_.device.is_cuda();
    return {padded_rows(source, pinned), padded_rows(target, pinned)};
  }

  task::Batch to_device(const task::Batch& made) const override {
    const at::Tensor target = made[kMadeTarget].to(setting_.device, /*non_blocking=*/true);
    const at::Tensor begin = at::full({target.size(0), 1}, text::kEnd, target.options());
    return {made[kMadeSource].to(setting_.device, /*non_blocking=*/true),
            at::cat({begin, target.slice(1, 0, target.size(1) - 1)}, 1), target};
  }

  task::TaskModel make_model() const override {
    const auto translator = std::make_shared<model::TranslatorImpl>(
        model_, model::TranslatorShape{text_.source_tokenizer->size(),
                                       text_.target_tokenizer->size(), text::kPadding});
    return {
        translator,
        [translator](const task::Batch& batch) {
          return translator->forward(batch[kSource], batch[kInputs]);
        },
        task::FusedModel{
            translator->copied_parameters(),
            [this, translator](const task::Batch& batch, const model::WeightCopies& copies) {
              const fused::PackedRows rows = fused::pack_rows(batch[kTargets] != text::kPadding);
              const at::Tensor logits =
                  translator->fused_forward(batch[kSource], batch[kInputs], rows, copies);
              return translator->is_training()
                         ? fused::cross_entropy(
                               logits, fused::packed(batch[kTargets], rows),
                               {.smoothing = options_.label_smoothing, .ignored = text::kPadding})
                         : fused::padded(logits, rows);
            }}};
  }

  // (1 − ε) · (−log p of the piece) + ε · (mean over the vocabulary of −log p), averaged over the
  // pieces: fairseq's label_smoothed_cross_entropy of version 0.8, divided by the number of tokens.
  // In training, the prediction of the fused layers is the loss itself.
  at::Tensor loss(const at::Tensor& prediction, const task::Batch& batch) const override {
    if (prediction.dim() == 0) {
      return prediction;
    }
    return at::cross_entropy_loss(prediction.flatten(0, 1).to(at::kFloat),
                                  batch[kTargets].flatten(), {}, at::Reduction::Mean,
                                  text::kPadding, options_.label_smoothing);
  }
  at::Tensor weight(const task::Batch& made) const override {
    return (made[kMadeTarget] != text::kPadding).sum();
  }

  std::string score_name() const override { return "BLEU"; }
  std::unique_ptr<task::Evaluator> make_evaluator(const task::TaskModel& model) const override {
    return std::make_unique<TranslationEvaluator>(*this, model);
  }
  std::string picture_legend() const override {
    return "source, translation and reference of some sentences";
  }

  // Translates and scores the sentences of an evaluation.
  void add_translations(const task::TaskModel& model, task::Scores& scores) const {
    const std::vector<std::int64_t> sentences = translated_sentences();
    if (sentences.empty()) {
      return;
    }
    const std::int64_t width = setting_.complete ? options_.beam : options_.evaluation_beam;
    const auto translator = std::dynamic_pointer_cast<model::TranslatorImpl>(model.module);
    const auto pieces = translate(*translator, evaluated().source, sentences,
                                  {.width = width,
                                   .length_penalty = options_.length_penalty,
                                   .length_factor = options_.length_factor,
                                   .length_offset = options_.length_offset,
                                   .device = setting_.device,
                                   .bf16 = setting_.bf16});
    std::vector<std::string> hypotheses;
    std::vector<std::string> references;
    for (std::size_t place = 0; place < sentences.size(); ++place) {
      hypotheses.push_back(text_.target_tokenizer->decode(pieces[place]));
      references.push_back(evaluated().references[static_cast<std::size_t>(sentences[place])]);
    }
    const text::BleuScores bleu = text::bleu_of(hypotheses, references);
    scores.accuracy = bleu.sacrebleu / 100;
    scores.others.emplace_back("sacrebleu (13a, exp)", bleu.sacrebleu);
    scores.others.emplace_back("fairseq's tokenized BLEU-4", bleu.tokenized);
    scores.sample =
        fmt::format("{} of {} sentences, beam {}\n", sentences.size(), evaluated().count(), width);
    const auto shown = std::min<std::size_t>(kSampleSentences, sentences.size());
    for (std::size_t number = 0; number < shown; ++number) {
      const std::size_t place = number * sentences.size() / shown;
      scores.sample +=
          fmt::format("\nsource       {}\ntranslation  {}\nreference    {}\n",
                      text_.source_tokenizer->decode(evaluated().source.sentence(sentences[place])),
                      hypotheses[place], references[place]);
    }
  }

  // Share of the training batches' tokens that fill up shorter sentences; 0 before batches are
  // made.
  double padding_share() const {
    const std::lock_guard lock(batches_mutex_);
    for (const auto& [key, made] : batches_) {
      if (key.first == task::Split::kTraining) {
        return made.padding_share();
      }
    }
    return 0;
  }

 private:
  const EncodedPairs& evaluated() const {
    return setting_.evaluate_on == data::EvaluationSet::kValidation ? text_.validation : text_.test;
  }
  const EncodedPairs& part(task::Split split) const {
    return split == task::Split::kTraining ? text_.training : evaluated();
  }

  // Divides a part once per size. A reference to an element of a map stays valid.
  const TokenBatches& batches(task::Split split, std::int64_t size) const {
    const std::lock_guard lock(batches_mutex_);
    const auto key = std::pair(split, size);
    const auto found = batches_.find(key);
    return found != batches_.end()
               ? found->second
               : batches_.emplace(key, TokenBatches(part(split), size, setting_.seed))
                     .first->second;
  }

  std::vector<std::int64_t> translated_sentences() const {
    const std::int64_t all = evaluated().count();
    const std::int64_t count =
        setting_.complete ? all : std::min(options_.evaluation_sentences, all);
    std::vector<std::int64_t> sentences;
    for (std::int64_t number = 0; number < count; ++number) {
      sentences.push_back(number * all / count);
    }
    return sentences;
  }

  std::string data_ = "data/translation";
  TranslationOptions options_;
  model::TranslatorOptions model_;
  task::TaskSetting setting_;
  PreparedText text_;
  mutable std::mutex batches_mutex_;
  mutable std::map<std::pair<task::Split, std::int64_t>, TokenBatches> batches_;
  std::vector<std::uint64_t> order_;  // order of the training batches in one epoch
  std::int64_t epoch_ = -1;
  std::int64_t epoch_size_ = 0;
};

task::Scores TranslationEvaluator::scores(double /*loss*/) {
  task::Scores scores;
  task_.add_translations(model_, scores);
  scores.others.emplace_back("negative log-likelihood, nats per token",
                             sum_.item<double>() / count_.to(at::kDouble).item<double>());
  scores.others.emplace_back("padding in training batches, %", 100 * task_.padding_share());
  return scores;
}

}  // namespace

std::unique_ptr<task::Task> make_task() { return std::make_unique<TranslationTask>(); }

}  // namespace sing::lab::translation
