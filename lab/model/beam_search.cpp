// Searches on the device for the best continuations and keeps the books on the host.
#include "lab/model/beam_search.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sing/base/message.hpp"

namespace sing::lab::model {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

struct Partial {
  std::vector<std::int32_t> pieces;
  float score = kImpossible;  // log-probability
  std::int64_t last = 0;
  std::int64_t before = 0;  // its hypothesis at the step before
};

struct Sentence {
  std::size_t number = 0;
  std::vector<Partial> partials;  // `width` of them
};

class Search {
 public:
  Search(const std::vector<std::int64_t>& limits, const SearchOptions& options,
         const at::TensorOptions& device)
      : limits_(limits), options_(options), device_(device), found_(limits.size()) {
    for (std::size_t number = 0; number < limits.size(); ++number) {
      Sentence sentence{.number = number,
                        .partials = std::vector<Partial>(static_cast<std::size_t>(options.width))};
      for (Partial& partial : sentence.partials) {
        partial.last = options.begin;
      }
      sentence.partials.front().score = 0;  // the others would be its copies
      active_.push_back(std::move(sentence));
    }
  }

  std::vector<std::vector<Hypothesis>> run(SearchModel& model) {
    for (std::int64_t length = 0; !active_.empty(); ++length) {
      const at::Tensor predicted = model.next(pieces());
      take(best_continuations(predicted, length), predicted.size(2), length);
      if (!active_.empty()) {
        model.select(kept_, hypotheses());
      }
    }
    for (std::vector<Hypothesis>& each : found_) {
      std::stable_sort(
          each.begin(), each.end(),
          [](const Hypothesis& one, const Hypothesis& other) { return one.score > other.score; });
    }
    return std::move(found_);
  }

 private:
  struct Continuations {
    at::Tensor scores, places;  // on the host, [sentences, count], the best first
  };

  // Makes a tensor [sentences · width] of one number per partial hypothesis.
  template <class Number, class Of>
  at::Tensor gathered(at::ScalarType type, Of number_of) const {
    const auto width = static_cast<std::int64_t>(options_.width);
    at::Tensor numbers = at::empty({static_cast<std::int64_t>(active_.size()) * width}, type);
    Number* next = numbers.mutable_data_ptr<Number>();
    for (const Sentence& sentence : active_) {
      for (const Partial& partial : sentence.partials) {
        *next++ = number_of(partial);
      }
    }
    return numbers.to(device_.device());
  }

  at::Tensor pieces() const {
    return gathered<std::int64_t>(at::kLong, [](const Partial& each) { return each.last; })
        .view({-1, options_.width});
  }
  at::Tensor hypotheses() const {
    return gathered<std::int64_t>(at::kLong, [](const Partial& each) { return each.before; });
  }

  Continuations best_continuations(const at::Tensor& predicted, std::int64_t length) const {
    at::Tensor scores = predicted + gathered<float>(at::kFloat, [](const Partial& each) {
                                      return each.score;
                                    }).view({-1, options_.width, 1});
    scores.select(2, options_.padding).fill_(kImpossible);
    at::Tensor at_limit = at::empty({static_cast<std::int64_t>(active_.size())}, at::kBool);
    for (std::size_t place = 0; place < active_.size(); ++place) {
      at_limit.mutable_data_ptr<bool>()[place] = length >= limits_[active_[place].number];
    }
    const at::Tensor is_no_end =
        at::arange(predicted.size(2), device_.dtype(at::kLong)) != options_.end;
    scores.masked_fill_(at_limit.to(device_.device()).view({-1, 1, 1}) & is_no_end, kImpossible);
    const at::Tensor flat = scores.flatten(1);
    const auto [values, places] = flat.topk(std::min(2 * options_.width, flat.size(1)), 1);
    return {values.to(at::kCPU).contiguous(), places.to(at::kCPU).contiguous()};
  }

  void take(const Continuations& best, std::int64_t vocabulary, std::int64_t length) {
    const auto width = static_cast<std::size_t>(options_.width);
    std::vector<Sentence> going_on;
    std::vector<std::int64_t> kept;
    for (std::size_t place = 0; place < active_.size(); ++place) {
      const Sentence& sentence = active_[place];
      std::vector<Hypothesis>& found = found_[sentence.number];
      Sentence next{.number = sentence.number, .partials = {}};
      const at::Tensor scores = best.scores[static_cast<std::int64_t>(place)];
      const at::Tensor places = best.places[static_cast<std::int64_t>(place)];
      for (std::int64_t rank = 0; rank < scores.size(0); ++rank) {
        const float score = scores.const_data_ptr<float>()[rank];
        if (score == kImpossible) {
          break;
        }
        const std::int64_t where = places.const_data_ptr<std::int64_t>()[rank];
        const auto from = static_cast<std::size_t>(where / vocabulary);
        const std::int64_t piece = where % vocabulary;
        if (piece == options_.end) {
          if (rank < options_.width && found.size() < width) {
            found.push_back(
                {sentence.partials[from].pieces,
                 score / std::pow(static_cast<double>(length + 1), options_.length_penalty)});
          }
        } else if (next.partials.size() < width) {
          Partial partial{.pieces = sentence.partials[from].pieces, .score = score, .last = piece};
          partial.before = static_cast<std::int64_t>(place * width + from);
          partial.pieces.push_back(static_cast<std::int32_t>(piece));
          next.partials.push_back(std::move(partial));
        }
      }
      if (found.size() < width && !next.partials.empty()) {
        while (next.partials.size() < width) {  // fewer continuations than the search is wide
          next.partials.push_back(next.partials.front());
          next.partials.back().score = kImpossible;
        }
        going_on.push_back(std::move(next));
        kept.push_back(static_cast<std::int64_t>(place));
      }
    }
    active_ = std::move(going_on);
    kept_ = at::tensor(kept, at::kLong).to(device_.device());
  }

  const std::vector<std::int64_t>& limits_;
  SearchOptions options_;
  at::TensorOptions device_;
  std::vector<std::vector<Hypothesis>> found_;
  std::vector<Sentence> active_;
  at::Tensor kept_;  // numbers of the active sentences among those of the step before
};

}  // namespace

std::vector<std::vector<Hypothesis>> search(SearchModel& model,
                                            const std::vector<std::int64_t>& limits,
                                            const SearchOptions& options,
                                            const at::TensorOptions& device) {
  SING_CHECK(options.width >= 1, "[beam search] wanted a width of at least 1, got {}",
             options.width);
  return Search(limits, options, device).run(model);
}

}  // namespace sing::lab::model
