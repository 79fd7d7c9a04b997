// Finds cuBLAS at run time and calls it for row-major products.
#include "sing/backend/cuda/matrix/cublas.hpp"

#include <dlfcn.h>

#include <string>

#include "sing/backend/cuda/cuda_check.hpp"
#include "sing/base/message.hpp"

namespace sing::cuda {
namespace {

// The size that NVIDIA recommends for Hopper.
constexpr std::size_t kWorkspaceBytes = 32 << 20;

struct Functions {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasSgemmStridedBatched) multiply_float;
  decltype(&cublasDgemmStridedBatched) multiply_double;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw CudaError(fmt::format("[cublas] wanted a library with {}, got one without", name));
  }
}

Functions find_functions() {
  const std::string versioned = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* library = ::dlopen(versioned.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw CudaError(
        fmt::format("[cublas] wanted {} for matrix products, got none: {}; CudaResources::multiply "
                    "can take its place",
                    versioned, ::dlerror()));
  }
  Functions functions{};
  find(library, "cublasCreate_v2", functions.create);
  find(library, "cublasDestroy_v2", functions.destroy);
  find(library, "cublasSetStream_v2", functions.set_stream);
  find(library, "cublasSetWorkspace_v2", functions.set_workspace);
  find(library, "cublasSgemmStridedBatched", functions.multiply_float);
  find(library, "cublasDgemmStridedBatched", functions.multiply_double);
  return functions;
}

const Functions& functions() {
  static const Functions kFunctions = find_functions();
  return kFunctions;
}

void check(cublasStatus_t status, const char* wanted) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CudaError(
        fmt::format("[cublas] wanted {}, got status {}", wanted, static_cast<int>(status)));
  }
}

}  // namespace

Cublas::Cublas() : workspace_(kWorkspaceBytes) {
  check(functions().create(&handle_), "to make a handle");
}

Cublas::~Cublas() { functions().destroy(handle_); }

// cuBLAS reads a row-major matrix as its transpose, so it computes Cᵀ = Bᵀ Aᵀ.
void Cublas::multiply(const MatrixProduct& product, cudaStream_t stream) const {
  check(functions().set_stream(handle_, stream), "to set the stream");
  // Setting the stream resets the workspace.
  check(functions().set_workspace(handle_, workspace_.data(), workspace_.bytes()),
        "to set the workspace");
  const auto rows = static_cast<int>(product.rows);
  const auto columns = static_cast<int>(product.columns);
  const auto inner = static_cast<int>(product.inner);
  const cublasOperation_t a_operation = product.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b_operation = product.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int a_stride = product.a_transposed ? rows : inner;
  const int b_stride = product.b_transposed ? inner : columns;
  const auto call = [&]<class Real>(auto function, Real alpha, Real beta) {
    check(function(handle_, b_operation, a_operation, columns, rows, inner, &alpha,
                   static_cast<const Real*>(product.b), b_stride, product.inner * product.columns,
                   static_cast<const Real*>(product.a), a_stride, product.rows * product.inner,
                   &beta, static_cast<Real*>(product.c), columns, product.rows * product.columns,
                   static_cast<int>(product.count)),
          "to multiply matrices");
  };
  if (product.dtype == Dtype::kFloat64) {
    call(functions().multiply_double, product.alpha, product.beta);
  } else {
    call(functions().multiply_float, static_cast<float>(product.alpha),
         static_cast<float>(product.beta));
  }
}

}  // namespace sing::cuda
