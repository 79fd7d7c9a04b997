// Replaces augment.cu in a build without CUDA, where no tensor can be on a GPU.
#include "lab/image/augment_kernel.hpp"
#include "sing/base/error.hpp"

namespace sing::lab::image {

void augment(const AugmentedBatch& /*batch*/, fused::Stream /*stream*/) {
  throw Error("[image] wanted a build with CUDA (SING_CUDA=ON), got one without");
}

}  // namespace sing::lab::image
