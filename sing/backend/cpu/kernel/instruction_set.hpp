// The instruction set that the including source file is compiled for.
//
// Every header in this folder puts its loops into the namespace SING_ISA, which kernels_avx2.cpp
// and kernels_avx512.cpp define together with SING_VECTOR_BYTES, and there into an unnamed
// namespace: a function that the linker merged across instruction sets would crash older machines.
#pragma once

#include <cstdint>

#include "sing/base/portable.hpp"

#ifndef SING_ISA
#define SING_ISA baseline
#define SING_VECTOR_BYTES 16
#endif

namespace sing::cpu::SING_ISA {
namespace {

// Always inlined. std::min could be compiled as a function that the linker merges.
SING_HOST_DEVICE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace
}  // namespace sing::cpu::SING_ISA
