// Replaces the fused kernels in a build without CUDA: they throw, as no tensor can be on a GPU.
#include "lab/fused/kernels.hpp"
#include "sing/base/error.hpp"

namespace sing::lab::fused {
namespace {

[[noreturn]] void refuse() {
  throw Error("[fused] wanted a build with CUDA (SING_CUDA=ON), got one without");
}

}  // namespace

bool add_norm_supports(std::int64_t /*width*/) { return false; }
void column_sums(const ColumnSums& /*at*/, Stream /*stream*/) { refuse(); }
void add_norm(const AddNorm& /*at*/, Stream /*stream*/) { refuse(); }
void add_norm_gradient(const AddNormGradient& /*at*/, Stream /*stream*/) { refuse(); }
void bias_gelu(const BiasGelu& /*at*/, Stream /*stream*/) { refuse(); }
void bias_gelu_gradient(const BiasGeluGradient& /*at*/, Stream /*stream*/) { refuse(); }
void cross_entropy(const CrossEntropy& /*at*/, Stream /*stream*/) { refuse(); }
void scale_rows(BFloat16* /*values*/, std::int64_t /*rows*/, std::int64_t /*stride*/,
                std::int64_t /*columns*/, const float* /*factor*/, Stream /*stream*/) {
  refuse();
}
void short_attention(const ShortAttention& /*at*/, Stream /*stream*/) { refuse(); }
void short_attention_gradient(const ShortAttentionGradient& /*at*/, Stream /*stream*/) { refuse(); }
bool sequence_attention_supports(std::int64_t /*head_width*/, std::int64_t /*longest*/) {
  return false;
}
void sequence_attention(const SequenceAttention& /*at*/, Stream /*stream*/) { refuse(); }
void sequence_attention_gradient(const SequenceAttention& /*at*/,
                                 const SequenceAttentionGradient& /*to*/, Stream /*stream*/) {
  refuse();
}
std::int64_t batch_norm_parts(std::int64_t /*elements*/) { refuse(); }
void batch_norm(const BatchNorm& /*at*/, Stream /*stream*/) { refuse(); }
void batch_norm_gradient(const BatchNormGradient& /*at*/, Stream /*stream*/) { refuse(); }

}  // namespace sing::lab::fused
