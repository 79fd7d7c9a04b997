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
void short_attention(const ShortAttention& /*at*/, Stream /*stream*/) { refuse(); }
void short_attention_gradient(const ShortAttentionGradient& /*at*/, Stream /*stream*/) { refuse(); }
std::int64_t batch_norm_parts(std::int64_t /*elements*/) { refuse(); }
void batch_norm(const BatchNorm& /*at*/, Stream /*stream*/) { refuse(); }
void batch_norm_gradient(const BatchNormGradient& /*at*/, Stream /*stream*/) { refuse(); }

}  // namespace sing::lab::fused
