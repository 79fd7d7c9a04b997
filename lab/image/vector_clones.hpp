// Marks a function to be compiled for AVX2 as well and selected when the program starts. It is for
// integer code, which gives the same bytes either way, and not for floating-point loops.
#pragma once

// Sanitizers do not support functions that are selected when the program starts.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if defined(__clang__)
#if __clang_major__ >= 14 && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SING_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define SING_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#endif

#ifndef SING_VECTOR_CLONES
#define SING_VECTOR_CLONES
#endif
