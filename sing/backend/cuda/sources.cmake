# Adds the CUDA backend to the target sing; included by sing/CMakeLists.txt where SING_CUDA is on.
find_package(CUDAToolkit 12.8 REQUIRED)
set(cuda_kernels
    backend/cuda/kernel/clip.cu
    backend/cuda/kernel/convert.cu
    backend/cuda/kernel/shard_measure.cu
    backend/cuda/kernel/shard_results_double.cu
    backend/cuda/kernel/shard_results_float.cu
    backend/cuda/matrix/shift_squares.cu
    backend/cuda/kernel/step_kernels_double.cu
    backend/cuda/kernel/step_kernels_full.cu
    backend/cuda/kernel/step_kernels_full_narrow.cu
    backend/cuda/kernel/step_kernels_narrow.cu
    backend/cuda/kernel/step_kernels_narrow_full.cu)
target_sources(
  sing
  PRIVATE ${cuda_kernels}
          backend/cuda/cuda_backend.cpp
          backend/cuda/matrix/cublas.cpp
          backend/cuda/plan/device_tables.cpp
          backend/cuda/plan/matrix_batches.cpp
          backend/cuda/plan/queue_order.cpp
          backend/cuda/plan/shard_plan.cpp
          backend/cuda/plan/step_phases.cpp
          backend/cuda/plan/tensor_record.cpp
          backend/cuda/plan/work_plan.cpp
          backend/cuda/step_launcher.cpp)
# The first two allow float32 quotients within 2 ulp and roots within 1 ulp, the bounds of
# docs/numerics.md; float64 is not affected. The third compiles the two architectures of a file,
# which holds every rule, in parallel.
set_source_files_properties(${cuda_kernels} PROPERTIES COMPILE_OPTIONS "--prec-div=false;--prec-sqrt=false;--threads=2")
# cuBLAS is not linked: backend/cuda/matrix/cublas.cpp loads it when a rule first needs a product.
target_link_libraries(sing PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
