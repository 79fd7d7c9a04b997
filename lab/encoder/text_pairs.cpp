// Lays out the sequences.
#include "lab/encoder/text_pairs.hpp"

namespace sing::lab::encoder {
namespace {

enum Special : std::size_t { kBegin, kEnd, kPadding, kUnknown };

}  // namespace

std::span<const std::string_view> special_tokens(model::EncoderKind kind) {
  static constexpr std::string_view kBert[] = {"[CLS]", "[SEP]", "[PAD]", "[UNK]"};
  static constexpr std::string_view kMpnet[] = {"<s>", "</s>", "<pad>", "[UNK]"};
  return kind == model::EncoderKind::kMpnet ? std::span(kMpnet) : std::span(kBert);
}

TextPairs::TextPairs(model::EncoderKind kind, const std::vector<std::string>& vocabulary,
                     bool lower_case)
    : has_types_(kind == model::EncoderKind::kBert),
      wordpiece_(vocabulary, lower_case, special_tokens(kind)[kUnknown]),
      separators_(kind == model::EncoderKind::kMpnet ? 2 : 1),
      begin_(wordpiece_.id_of(special_tokens(kind)[kBegin])),
      end_(wordpiece_.id_of(special_tokens(kind)[kEnd])),
      padding_(wordpiece_.id_of(special_tokens(kind)[kPadding])) {}

Sequence TextPairs::join(std::span<const text::PlacedToken> first,
                         std::span<const text::PlacedToken> second) const {
  Sequence sequence;
  const auto add = [&](std::int64_t id, std::int64_t type) {
    sequence.ids.push_back(id);
    sequence.types.push_back(has_types_ ? type : 0);
  };
  add(begin_, 0);
  for (const text::PlacedToken& token : first) {
    add(token.id, 0);
  }
  for (std::int64_t i = 0; i < separators_; ++i) {
    add(end_, 0);
  }
  for (const text::PlacedToken& token : second) {
    add(token.id, 1);
  }
  add(end_, 1);
  return sequence;
}

}  // namespace sing::lab::encoder
