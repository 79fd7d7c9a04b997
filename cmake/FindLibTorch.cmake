# Finds LibTorch inside the torch package of a Python and defines the target LibTorch::LibTorch.
#
# Reads:  SING_TORCH_DIR, the torch folder (python -c "import torch; print(torch.__path__[0])");
#         SING_CUDA, whether the CUDA libraries are needed.
# torch's own TorchConfig.cmake is not used: it requires a CUDA toolkit even if only the CPU libraries are needed.
# If SING_TORCH_DIR is empty, it is set to the folder to which Torch_DIR or CMAKE_PREFIX_PATH leads, as the documentation of
# LibTorch has them, or else to the torch of the Python that CMake finds.
set(SING_TORCH_DIR "" CACHE PATH "The torch folder of a Python's site-packages")
if(NOT SING_TORCH_DIR)
  set(libtorch_prefixes ${CMAKE_PREFIX_PATH})
  cmake_path(CONVERT "$ENV{CMAKE_PREFIX_PATH}" TO_CMAKE_PATH_LIST libtorch_environment_prefixes)
  list(APPEND libtorch_prefixes ${libtorch_environment_prefixes})
  set(libtorch_candidates)
  foreach(folder IN ITEMS ${Torch_DIR} $ENV{Torch_DIR})
    list(APPEND libtorch_candidates ${folder}/../../..) # it names share/cmake/Torch
  endforeach()
  foreach(prefix IN LISTS libtorch_prefixes)
    list(APPEND libtorch_candidates ${prefix} ${prefix}/../..) # torch.utils.cmake_prefix_path names share/cmake
  endforeach()
  foreach(folder IN LISTS libtorch_candidates)
    if(EXISTS ${folder}/include/torch/headeronly/version.h)
      file(REAL_PATH ${folder} libtorch_found)
      break()
    endif()
  endforeach()
  if(NOT libtorch_found)
    find_package(Python COMPONENTS Interpreter QUIET)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -c
              "import importlib.util as u; print(*u.find_spec('torch').submodule_search_locations, end='')"
      OUTPUT_VARIABLE libtorch_found
      ERROR_QUIET)
  endif()
  set_property(CACHE SING_TORCH_DIR PROPERTY VALUE "${libtorch_found}")
endif()

set(libtorch_libraries torch_cpu c10)
if(SING_CUDA)
  list(APPEND libtorch_libraries torch_cuda c10_cuda)
endif()

find_path(LibTorch_INCLUDE_DIR torch/headeronly/version.h PATHS ${SING_TORCH_DIR}/include NO_DEFAULT_PATH)
set(libtorch_required LibTorch_INCLUDE_DIR)
foreach(library IN LISTS libtorch_libraries)
  find_library(LibTorch_${library}_LIBRARY ${library} PATHS ${SING_TORCH_DIR}/lib NO_DEFAULT_PATH)
  list(APPEND libtorch_required LibTorch_${library}_LIBRARY)
endforeach()
mark_as_advanced(${libtorch_required})

if(LibTorch_INCLUDE_DIR)
  file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h libtorch_numbers
       REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^;0-9]" "" libtorch_numbers "${libtorch_numbers}")
  list(JOIN libtorch_numbers "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS ${libtorch_required}
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "[LibTorch] wanted a torch with headers and libraries in SING_TORCH_DIR, Torch_DIR or CMAKE_PREFIX_PATH, got SING_TORCH_DIR='${SING_TORCH_DIR}' (python -c 'print(__import__(\"torch\").__path__[0])' prints that of a Python)"
)

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  # The names of torch's symbols tell which ABI of std::string it was built with.
  file(STRINGS ${LibTorch_c10_LIBRARY} libtorch_abi_marks REGEX "__cxx11" LIMIT_COUNT 1)
  if(libtorch_abi_marks)
    set(libtorch_abi 1)
  else()
    set(libtorch_abi 0)
  endif()

  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  # An imported target's headers are SYSTEM headers: torch's do not pass our warnings.
  target_include_directories(
    LibTorch::LibTorch INTERFACE ${LibTorch_INCLUDE_DIR}
                                 ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=${libtorch_abi})
  # torch_cuda registers its kernels when it is loaded, and no code refers to its symbols: --no-as-needed keeps it.
  target_link_options(LibTorch::LibTorch INTERFACE -Wl,--no-as-needed)
  foreach(library IN LISTS libtorch_libraries)
    add_library(LibTorch::${library} SHARED IMPORTED)
    set_target_properties(LibTorch::${library} PROPERTIES IMPORTED_LOCATION ${LibTorch_${library}_LIBRARY})
    target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::${library})
  endforeach()
  # At run time torch finds the libraries of its package (gomp, CUDA) through its own rpath.
  target_link_options(LibTorch::LibTorch INTERFACE -Wl,--allow-shlib-undefined
                      -Wl,-rpath-link,${SING_TORCH_DIR}/lib)
endif()
