# Installs a build into a scratch folder, moves it, and builds and runs users of it: in C++ and in C, by
# find_package and by pkg-config. Run with cmake -P and
#   -DBUILD=<build folder> -DCONFIG=<build type> -DSCRATCH=<folder> -DCC=<C compiler> -DCXX=<C++ compiler>
#   -DGENERATOR=<generator> -DVERSION=<version> -DPKG_CONFIG=<pkg-config, or nothing>
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "[install] wanted success, got ${status} from: ${line}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/prefix) # an installed tree can be moved
set(prefix ${SCRATCH}/prefix)

# Nothing installed may lead back to the source or the build folder.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH tests)
cmake_path(GET tests PARENT_PATH source)
file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.h ${prefix}/*.hpp)
if(NOT texts)
  message(FATAL_ERROR "[install] wanted headers and package files under ${prefix}, got none")
endif()
foreach(text IN LISTS texts)
  file(READ ${text} content)
  foreach(folder ${source} ${BUILD} ${SCRATCH}/first)
    string(FIND "${content}" "${folder}/" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "[install] ${text} names ${folder}")
    endif()
  endforeach()
endforeach()

foreach(language cxx c)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${language} -B ${SCRATCH}/${language} -G ${GENERATOR}
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/${language})
  run(${SCRATCH}/${language}/consumer)
endforeach()

# The program runs where it is installed, with the recipes next to it.
if(EXISTS ${prefix}/bin/sing)
  function(expect_said pattern)
    execute_process(COMMAND ${prefix}/bin/sing ${ARGN} WORKING_DIRECTORY ${SCRATCH} OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT said MATCHES "${pattern}")
      message(FATAL_ERROR "[install] wanted '${pattern}' from sing ${ARGN}, got\n${said}")
    endif()
    set(said "${said}" PARENT_SCOPE)
  endfunction()
  expect_said("^sing ${VERSION}\n$" --version)
  expect_said("ablation" reproduce --list)
  if(said MATCHES "not done") # the program can train
    file(REMOVE_RECURSE ${prefix}/share/sing/recipes)
    file(MAKE_DIRECTORY ${prefix}/share/sing/recipes)
    expect_said("${prefix}/share/sing/recipes/[a-z0-9_]+.toml" reproduce --list)
  endif()
endif()

if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${prefix}/*/sing.pc)
  cmake_path(GET pc PARENT_PATH pc_folder)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs sing OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  cmake_path(GET pc_folder PARENT_PATH library_folder)
  run(${CC} -std=c11 ${CMAKE_CURRENT_LIST_DIR}/c/consumer.c -o ${SCRATCH}/pkg_config_c ${flags}
      -Wl,-rpath,${library_folder})
  run(${SCRATCH}/pkg_config_c)
  run(${CXX} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/cxx/consumer.cpp -o ${SCRATCH}/pkg_config_cxx ${flags}
      -Wl,-rpath,${library_folder})
  run(${SCRATCH}/pkg_config_cxx)
endif()
