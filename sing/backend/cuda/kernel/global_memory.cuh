// Reads and writes of records, flags and counters in global memory, each with the ordering between
// warps that it needs. docs/architecture.md lists which write each of them orders.
#pragma once

#include <cstdint>

#include "sing/backend/cuda/kernel/device_records.hpp"
#include "sing/backend/cuda/kernel/threads.cuh"

namespace sing::cuda {

// A copy of a record that no kernel writes; all its loads are in flight together.
template <class Record>
__device__ __forceinline__ Record read_record(const Record* from) {
  static_assert(sizeof(Record) % 16 == 0);
  uint4 words[sizeof(Record) / 16];
#pragma unroll
  for (std::size_t k = 0; k < sizeof(Record) / 16; ++k) {
    words[k] = __ldg(reinterpret_cast<const uint4*>(from) + k);
  }
  Record record;
  memcpy(&record, words, sizeof(Record));
  return record;
}

// Orders all that this thread wrote or has observed before its later writes, and its earlier reads
// before its later reads. __threadfence is stronger (sequentially consistent) and takes longer.
__device__ __forceinline__ void fence_acquire_release() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// A relaxed load: it acquires only together with a fence after it.
__device__ __forceinline__ unsigned int load_flag(const unsigned int* flag) {
  unsigned int value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// A thread that sees the value and then fences also sees what this thread wrote before.
__device__ __forceinline__ void store_release(unsigned int* flag, unsigned int value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// Reads all 16 bytes in one access, relaxed. No fence follows: an acquire would invalidate L1 for
// the whole multiprocessor, thousands of times per step. So what the result guards (row means and
// prepared constants) must be loaded after the generation was seen, and past L1 (__ldcg).
__device__ __forceinline__ MeasureResult load_result(const MeasureResult* from) {
  ulonglong2 words;
  asm volatile(
      "{\n .reg .b128 word;\n"
      " ld.relaxed.gpu.global.b128 word, [%2];\n"
      " mov.b128 {%0, %1}, word;\n}"
      : "=l"(words.x), "=l"(words.y)
      : "l"(from)
      : "memory");
  MeasureResult result;
  memcpy(&result, &words, sizeof(result));
  return result;
}

// Writes all 16 bytes in one access, relaxed: the caller has fenced after the writes, its own and
// those it observed, that readers of the result are to see.
__device__ __forceinline__ void store_result(MeasureResult* to, const MeasureResult& result) {
  ulonglong2 words;
  memcpy(&words, &result, sizeof(words));
  asm volatile(
      "{\n .reg .b128 word;\n"
      " mov.b128 word, {%1, %2};\n"
      " st.relaxed.gpu.global.b128 [%0], word;\n}" ::"l"(to),
      "l"(words.x), "l"(words.y)
      : "memory");
}

// Adds without waiting for the old value.
__device__ __forceinline__ void add(std::int64_t* counter, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counter), static_cast<unsigned long long>(value));
}

// Adds 1, or wraps from `last` to 0, and returns the old value. Releases: what this thread wrote
// or observed before is visible to a thread that sees the new value and then fences.
__device__ __forceinline__ unsigned int increment_release(unsigned int* counter,
                                                          unsigned int last) {
  unsigned int before;
  asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}

// True in every lane of the last of `count` warps to call this for a counter, which is then 0
// again. Lane 0 of each warp releases what the warp wrote (__syncwarp orders the other lanes'
// writes before it); lane 0 of the last warp acquires all of that by its fence, which also orders
// it before what that lane writes later. The other lanes must read past L1 (__ldcg): they learn
// the outcome by the shuffle and execute no fence of their own.
__device__ __forceinline__ bool warp_arrives_last(unsigned int* counter, std::int64_t count) {
  unsigned int arrived = 0;
  __syncwarp();
  if (lane_id() == 0) {
    arrived = increment_release(counter, static_cast<unsigned int>(count - 1));
    if (arrived == static_cast<unsigned int>(count - 1)) {
      fence_acquire_release();
    }
  }
  return __shfl_sync(kFullWarp, arrived, 0) == static_cast<unsigned int>(count - 1);
}

}  // namespace sing::cuda
