// Computes attention within short sequences that lie one after the other. A block takes one head of
// one sequence and keeps its rows in shared memory; a warp takes a query at a time, its lanes the
// keys, and then the features.
#include "lab/fused/pack.cuh"

namespace sing::lab::fused {
namespace {

constexpr int kBlockWarps = 4;
constexpr int kBlockThreads = kBlockWarps * kWarp;
constexpr int kKeysOfLane = static_cast<int>(kLongestSequence) / kWarp;
constexpr int kWord = 8;  // bf16 elements

// Rows of kWidth bf16 elements in shared memory. Eight lanes that read a word each of eight rows
// find them in different banks.
template <int kWidth>
struct Rows {
  static constexpr int kWords = kWidth / kWord + 1;
  uint4* words;

  __device__ const uint4& word(int row, int number) const { return words[row * kWords + number]; }

  // Returns feature `lane + 32 i` of a row.
  __device__ float feature(int row, int i) const {
    const auto* const elements = reinterpret_cast<const __nv_bfloat16*>(words + row * kWords);
    return __bfloat162float(elements[static_cast<int>(threadIdx.x) + kWarp * i]);
  }

  __device__ void load(const BFloat16* values, std::int64_t first, std::int64_t stride, int count) {
    const int thread = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
    for (int place = thread; place < count * (kWidth / kWord); place += kBlockThreads) {
      const int row = place / (kWidth / kWord);
      const int number = place % (kWidth / kWord);
      words[row * kWords + number] =
          __ldg(reinterpret_cast<const uint4*>(values) + (first + row * stride) / kWord + number);
    }
  }
};

__device__ float dot(const uint4& a, const uint4& b, float sum) {
  const auto& left = reinterpret_cast<const Pack<kWord / 2>&>(a);
  const auto& right = reinterpret_cast<const Pack<kWord / 2>&>(b);
#pragma unroll
  for (int i = 0; i < kWord / 2; ++i) {
    const float2 x = __bfloat1622float2(left.pair[i]);
    const float2 y = __bfloat1622float2(right.pair[i]);
    sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
  }
  return sum;
}

// Computes the products of a row with the rows of the lane's keys.
template <int kWidth>
__device__ void products(const Rows<kWidth>& of, int row, const Rows<kWidth>& others, int keys,
                         float (&sums)[kKeysOfLane]) {
#pragma unroll
  for (int i = 0; i < kKeysOfLane; ++i) {
    const int key = static_cast<int>(threadIdx.x) + kWarp * i;
    sums[i] = 0;
    if (key < keys) {
#pragma unroll
      for (int number = 0; number < kWidth / kWord; ++number) {
        sums[i] = dot(of.word(row, number), others.word(key, number), sums[i]);
      }
    }
  }
}

// Turns scores into probabilities; those of keys that the query does not see become 0.
__device__ void soften(float (&scores)[kKeysOfLane], int seen, float scale) {
  float most = -INFINITY;
#pragma unroll
  for (int i = 0; i < kKeysOfLane; ++i) {
    const int key = static_cast<int>(threadIdx.x) + kWarp * i;
    scores[i] = key < seen ? scores[i] * scale : -INFINITY;
    most = fmaxf(most, scores[i]);
  }
  most = warp_maximum(most);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kKeysOfLane; ++i) {
    scores[i] = seen > 0 ? __expf(scores[i] - most) : 0;
    sum += scores[i];
  }
  sum = warp_sum(sum);
#pragma unroll
  for (int i = 0; i < kKeysOfLane; ++i) {
    scores[i] = sum > 0 ? scores[i] / sum : 0;
  }
}

// The place of a block's sequence and head.
struct Place {
  int queries, keys, head;
  std::int64_t first_query, first_key;  // rows

  __device__ explicit Place(const SequenceAttention& at)
      : head(static_cast<int>(blockIdx.y)),
        first_query(at.query_begins[blockIdx.x]),
        first_key(at.key_begins[blockIdx.x]) {
    queries = static_cast<int>(at.query_begins[blockIdx.x + 1] - first_query);
    keys = static_cast<int>(at.key_begins[blockIdx.x + 1] - first_key);
    if (blockIdx.x >= at.sequences) {
      keys = 0;  // filled-up places see nothing
    }
  }

  __device__ int seen(const SequenceAttention& at, int query) const {
    return at.causal ? min(query + 1, keys) : keys;
  }

  // Returns the factor by which dropout multiplies the weight of the lane's key number i.
  __device__ float kept(const SequenceAttention& at, int query, int i) const {
    const int key = static_cast<int>(threadIdx.x) + kWarp * i;
    if (at.keep == nullptr || key >= keys) {
      return 1;
    }
    const std::int64_t row = (first_query + query) * at.heads + head;
    return at.keep[row * at.longest_key + key] != 0 ? at.keep_factor : 0;
  }
};

template <int kWidth>
__device__ void store_features(BFloat16* values, std::int64_t row, std::int64_t stride, int head,
                               const float (&features)[kWidth / kWarp]) {
  auto* const out = reinterpret_cast<__nv_bfloat16*>(values) + row * stride + head * kWidth;
#pragma unroll
  for (int i = 0; i < kWidth / kWarp; ++i) {
    out[static_cast<int>(threadIdx.x) + kWarp * i] = __float2bfloat16(features[i]);
  }
}

// Adds up the rows, multiplied by the weights that the lanes hold.
template <int kWidth>
__device__ void weighted_sum(const Rows<kWidth>& rows, int count,
                             const float (&weights)[kKeysOfLane],
                             float (&features)[kWidth / kWarp]) {
#pragma unroll
  for (int i = 0; i < kKeysOfLane; ++i) {
    const int lanes = min(count - kWarp * i, kWarp);
    for (int lane = 0; lane < lanes; ++lane) {
      const float weight = __shfl_sync(0xffffffffu, weights[i], lane);
#pragma unroll
      for (int feature = 0; feature < kWidth / kWarp; ++feature) {
        features[feature] =
            fmaf(weight, rows.feature(kWarp * i + lane, feature), features[feature]);
      }
    }
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kBlockThreads) forward(SequenceAttention at) {
  extern __shared__ uint4 memory[];
  const Place place(at);
  Rows<kWidth> q{memory};
  Rows<kWidth> k{q.words + at.longest_query * Rows<kWidth>::kWords};
  Rows<kWidth> v{k.words + at.longest_key * Rows<kWidth>::kWords};
  const std::int64_t column = std::int64_t{place.head} * kWidth;
  q.load(at.queries, place.first_query * at.query_stride + column, at.query_stride, place.queries);
  k.load(at.keys, place.first_key * at.key_stride + column, at.key_stride, place.keys);
  v.load(at.values, place.first_key * at.value_stride + column, at.value_stride, place.keys);
  __syncthreads();
  for (int query = static_cast<int>(threadIdx.y); query < place.queries; query += kBlockWarps) {
    float weights[kKeysOfLane];
    products(q, query, k, place.keys, weights);
    soften(weights, place.seen(at, query), at.scale);
#pragma unroll
    for (int i = 0; i < kKeysOfLane; ++i) {
      weights[i] *= place.kept(at, query, i);
    }
    float features[kWidth / kWarp] = {};
    weighted_sum(v, place.keys, weights, features);
    store_features<kWidth>(at.out, place.first_query + query, at.heads * kWidth, place.head,
                           features);
  }
}

// Computes the weights again. The weights after dropout and the gradients of the scores lie in
// shared memory, for the sums over the queries.
template <int kWidth>
__global__ void __launch_bounds__(kBlockThreads)
    backward(SequenceAttention at, SequenceAttentionGradient to) {
  extern __shared__ uint4 memory[];
  const Place place(at);
  Rows<kWidth> q{memory};
  Rows<kWidth> out{q.words + at.longest_query * Rows<kWidth>::kWords};
  Rows<kWidth> k{out.words + at.longest_query * Rows<kWidth>::kWords};
  Rows<kWidth> v{k.words + at.longest_key * Rows<kWidth>::kWords};
  auto* const weights_left =
      reinterpret_cast<float*>(v.words + at.longest_key * Rows<kWidth>::kWords);
  const int pitch = static_cast<int>(at.longest_key) + 1;
  float* const score_gradients = weights_left + at.longest_query * pitch;
  const std::int64_t column = std::int64_t{place.head} * kWidth;
  const std::int64_t width = at.heads * kWidth;
  q.load(at.queries, place.first_query * at.query_stride + column, at.query_stride, place.queries);
  out.load(to.out_gradient, place.first_query * width + column, width, place.queries);
  k.load(at.keys, place.first_key * at.key_stride + column, at.key_stride, place.keys);
  v.load(at.values, place.first_key * at.value_stride + column, at.value_stride, place.keys);
  __syncthreads();
  for (int query = static_cast<int>(threadIdx.y); query < place.queries; query += kBlockWarps) {
    float weights[kKeysOfLane], gradients[kKeysOfLane];
    products(q, query, k, place.keys, weights);
    soften(weights, place.seen(at, query), at.scale);
    products(out, query, v, place.keys, gradients);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kKeysOfLane; ++i) {
      gradients[i] *= place.kept(at, query, i);
      sum += weights[i] * gradients[i];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int i = 0; i < kKeysOfLane; ++i) {
      gradients[i] = weights[i] * (gradients[i] - sum) * at.scale;
      const int key = static_cast<int>(threadIdx.x) + kWarp * i;
      if (key < place.keys) {
        weights_left[query * pitch + key] = weights[i] * place.kept(at, query, i);
        score_gradients[query * pitch + key] = gradients[i];
      }
    }
    float features[kWidth / kWarp] = {};
    weighted_sum(k, place.keys, gradients, features);
    store_features<kWidth>(to.query_gradient, place.first_query + query, width, place.head,
                           features);
  }
  __syncthreads();
  const auto rows = static_cast<int>(at.key_begins[blockIdx.x + 1] - place.first_key);
  for (int key = static_cast<int>(threadIdx.y); key < rows; key += kBlockWarps) {
    float of_key[kWidth / kWarp] = {}, of_value[kWidth / kWarp] = {};
    if (key < place.keys) {
      for (int query = 0; query < place.queries; ++query) {
        const float weight = weights_left[query * pitch + key];
        const float gradient = score_gradients[query * pitch + key];
#pragma unroll
        for (int i = 0; i < kWidth / kWarp; ++i) {
          of_value[i] = fmaf(weight, out.feature(query, i), of_value[i]);
          of_key[i] = fmaf(gradient, q.feature(query, i), of_key[i]);
        }
      }
    }
    store_features<kWidth>(to.key_gradient, place.first_key + key, width, place.head, of_key);
    store_features<kWidth>(to.value_gradient, place.first_key + key, width, place.head, of_value);
  }
}

template <int kWidth>
std::size_t row_bytes(std::int64_t rows) {
  return static_cast<std::size_t>(rows) * Rows<kWidth>::kWords * sizeof(uint4);
}

template <class Kernel>
void allow(Kernel kernel, std::size_t bytes) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory for sequence_attention");
}

// Calls visitor.template operator()<kWidth>() for the width of a head.
template <class Visitor>
void for_head_width(std::int64_t width, const Visitor& visitor) {
  switch (width) {
    case 32:
      return visitor.template operator()<32>();
    case 64:
      return visitor.template operator()<64>();
    default:
      return visitor.template operator()<128>();
  }
}

dim3 grid_of(const SequenceAttention& at) {
  return {static_cast<unsigned>(at.begins), static_cast<unsigned>(at.heads)};
}

}  // namespace

bool sequence_attention_supports(std::int64_t head_width, std::int64_t longest) {
  return (head_width == 32 || head_width == 64 || head_width == 128) && longest <= kLongestSequence;
}

void sequence_attention(const SequenceAttention& at, Stream stream) {
  for_head_width(at.head_width, [&]<int kWidth>() {
    const std::size_t bytes = row_bytes<kWidth>(at.longest_query + 2 * at.longest_key);
    allow(forward<kWidth>, bytes);
    forward<kWidth>
        <<<grid_of(at), dim3(kWarp, kBlockWarps), bytes, static_cast<cudaStream_t>(stream)>>>(at);
  });
  check_launch("sequence_attention");
}

void sequence_attention_gradient(const SequenceAttention& at, const SequenceAttentionGradient& to,
                                 Stream stream) {
  for_head_width(at.head_width, [&]<int kWidth>() {
    const std::size_t bytes =
        row_bytes<kWidth>(2 * (at.longest_query + at.longest_key)) +
        static_cast<std::size_t>(2 * at.longest_query * (at.longest_key + 1)) * sizeof(float);
    allow(backward<kWidth>, bytes);
    backward<kWidth>
        <<<grid_of(at), dim3(kWarp, kBlockWarps), bytes, static_cast<cudaStream_t>(stream)>>>(at,
                                                                                              to);
  });
  check_launch("sequence_attention_gradient");
}

}  // namespace sing::lab::fused
