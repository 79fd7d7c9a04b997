// The qualifier of formulas that compile for the host and for CUDA devices.
#pragma once

// The same function is compiled for several instruction sets. always_inline keeps the linker from
// merging the copies into one that this machine cannot run.
#if defined(__CUDACC__)
#define SING_HOST_DEVICE __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SING_HOST_DEVICE inline __attribute__((always_inline))
#else
#define SING_HOST_DEVICE inline
#endif
