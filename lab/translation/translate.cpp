// Translates batches of sentences of similar lengths.
#include "lab/translation/translate.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "adapters/torch/autocast_guard.hpp"
#include "lab/model/beam_search.hpp"

namespace sing::lab::translation {
namespace {

class CachedTranslator final : public model::SearchModel {
 public:
  CachedTranslator(model::TranslatorImpl& model, const at::Tensor& source)
      : model_(model), cache_(model.start(model.encode(source))) {}

  at::Tensor next(const at::Tensor& last) override {
    return at::log_softmax(model_.step(cache_, last).to(at::kFloat), -1);
  }
  void select(const at::Tensor& sentences, const at::Tensor& hypotheses) override {
    cache_.select(sentences, hypotheses);
  }

 private:
  model::TranslatorImpl& model_;
  model::DecoderCache cache_;
};

std::vector<std::vector<model::Hypothesis>> translate_batch(
    model::TranslatorImpl& model, const std::vector<std::span<const Piece>>& rows,
    const SearchSetting& setting) {
  std::vector<std::int64_t> limits;
  for (const std::span<const Piece> row : rows) {
    limits.push_back(
        static_cast<std::int64_t>(setting.length_factor * static_cast<double>(row.size())) +
        setting.length_offset);
  }
  const sing::torch::AutocastGuard autocast(setting.device.type(), at::kBFloat16, setting.bf16);
  CachedTranslator cached(model, padded_rows(rows, false).to(setting.device));
  // Hypotheses begin with the end of the sentence before, as in fairseq.
  return model::search(cached, limits,
                       {.width = setting.width,
                        .length_penalty = setting.length_penalty,
                        .begin = text::kEnd,
                        .padding = text::kPadding,
                        .end = text::kEnd},
                       at::TensorOptions(setting.device));
}

}  // namespace

at::Tensor padded_rows(const std::vector<std::span<const Piece>>& rows, bool pinned) {
  std::size_t longest = 0;
  for (const std::span<const Piece> row : rows) {
    longest = std::max(longest, row.size());
  }
  at::Tensor padded =
      at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)},
                at::TensorOptions(at::kLong).pinned_memory(pinned));
  auto* next = padded.mutable_data_ptr<std::int64_t>();
  for (const std::span<const Piece> row : rows) {
    std::fill(std::copy(row.begin(), row.end(), next), next + longest,
              static_cast<std::int64_t>(text::kPadding));
    next += longest;
  }
  return padded;
}

std::vector<std::vector<Piece>> translate(model::TranslatorImpl& model,
                                          const EncodedSentences& source,
                                          std::span<const std::int64_t> sentences,
                                          const SearchSetting& setting) {
  const at::NoGradGuard no_gradient;
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return source.length(sentences[one]) < source.length(sentences[other]);
  });
  std::vector<std::vector<Piece>> translations(sentences.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::vector<std::span<const Piece>> rows;
    std::size_t end = begin;
    for (; end < order.size(); ++end) {
      const std::span<const Piece> row = source.sentence(sentences[order[end]]);
      const auto tokens = static_cast<std::int64_t>((rows.size() + 1) * row.size());
      if (!rows.empty() && tokens * setting.width > setting.batch_tokens) {
        break;
      }
      rows.push_back(row);
    }
    const auto found = translate_batch(model, rows, setting);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      // A model whose predictions are not numbers finds nothing.
      if (!found[row].empty()) {
        translations[order[begin + row]] = found[row].front().pieces;
      }
    }
    begin = end;
  }
  return translations;
}

}  // namespace sing::lab::translation
