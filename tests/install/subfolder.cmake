# Configures a project that has SING as a subfolder, with LibTorch (a made-up one), and shows what it gets of SING: libraries, no
# operators for Python, no tests, and no build type of SING's choice. Run with cmake -P and
#   -DSCRATCH=<folder> -DSING=<source folder> -DCC=<C compiler> -DCXX=<C++ compiler> -DGENERATOR=<generator>
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
set(torch ${SCRATCH}/torch)
file(WRITE ${torch}/include/torch/headeronly/version.h
     "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n")
file(MAKE_DIRECTORY ${torch}/include/torch/csrc/api/include)
foreach(library torch_cpu c10)
  file(WRITE ${torch}/lib/lib${library}.so "")
endforeach()
file(
  WRITE ${SCRATCH}/source/CMakeLists.txt
  "cmake_minimum_required(VERSION 3.25)
project(parent CXX)
add_subdirectory(${SING} sing)
foreach(target sing::sing sing::torch)
  if(NOT TARGET \${target})
    message(FATAL_ERROR \"wanted the target \${target}, got none\")
  endif()
endforeach()
foreach(target sing_operators sing_program sing_test_base perceptron)
  if(TARGET \${target})
    message(FATAL_ERROR \"wanted no target \${target}, got one\")
  endif()
endforeach()
if(CMAKE_BUILD_TYPE OR CMAKE_EXPORT_COMPILE_COMMANDS)
  message(FATAL_ERROR \"wanted no build type, got '\${CMAKE_BUILD_TYPE}'\")
endif()
")
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SCRATCH}/source -B ${SCRATCH}/build -G ${GENERATOR} -DSING_TORCH=ON -DSING_TORCH_DIR=${torch}
          -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
file(STRINGS ${SCRATCH}/build/CMakeCache.txt build_type REGEX "^CMAKE_BUILD_TYPE:")
if(NOT status EQUAL 0 OR NOT build_type MATCHES "=$")
  message(FATAL_ERROR "[subfolder] wanted a project with an empty build type, got '${build_type}' and\n${output}")
endif()
