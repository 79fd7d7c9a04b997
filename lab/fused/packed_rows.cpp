// Computes the order, and attention with torch's flash attention or from padded sequences.
#include "lab/fused/packed_rows.hpp"

#include <torch/torch.h>

#include <cmath>

#include "lab/fused/kernel_arguments.hpp"

namespace sing::lab::fused {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::Function;
using ::torch::autograd::variable_list;

at::Tensor with_heads(const at::Tensor& rows, std::int64_t heads) {
  return rows.unflatten(1, {heads, rows.size(1) / heads});
}

// Attention within short sequences by our kernels.
class SequenceAttentionFunction final : public Function<SequenceAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values,
                            const at::Tensor& query_begins, const at::Tensor& key_begins,
                            const std::optional<at::Tensor>& keep, const SequenceAttention& shape) {
    at::Tensor out = at::empty({queries.size(0), queries.size(1)}, queries.options());
    SequenceAttention arguments = of(queries, keys, values, query_begins, key_begins, keep, shape);
    arguments.out = writable_bits(out);
    sequence_attention(arguments, stream_of(queries));
    variable_list saved = {queries, keys, values, query_begins, key_begins};
    if (keep) {
      saved.push_back(*keep);
    }
    context->save_for_backward(saved);
    for (const auto& [name, value] : {std::pair("sequences", shape.sequences),
                                      {"begins", shape.begins},
                                      {"heads", shape.heads},
                                      {"longest_query", shape.longest_query},
                                      {"longest_key", shape.longest_key}}) {
      context->saved_data[name] = value;
    }
    context->saved_data["keep_factor"] = static_cast<double>(shape.keep_factor);
    context->saved_data["causal"] = shape.causal;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto number = [&](const char* name) { return context->saved_data[name].toInt(); };
    const SequenceAttention shape = {
        .begins = number("begins"),
        .sequences = number("sequences"),
        .heads = number("heads"),
        .longest_query = number("longest_query"),
        .longest_key = number("longest_key"),
        .keep_factor = static_cast<float>(context->saved_data["keep_factor"].toDouble()),
        .causal = context->saved_data["causal"].toBool()};
    const at::Tensor out_gradient = gradients[0].contiguous();
    const auto made = [](const at::Tensor& like) {
      return at::empty({like.size(0), like.size(1)}, like.options());
    };
    at::Tensor query_gradient = made(saved[0]);
    at::Tensor key_gradient = made(saved[1]);
    at::Tensor value_gradient = made(saved[2]);
    sequence_attention_gradient(
        of(saved[0], saved[1], saved[2], saved[3], saved[4],
           saved.size() > 5 ? std::optional(saved[5]) : std::nullopt, shape),
        {.out_gradient = bits(out_gradient),
         .query_gradient = writable_bits(query_gradient),
         .key_gradient = writable_bits(key_gradient),
         .value_gradient = writable_bits(value_gradient)},
        stream_of(out_gradient));
    return {query_gradient, key_gradient, value_gradient, {}, {}, {}, {}};
  }

 private:
  static SequenceAttention of(const at::Tensor& queries, const at::Tensor& keys,
                              const at::Tensor& values, const at::Tensor& query_begins,
                              const at::Tensor& key_begins, const std::optional<at::Tensor>& keep,
                              SequenceAttention shape) {
    shape.queries = bits(queries);
    shape.keys = bits(keys);
    shape.values = bits(values);
    shape.query_stride = queries.stride(0);
    shape.key_stride = keys.stride(0);
    shape.value_stride = values.stride(0);
    shape.query_begins = query_begins.const_data_ptr<std::int32_t>();
    shape.key_begins = key_begins.const_data_ptr<std::int32_t>();
    shape.keep = keep ? keep->const_data_ptr<std::uint8_t>() : nullptr;
    shape.head_width = queries.size(1) / shape.heads;
    shape.scale = 1 / std::sqrt(static_cast<float>(shape.head_width));
    return shape;
  }
};

at::Tensor sequence_attention_of(const at::Tensor& queries, const PackedRows& query_rows,
                                 const at::Tensor& keys, const at::Tensor& values,
                                 const PackedRows& key_rows, const PackedAttention& options) {
  std::optional<at::Tensor> keep;
  if (options.dropout > 0) {
    keep = at::empty({queries.size(0), options.heads, key_rows.longest()},
                     queries.options().dtype(at::kByte))
               .bernoulli_(1 - options.dropout);
  }
  const SequenceAttention shape = {.begins = query_rows.begins.size(0) - 1,
                                   .sequences = query_rows.count(),
                                   .heads = options.heads,
                                   .longest_query = query_rows.longest(),
                                   .longest_key = key_rows.longest(),
                                   .keep_factor = static_cast<float>(1 / (1 - options.dropout)),
                                   .causal = options.causal};
  return SequenceAttentionFunction::apply(queries, keys, values, query_rows.begins, key_rows.begins,
                                          keep, shape);
}

bool has_words(const at::Tensor& rows) {
  return rows.stride(1) == 1 && rows.stride(0) % 8 == 0 && rows.storage_offset() % 8 == 0;
}

// torch pads heads of other widths only in scaled_dot_product_attention.
bool flash_attention_supports(std::int64_t head_width) {
  return head_width % 8 == 0 && head_width <= 256;
}

}  // namespace

// The groups of filled-up places are no longer than a sequence may be.
PackedRows pack_rows(const at::Tensor& is_token) {
  const std::int64_t all = is_token.numel();
  const std::int64_t longest = is_token.size(1);
  const auto numbers = is_token.options().dtype(at::kLong);
  const at::Tensor lengths = is_token.sum(1);
  const at::Tensor tokens = lengths.sum();
  const at::Tensor groups = (all - tokens - at::arange(0, all, longest, numbers)).clamp(0, longest);
  const at::Tensor flat = is_token.flatten();
  const at::Tensor number = flat.cumsum(0);  // count of the tokens up to each place
  const at::Tensor place = at::arange(all, numbers);
  PackedRows rows;
  rows.is_token = is_token;
  rows.places = at::where(flat, number - 1, tokens + place - number);
  rows.order = at::empty_like(place).scatter_(0, rows.places, place);
  rows.begins =
      at::cat({at::zeros({1}, numbers), at::cat({lengths, groups}).cumsum(0)}).to(at::kInt);
  return rows;
}

at::Tensor packed(const at::Tensor& padded, const PackedRows& rows) {
  return padded.flatten(0, 1).index_select(0, rows.order);
}

at::Tensor padded(const at::Tensor& packed, const PackedRows& rows) {
  return packed.index_select(0, rows.places).unflatten(0, {rows.count(), rows.longest()});
}

at::Tensor attention(const at::Tensor& queries, const PackedRows& query_rows,
                     const at::Tensor& keys, const at::Tensor& values, const PackedRows& key_rows,
                     const PackedAttention& options) {
  const bool is_half = queries.is_cuda() && queries.scalar_type() == at::kBFloat16;
  const std::int64_t head_width = queries.size(1) / options.heads;
  if (is_half && has_words(queries) && has_words(keys) && has_words(values) &&
      sequence_attention_supports(head_width, std::max(query_rows.longest(), key_rows.longest()))) {
    return sequence_attention_of(queries, query_rows, keys, values, key_rows, options);
  }
  if (is_half && flash_attention_supports(head_width)) {
    const auto results = at::_flash_attention_forward(
        with_heads(queries, options.heads), with_heads(keys, options.heads),
        with_heads(values, options.heads), query_rows.begins, key_rows.begins, query_rows.longest(),
        key_rows.longest(), options.dropout, options.causal,
        /*return_debug_mask=*/false);
    return std::get<0>(results).flatten(1);
  }
  const auto per_head = [&](const at::Tensor& tokens, const PackedRows& rows) {  // [B, heads, T, …]
    return with_heads(tokens, options.heads)
        .index_select(0, rows.places)
        .unflatten(0, {rows.count(), rows.longest()})
        .transpose(1, 2);
  };
  at::Tensor mask = key_rows.is_token.unsqueeze(1).unsqueeze(1);
  if (options.causal) {
    mask = mask.logical_and(
        at::ones({query_rows.longest(), key_rows.longest()}, mask.options()).tril());
  }
  const at::Tensor mixed =
      at::scaled_dot_product_attention(per_head(queries, query_rows), per_head(keys, key_rows),
                                       per_head(values, key_rows), mask, options.dropout);
  return packed(mixed.transpose(1, 2).flatten(2), query_rows);
}

}  // namespace sing::lab::fused
