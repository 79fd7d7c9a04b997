// Matrix products by torch's own library, for rules that need them on the CPU.
#pragma once

#include "sing/backend/backend.hpp"

namespace sing::operators {

// A Multiply for matrices in host memory.
void multiply_by_torch(const MatrixProduct& product);

}  // namespace sing::operators
