// The augmentation kernel of a build without CUDA: it throws, since no image can lie on a GPU.
#include "lab/image/augment_kernel.hpp"
#include "sing/base/check.hpp"

namespace sing::image {

void augment_on_gpu(const AugmentedBatch& /*batch*/, void* /*stream*/) {
  throw Error("[augment] wanted a build with CUDA (SING_CUDA=ON)");
}

}  // namespace sing::image
