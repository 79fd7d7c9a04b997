# Defines the functions that declare a test executable, a program and a fuzzer.

# sing_test(<folder> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...] [SERIAL])
# Declares one GoogleTest executable for a folder of tests; CTest names its tests <folder>/Suite.Name. `./dev test asan`
# and `./dev test tsan` leave out tests with the label no-sanitizer. SERIAL tests measure time and run while no other
# test does.
function(sing_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "" "SOURCES;LIBRARIES;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "[sing_test ${folder}] wanted SOURCES and files, got '${ARGN}'")
  endif()
  set(target sing_test_${folder})
  add_executable(${target} ${arg_SOURCES})
  sing_compile_options(${target})
  target_link_libraries(${target} PRIVATE sing::sing GTest::gtest GTest::gmock GTest::gtest_main
                                          ${arg_LIBRARIES})
  target_compile_definitions(${target} PRIVATE SING_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)

  # PRE_TEST makes a test program that cannot start fail the tests, not the build.
  list(JOIN arg_LABELS "\\;" labels)
  gtest_discover_tests(
    ${target}
    TEST_PREFIX ${folder}/
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 RUN_SERIAL ${arg_SERIAL} LABELS "${labels}")
endfunction()

# sing_program(<name> SOURCES <file>... [LIBRARIES <target>...])
# Declares an example or benchmark program in <build>/bin, which `./dev run` puts on PATH.
function(sing_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "[sing_program ${name}] wanted SOURCES and files, got '${ARGN}'")
  endif()
  add_executable(${name} ${arg_SOURCES})
  sing_compile_options(${name})
  target_link_libraries(${name} PRIVATE sing::sing ${arg_LIBRARIES})
endfunction()

# sing_fuzzer(<name> SOURCES <file>...)
# Declares a libFuzzer program if SING_FUZZ is on.
function(sing_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT SING_FUZZ)
    return()
  endif()
  sing_program(${name} SOURCES ${arg_SOURCES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
