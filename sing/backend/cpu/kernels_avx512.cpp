// The loops for x86-64 with AVX-512 (F, BW, DQ, VL).
#define SING_ISA avx512
#define SING_VECTOR_BYTES 64
#include "sing/backend/cpu/kernel/kernel_table.hpp"
