# Finds NCCL and defines the target NCCL::NCCL.
#
# Reads:  SING_TORCH_DIR, beside which pip puts the NCCL that torch loads. A process has to have one NCCL, so it is taken
#         before that of the system.
set(nccl_wheel ${SING_TORCH_DIR}/../nvidia/nccl)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_wheel}/include ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${nccl_wheel}/lib ${CUDAToolkit_LIBRARY_DIR})
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL SHARED IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES
                                                                                ${NCCL_INCLUDE_DIR})
endif()
