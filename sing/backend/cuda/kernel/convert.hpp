// Conversion and blending of whole arrays in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "sing/backend/backend.hpp"

namespace sing::cuda {

// Converts any type to itself, or one floating type of up to 32 bits to another.
void convert(void* to, Dtype to_dtype, const void* from, Dtype from_dtype, std::int64_t count,
             cudaStream_t stream);

// See Backend::blend.
void blend(void* to, Dtype to_dtype, const Blend& blend, std::int64_t count, cudaStream_t stream);

}  // namespace sing::cuda
