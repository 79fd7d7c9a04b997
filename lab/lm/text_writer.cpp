// Draws one token after the other.
#include "lab/lm/text_writer.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "lab/random/random_stream.hpp"

namespace sing::lab::lm {
namespace {

constexpr std::uint32_t kWriterPurpose = 0x7E58;

// Returns the first token at which the sum of the probabilities exceeds `share`.
text::Token token_at(const at::Tensor& logits, double share) {
  const at::Tensor sums = logits.to(at::kCPU, at::kDouble).softmax(0).cumsum(0).contiguous();
  const double* const begin = sums.const_data_ptr<double>();
  const double* const last = begin + sums.numel() - 1;
  return static_cast<text::Token>(std::upper_bound(begin, last, share * *last) - begin);
}

}  // namespace

std::vector<text::Token> write_tokens(const NextTokens& model, std::vector<text::Token> begin,
                                      std::int64_t count, std::int64_t context,
                                      std::uint64_t seed) {
  random::RandomStream random(seed, 0, kWriterPurpose);
  const auto given = begin.size();
  std::vector<text::Token> tokens = std::move(begin);
  for (std::int64_t number = 0; number < count; ++number) {
    const auto seen = std::min<std::int64_t>(context, std::ssize(tokens));
    const at::Tensor last =
        ::torch::from_blob(tokens.data() + (std::ssize(tokens) - seen), {1, seen}, at::kInt)
            .to(at::kLong);
    const double share = static_cast<double>(random.next()) / 4294967296.0;
    tokens.push_back(token_at(model(last).select(1, -1).flatten(), share));
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(given));
  return tokens;
}

}  // namespace sing::lab::lm
