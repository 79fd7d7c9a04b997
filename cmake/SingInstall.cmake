# Installs the library, its headers, and the files for find_package(sing) and pkg-config. Included only at top level.
include(CMakePackageConfigHelpers)
set(sing_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sing)

# Before 1.0 a minor version may break compatibility, so the name of the shared library contains it.
set_target_properties(sing PROPERTIES VERSION ${PROJECT_VERSION}
                                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(sing PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS sing EXPORT sing)
install(
  EXPORT sing
  NAMESPACE sing::
  FILE sing-targets.cmake
  DESTINATION ${sing_package_folder})

# The backends and the C interface have one public header each.
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/sing
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "*.hpp"
  PATTERN "backend/*" EXCLUDE
  PATTERN "c_api/*.hpp" EXCLUDE
  PATTERN "base/message.hpp" EXCLUDE
  PATTERN "io/value_json.hpp" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/sing/backend/backend.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sing/backend)

# Every program that links the static library, even one in C, has to link the C++ and the CUDA runtime.
set(sing_runtime_libraries "-lstdc++ -lm -pthread")
set(sing_links_cuda_runtime OFF)
get_target_property(sing_library_type sing TYPE)
if(sing_library_type STREQUAL "STATIC_LIBRARY")
  if(SING_CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(sing_links_cuda_runtime ON)
    string(PREPEND sing_runtime_libraries "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt ")
  endif()
  set(sing_pc_libraries ${sing_runtime_libraries})
else()
  set(sing_pc_libraries_private ${sing_runtime_libraries})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sing-config.cmake.in
                              ${PROJECT_BINARY_DIR}/sing-config.cmake
                              INSTALL_DESTINATION ${sing_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sing-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sing-config.cmake ${PROJECT_BINARY_DIR}/sing-config-version.cmake
        DESTINATION ${sing_package_folder})

# The prefix is relative to the folder of the .pc file, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE sing_pc_prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/sing.pc.in ${PROJECT_BINARY_DIR}/sing.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sing.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
