// The loops for x86-64 with AVX2.
#define SING_ISA avx2
#define SING_VECTOR_BYTES 32
#include "sing/backend/cpu/kernel/kernel_table.hpp"
