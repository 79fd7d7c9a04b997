// The loops for every machine of the architecture.
#define SING_ISA baseline
#define SING_VECTOR_BYTES 16
#include "sing/backend/cpu/kernels_impl.hpp"
