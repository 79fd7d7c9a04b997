// Finds likely sequences of a model that predicts one piece after the other, as fairseq's beam
// search does.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sing::lab::model {

// A model as a search sees it: it has read the same number of pieces of `width` hypotheses for each
// of several sentences.
class SearchModel {
 public:
  virtual ~SearchModel() = default;

  // Reads the last pieces [sentences, width] and returns the log-probabilities of the next ones,
  // float32 [sentences, width, pieces].
  virtual at::Tensor next(const at::Tensor& last) = 0;

  // Keeps some sentences, numbers [kept], in their order; the hypotheses that go on are the given
  // ones of sentences · width, numbers [kept · width].
  virtual void select(const at::Tensor& sentences, const at::Tensor& hypotheses) = 0;
};

struct SearchOptions {
  std::int64_t width = 5;
  double length_penalty = 1;
  std::int64_t begin = 0;    // begins every hypothesis; not a part of the result
  std::int64_t padding = 1;  // never predicted
  std::int64_t end = 2;
};

struct Hypothesis {
  std::vector<std::int32_t> pieces;  // without begin and end
  double score = 0;                  // log-probability / (pieces + 1) ^ length_penalty
};

// Returns for each sentence at most `width` complete hypotheses, the best first. Sentence i gets at
// most limits[i] pieces before its end. At each step the best 2 · width continuations are looked
// at: an end among the first `width` completes a hypothesis, and the best `width` others go on. A
// sentence is done with `width` complete hypotheses.
std::vector<std::vector<Hypothesis>> search(SearchModel& model,
                                            const std::vector<std::int64_t>& limits,
                                            const SearchOptions& options,
                                            const at::TensorOptions& device);

}  // namespace sing::lab::model
