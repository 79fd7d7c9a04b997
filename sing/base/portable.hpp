// Lets one text of a formula compile for the host and for CUDA devices.
#pragma once

// always_inline on the host: the same function is compiled with several instruction sets, and a
// copy that the linker merged could carry instructions the machine does not have.
#if defined(__CUDACC__)
#define SING_HOST_DEVICE __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SING_HOST_DEVICE inline __attribute__((always_inline))
#else
#define SING_HOST_DEVICE inline
#endif
