// Checks the translator's forward pass, what it may see, its cache, and the beam search.
#include "lab/model/translator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>

#include "lab/model/beam_search.hpp"
#include "tests/lab/model/slow_translator.hpp"
#include "tests/support/message_of.hpp"

namespace sing::lab::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kPadding = 1;
constexpr std::int64_t kEnd = 2;
constexpr std::int64_t kSourcePieces = 13;
constexpr std::int64_t kTargetPieces = 11;
constexpr TranslatorShape kShape = {kSourcePieces, kTargetPieces, kPadding};
const TranslatorOptions kSmall = {.layers = 2, .width = 12, .feed_forward = 20, .heads = 3};

// Logits of size 1 in double, after some ten sums of up to 20 products per layer; float32 anywhere
// would appear as 1e-7. Masked attention and products of other shapes only change the order of
// sums.
constexpr double kRounding = 1e-12;

std::shared_ptr<TranslatorImpl> make_model(const TranslatorOptions& options = kSmall,
                                           const TranslatorShape& shape = kShape) {
  at::manual_seed(5);
  auto model = std::make_shared<TranslatorImpl>(options, shape);
  model->to(at::kDouble);
  model->eval();
  const at::NoGradGuard no_gradient;
  for (at::Tensor& parameter : model->parameters()) {
    parameter.add_(at::randn_like(parameter) * 0.1);  // biases are not 0, scales not 1
  }
  return model;
}

at::Tensor pieces_of(const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<at::Tensor> tensors;
  for (const auto& row : rows) {
    tensors.push_back(at::tensor(row, at::kLong));
  }
  return at::stack(tensors);
}

double largest_difference(const at::Tensor& one, const at::Tensor& other) {
  return (one - other).abs().max().item<double>();
}

void expect_equal_to_the_slow_one(const TranslatorOptions& options, const TranslatorShape& shape) {
  const auto model = make_model(options, shape);
  const std::vector<std::int64_t> source = {5, 9, 4, 10, 2};
  const std::vector<std::int64_t> target = {2, 7, 3, 8};
  const at::Tensor logits = model->forward(pieces_of({source}), pieces_of({target}))[0];
  const auto expected = test::SlowTranslator(*model, options, kPadding).logits(source, target);
  ASSERT_EQ(logits.sizes(), (std::vector<std::int64_t>{4, shape.target_pieces}));
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    EXPECT_LT(largest_difference(logits[row],
                                 at::tensor(expected[static_cast<std::size_t>(row)], at::kDouble)),
              kRounding);
  }
}

TEST(Translator, ForwardIsThatOfTheSlowImplementation) {
  expect_equal_to_the_slow_one(kSmall, kShape);
  TranslatorOptions shared = kSmall;
  shared.share_embeddings = true;
  expect_equal_to_the_slow_one(shared, {kSourcePieces, kSourcePieces, kPadding});
}

// Width 4: frequencies 1 and 10000^(−1).
TEST(Translator, PositionsAreFairseqs) {
  const at::Tensor table = sinusoidal_positions(2, 2, 4, at::kCPU).to(at::kDouble);
  const at::Tensor expected =
      at::tensor({std::sin(2.0), std::sin(2e-4), std::cos(2.0), std::cos(2e-4), std::sin(3.0),
                  std::sin(3e-4), std::cos(3.0), std::cos(3e-4)},
                 at::kDouble)
          .view({2, 4});
  constexpr double kFloatRounding = 1e-6;  // float32 angles up to 3
  EXPECT_LT(largest_difference(table, expected), kFloatRounding);
}

TEST(Translator, SizesAreFairseqs) {
  const TranslatorImpl model({}, {8848, 6632, kPadding});
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) {
    count += parameter.numel();
  }
  // Attention: 4 · (512² + 512). Feed-forward: 2 · 512 · 1024 + 1024 + 512. Norms: 1024 each.
  constexpr std::int64_t kAttention = 4 * (512 * 512 + 512);
  constexpr std::int64_t kFeedForward = 2 * 512 * 1024 + 1024 + 512;
  constexpr std::int64_t kNorm = 1024;
  EXPECT_EQ(count, (8848 + 6632) * 512 + 6 * (kAttention + kFeedForward + 2 * kNorm) +
                       6 * (2 * kAttention + kFeedForward + 3 * kNorm) + 2 * kNorm);
}

TEST(Translator, ALaterPieceChangesNoEarlierLogits) {
  const auto model = make_model();
  const at::Tensor source = pieces_of({{5, 9, 4, 2}});
  const at::Tensor one = model->forward(source, pieces_of({{2, 7, 3, 8, 4}}));
  const at::Tensor other = model->forward(source, pieces_of({{2, 7, 3, 6, 9}}));
  EXPECT_LT(largest_difference(one.slice(1, 0, 3), other.slice(1, 0, 3)), kRounding);
  EXPECT_GT(largest_difference(one.slice(1, 3, 4), other.slice(1, 3, 4)), 1e-3);
}

TEST(Translator, PaddingAndOtherSentencesChangeNothing) {
  const auto model = make_model();
  const at::Tensor alone = model->forward(pieces_of({{5, 9, 2}}), pieces_of({{2, 7, 3}}));
  const at::Tensor beside =
      model->forward(pieces_of({{5, 9, 2, kPadding, kPadding}, {4, 6, 8, 10, 2}}),
                     pieces_of({{2, 7, 3, kPadding}, {2, 5, 5, 9}}));
  EXPECT_LT(largest_difference(alone[0], beside[0].slice(0, 0, 3)), kRounding);
}

TEST(Translator, EverySourcePieceMatters) {
  const auto model = make_model();
  const at::Tensor target = pieces_of({{2, 7, 3}});
  const at::Tensor logits = model->forward(pieces_of({{5, 9, 4, 2}}), target);
  for (std::int64_t place = 0; place < 4; ++place) {
    at::Tensor changed = pieces_of({{5, 9, 4, 2}});
    changed[0][place] = 12;
    EXPECT_GT(largest_difference(logits, model->forward(changed, target)), 1e-3) << place;
  }
}

TEST(Translator, BadShapesAreRefused) {
  const auto refused = [](const TranslatorOptions& options) {
    return sing::test::message_of<std::invalid_argument>([&] { TranslatorImpl(options, kShape); });
  };
  TranslatorOptions options = kSmall;
  options.heads = 5;
  EXPECT_THAT(refused(options), HasSubstr("[translator] wanted an even width that the 5 heads"));
  options = kSmall;
  options.share_embeddings = true;
  EXPECT_THAT(refused(options), HasSubstr("got 13 source and 11 target pieces"));
}

// Three hypotheses of two sentences; after two pieces they are exchanged, and later only the second
// sentence goes on.
TEST(TranslatorCache, StepsGiveTheLogitsOfTheWholeForwardPass) {
  const auto model = make_model();
  const at::Tensor source = pieces_of({{5, 9, 2, kPadding}, {4, 6, 8, 2}});
  DecoderCache cache = model->start(model->encode(source));
  at::Tensor history = pieces_of({{2}, {2}, {2}, {2}, {2}, {2}});
  const auto check = [&](const at::Tensor& sources) {
    const std::int64_t count = sources.size(0);
    const at::Tensor stepped =
        model->step(cache, history.select(1, history.size(1) - 1).view({count, 3}));
    const at::Tensor whole =
        model->forward(sources.repeat_interleave(3, 0), history).select(1, history.size(1) - 1);
    EXPECT_LT(largest_difference(stepped.flatten(0, 1), whole), kRounding);
  };
  check(source);
  history = at::cat({history, pieces_of({{3}, {4}, {5}, {6}, {7}, {8}})}, 1);
  check(source);
  const at::Tensor exchange = at::tensor({2, 0, 0, 4, 3, 5}, at::kLong);
  cache.select(at::arange(2), exchange);
  history =
      at::cat({history.index_select(0, exchange), pieces_of({{9}, {8}, {7}, {3}, {3}, {4}})}, 1);
  check(source);
  const at::Tensor second = at::tensor({5, 3, 4}, at::kLong);
  cache.select(at::tensor({1}, at::kLong), second);
  history = at::cat({history.index_select(0, second), pieces_of({{10}, {5}, {6}})}, 1);
  check(source.slice(0, 1, 2));
}

// Predicts from random tables that depend on the number of pieces and the last one, for each
// sentence; remembers nothing else.
class TableModel final : public SearchModel {
 public:
  explicit TableModel(at::Tensor tables) : tables_(std::move(tables)) {  // [sentences, steps, V, V]
    sentences_ = at::arange(tables_.size(0));
  }
  at::Tensor next(const at::Tensor& last) override {
    const at::Tensor rows = tables_.index_select(0, sentences_).select(1, length_++);
    return rows.gather(1, last.unsqueeze(2).expand({-1, -1, rows.size(2)}));
  }
  void select(const at::Tensor& sentences, const at::Tensor& /*hypotheses*/) override {
    sentences_ = sentences_.index_select(0, sentences);
  }

 private:
  at::Tensor tables_, sentences_;
  std::int64_t length_ = 0;
};

constexpr std::int64_t kToyPieces = 6;
constexpr std::int64_t kToyLimit = 3;

at::Tensor toy_tables(std::int64_t sentences) {
  at::manual_seed(11);
  return at::log_softmax(at::randn({sentences, kToyLimit + 1, kToyPieces, kToyPieces}) * 2, -1);
}

// Every sequence of at most kToyLimit pieces with its score.
std::vector<Hypothesis> all_sequences(const at::Tensor& tables, double length_penalty) {
  std::vector<Hypothesis> found;
  const std::function<void(std::vector<std::int32_t>, float)> extend =
      [&](const std::vector<std::int32_t>& pieces, float score) {
        const auto length = static_cast<std::int64_t>(pieces.size());
        const at::Tensor row = tables[length][pieces.empty() ? 0 : pieces.back()];
        found.push_back({pieces, (score + row[kEnd].item<float>()) /
                                     std::pow(static_cast<double>(length + 1), length_penalty)});
        for (std::int32_t piece = 0; length < kToyLimit && piece < kToyPieces; ++piece) {
          if (piece != kPadding && piece != kEnd) {
            std::vector<std::int32_t> longer = pieces;
            longer.push_back(piece);
            extend(longer, score + row[piece].item<float>());
          }
        }
      };
  extend({}, 0);
  std::stable_sort(found.begin(), found.end(), [](const Hypothesis& one, const Hypothesis& other) {
    return one.score > other.score;
  });
  return found;
}

TEST(BeamSearch, AWideBeamFindsWhatExhaustiveSearchFinds) {
  const at::Tensor tables = toy_tables(2);
  for (const double penalty : {0.0, 1.0, 2.5}) {
    TableModel model(tables);
    const auto found =
        search(model, {kToyLimit, kToyLimit}, {.width = 100, .length_penalty = penalty}, at::kCPU);
    for (std::size_t sentence = 0; sentence < 2; ++sentence) {
      const auto expected = all_sequences(tables[static_cast<std::int64_t>(sentence)], penalty);
      ASSERT_EQ(expected.size(), 1U + 4 + 16 + 64);
      ASSERT_EQ(found[sentence].size(), expected.size());
      for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        EXPECT_EQ(found[sentence][rank].pieces, expected[rank].pieces);
        EXPECT_FLOAT_EQ(static_cast<float>(found[sentence][rank].score),
                        static_cast<float>(expected[rank].score));
      }
    }
  }
}

TEST(BeamSearch, NoSentenceIsLongerThanItsLimit) {
  TableModel model(toy_tables(2));
  const auto found = search(model, {0, 2}, {.width = 4}, at::kCPU);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_TRUE(found[0][0].pieces.empty());
  for (const Hypothesis& each : found[1]) {
    EXPECT_LE(each.pieces.size(), 2U);
  }
}

// Step 0: pieces 4 (0.5), 5 (0.3), end (0.2): the end is third and completes nothing in a beam
// of 2. Step 1: after 4 the end has 0.6 (total 0.3), after 5 0.9 (0.27): both complete.
TEST(BeamSearch, AnEndBeyondTheWidthCompletesNothing) {
  const double none = 1e-9;
  at::Tensor tables = at::full({1, 2, kToyPieces, kToyPieces}, none);
  tables[0][0][0][4] = 0.5;
  tables[0][0][0][5] = 0.3;
  tables[0][0][0][kEnd] = 0.2;
  tables[0][1][4][kEnd] = 0.6;
  tables[0][1][4][3] = 0.4;
  tables[0][1][5][kEnd] = 0.9;
  TableModel model(tables.log());
  const auto found = search(model, {1}, {.width = 2, .length_penalty = 0}, at::kCPU);
  ASSERT_EQ(found[0].size(), 2U);
  EXPECT_THAT(found[0][0].pieces, ElementsAre(4));
  EXPECT_THAT(found[0][1].pieces, ElementsAre(5));
  EXPECT_NEAR(found[0][0].score, std::log(0.3), 1e-6);
}

// Predicts with the translator, with its cache or from the whole hypotheses.
class ForwardModel final : public SearchModel {
 public:
  ForwardModel(std::shared_ptr<TranslatorImpl> model, at::Tensor source)
      : model_(std::move(model)), source_(std::move(source)) {}
  at::Tensor next(const at::Tensor& last) override {
    const at::Tensor column = last.flatten().unsqueeze(1);
    history_ = history_.defined() ? at::cat({history_, column}, 1) : column;
    const at::Tensor logits = model_->forward(source_.repeat_interleave(last.size(1), 0), history_);
    return at::log_softmax(logits.select(1, history_.size(1) - 1), -1)
        .to(at::kFloat)
        .view({last.size(0), last.size(1), -1});
  }
  void select(const at::Tensor& sentences, const at::Tensor& hypotheses) override {
    source_ = source_.index_select(0, sentences);
    history_ = history_.index_select(0, hypotheses);
  }

 private:
  std::shared_ptr<TranslatorImpl> model_;
  at::Tensor source_, history_;
};

class CachedModel final : public SearchModel {
 public:
  CachedModel(std::shared_ptr<TranslatorImpl> model, const at::Tensor& source)
      : model_(std::move(model)), cache_(model_->start(model_->encode(source))) {}
  at::Tensor next(const at::Tensor& last) override {
    return at::log_softmax(model_->step(cache_, last), -1).to(at::kFloat);
  }
  void select(const at::Tensor& sentences, const at::Tensor& hypotheses) override {
    cache_.select(sentences, hypotheses);
  }

 private:
  std::shared_ptr<TranslatorImpl> model_;
  DecoderCache cache_;
};

const std::vector<std::vector<std::int64_t>> kSources = {
    {5, 9, 4, 2}, {4, 2, kPadding, kPadding}, {12, 11, 2, kPadding}, {6, 6, 7, 2}};
const std::vector<std::int64_t> kLimits = {9, 4, 7, 12};

TEST(BeamSearch, TheCacheChangesNoTranslation) {
  const auto model = make_model();
  const at::Tensor source = pieces_of(kSources);
  CachedModel cached(model, source);
  ForwardModel whole(model, source);
  const auto one = search(cached, kLimits, {.width = 4}, at::kCPU);
  const auto other = search(whole, kLimits, {.width = 4}, at::kCPU);
  std::size_t pieces = 0;
  for (std::size_t sentence = 0; sentence < one.size(); ++sentence) {
    ASSERT_EQ(one[sentence].size(), other[sentence].size());
    for (std::size_t rank = 0; rank < one[sentence].size(); ++rank) {
      EXPECT_EQ(one[sentence][rank].pieces, other[sentence][rank].pieces);
      pieces += one[sentence][rank].pieces.size();
    }
  }
  EXPECT_GT(pieces, 20U);
}

TEST(BeamSearch, WidthOneIsGreedy) {
  const auto model = make_model();
  CachedModel cached(model, pieces_of(kSources));
  const auto found = search(cached, kLimits, {.width = 1}, at::kCPU);
  for (std::size_t sentence = 0; sentence < kSources.size(); ++sentence) {
    std::vector<std::int64_t> source = kSources[sentence];
    std::erase(source, kPadding);
    std::vector<std::int64_t> target = {0};
    std::vector<std::int32_t> greedy;
    while (static_cast<std::int64_t>(greedy.size()) < kLimits[sentence]) {
      at::Tensor logits = model->forward(pieces_of({source}), pieces_of({target}))[0][-1].clone();
      logits[kPadding] = -1e9;
      target.push_back(logits.argmax().item<std::int64_t>());
      if (target.back() == kEnd) {
        break;
      }
      greedy.push_back(static_cast<std::int32_t>(target.back()));
    }
    ASSERT_EQ(found[sentence].size(), 1U);
    EXPECT_EQ(found[sentence][0].pieces, greedy);
  }
}

TEST(BeamSearch, OtherSentencesOfTheBatchChangeNothing) {
  const auto model = make_model();
  CachedModel together(model, pieces_of(kSources));
  const auto found = search(together, kLimits, {.width = 3}, at::kCPU);
  for (std::size_t sentence = 0; sentence < kSources.size(); ++sentence) {
    CachedModel alone(model, pieces_of({kSources[sentence]}));
    const auto expected = search(alone, {kLimits[sentence]}, {.width = 3}, at::kCPU);
    ASSERT_EQ(found[sentence].size(), expected[0].size());
    for (std::size_t rank = 0; rank < expected[0].size(); ++rank) {
      EXPECT_EQ(found[sentence][rank].pieces, expected[0][rank].pieces);
    }
  }
}

}  // namespace
}  // namespace sing::lab::model
