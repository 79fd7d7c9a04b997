// Connects GPUs by NCCL, on the stream that is current when a function is called.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include "adapters/nccl/sum_shards.hpp"
#include "lab/ranks/device_link.hpp"
#include "sing/base/message.hpp"

namespace sing::lab::ranks {
namespace {

using nccl::check;

class NcclLink final : public DeviceLink {
 public:
  NcclLink(const at::Device& device, int rank, int count, const ShareBytes& share) {
    ncclUniqueId id{};
    if (rank == 0) {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    share(std::as_writable_bytes(std::span(id.internal)));
    const c10::cuda::CUDAGuard guard(device);
    check(ncclCommInitRank(&communicator_, count, id, rank), "ncclCommInitRank");
  }
  // A communicator whose other ranks may be gone cannot be destroyed in order.
  ~NcclLink() override { ncclCommAbort(communicator_); }
  NcclLink(const NcclLink&) = delete;
  NcclLink& operator=(const NcclLink&) = delete;

  void sum(const at::Tensor& values) override {
    void* const data = values.mutable_data_ptr();
    check(ncclAllReduce(data, data, static_cast<std::size_t>(values.numel()),
                        values.scalar_type() == at::kDouble ? ncclDouble : ncclFloat, ncclSum,
                        communicator_, stream_of(values)),
          "ncclAllReduce");
  }

  void broadcast(const at::Tensor& values, int from) override {
    void* const data = values.mutable_data_ptr();
    check(ncclBroadcast(data, data, values.nbytes(), ncclUint8, from, communicator_,
                        stream_of(values)),
          "ncclBroadcast");
  }

 private:
  static cudaStream_t stream_of(const at::Tensor& values) {
    return c10::cuda::getCurrentCUDAStream(values.device().index());
  }

  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceLink> make_device_link(const at::Device& device, int rank, int count,
                                             const ShareBytes& share) {
  return std::make_unique<NcclLink>(device, rank, count, share);
}

}  // namespace sing::lab::ranks
