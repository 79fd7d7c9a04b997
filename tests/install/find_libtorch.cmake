# Shows which variables lead to LibTorch, and the message if none does. The torch folder here is made up. Run with cmake
# -P and
#   -DSCRATCH=<folder> -DMODULES=<folder of FindLibTorch.cmake>
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
set(torch ${SCRATCH}/site/torch)
file(WRITE ${torch}/include/torch/headeronly/version.h
     "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 12\n#define TORCH_VERSION_PATCH 3\n")
file(WRITE ${torch}/share/cmake/Torch/TorchConfig.cmake "message(FATAL_ERROR \"torch's own file is not used\")\n")
foreach(library torch_cpu c10)
  file(WRITE ${torch}/lib/lib${library}.so "")
endforeach()

function(configure)
  file(REMOVE_RECURSE ${SCRATCH}/build)
  execute_process(
    COMMAND ${ARGN} ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/libtorch -B ${SCRATCH}/build -DSING_MODULES=${MODULES}
            -DPython_EXECUTABLE=${CMAKE_COMMAND} ${options}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_found)
  if(NOT status EQUAL 0 OR NOT output MATCHES "found 2.12.3 in ${torch}/include")
    message(FATAL_ERROR "[find_libtorch] wanted torch 2.12.3 by '${options}' and '${ARGN}', got\n${output}")
  endif()
endfunction()

foreach(options -DSING_TORCH_DIR=${torch} -DTorch_DIR=${torch}/share/cmake/Torch -DCMAKE_PREFIX_PATH=${torch}
                -DCMAKE_PREFIX_PATH=/absent$<SEMICOLON>${torch}/share/cmake)
  string(REPLACE "$<SEMICOLON>" "\\;" options "${options}")
  configure()
  expect_found()
endforeach()
set(options)
foreach(variable Torch_DIR=${torch}/share/cmake/Torch CMAKE_PREFIX_PATH=/absent:${torch})
  configure(${CMAKE_COMMAND} -E env ${variable})
  expect_found(${variable})
endforeach()

# A folder that is given is not replaced by one that is found.
set(options -DSING_TORCH_DIR=${SCRATCH}/absent -DTorch_DIR=${torch}/share/cmake/Torch)
configure()
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(status EQUAL 0 OR NOT output MATCHES "SING_TORCH_DIR, Torch_DIR or CMAKE_PREFIX_PATH, got SING_TORCH_DIR='${SCRATCH}/absent'")
  message(FATAL_ERROR "[find_libtorch] wanted an error that names SING_TORCH_DIR, got\n${output}")
endif()
