# Defines the compile flags of every SING target as interface targets, and the function that applies them.

# Results that are equal bit for bit between instruction sets and compilers need arithmetic without contraction. The
# other two flags change no result; they let the compiler vectorise loops with sqrt and exp.
add_library(sing_floating_point INTERFACE)
target_compile_options(
  sing_floating_point
  INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off;-fno-math-errno;-fno-trapping-math>
            $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)

# Warnings are errors only where CMAKE_COMPILE_WARNING_AS_ERROR is set, as in the presets, so a packager gets none.
# Options are written as designated initializers that leave out fields, so that warning is off. A unity build, which the
# preset program makes for its users, has neither warnings (a file sees the names of the others) nor debug lines: both cost
# 7 % of its time.
add_library(sing_warnings INTERFACE)
add_library(sing_debug_lines INTERFACE)
if(CMAKE_UNITY_BUILD)
  target_compile_options(sing_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-w>)
else()
  target_compile_options(
    sing_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion>
                            $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast;-Wno-missing-field-initializers>)
  target_compile_options(sing_debug_lines INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-g1>)
endif()

add_library(sing_sanitizer INTERFACE)
if(SING_SANITIZE STREQUAL "address")
  set(sing_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(SING_SANITIZE STREQUAL "thread")
  set(sing_sanitizer_flags -fsanitize=thread)
elseif(NOT SING_SANITIZE STREQUAL "")
  message(FATAL_ERROR "[SING_SANITIZE] wanted an empty value, address or thread, got '${SING_SANITIZE}'")
endif()
if(SING_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "[SING_FUZZ] wanted clang, got ${CMAKE_CXX_COMPILER_ID}")
  endif()
  list(APPEND sing_sanitizer_flags -fsanitize=fuzzer-no-link)
endif()
if(sing_sanitizer_flags)
  target_compile_options(
    sing_sanitizer INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${sing_sanitizer_flags};-fno-omit-frame-pointer>)
  target_link_options(sing_sanitizer INTERFACE ${sing_sanitizer_flags})
endif()

# LibTorch ships a copy of fmt that its stable interface forbids to include. A folder that holds only fmt can come before
# LibTorch's folder; /usr/include cannot.
get_target_property(sing_fmt_found fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
set(sing_fmt_folder ${PROJECT_BINARY_DIR}/fmt)
file(MAKE_DIRECTORY ${sing_fmt_folder})
file(CREATE_LINK ${sing_fmt_found}/fmt ${sing_fmt_folder}/fmt SYMBOLIC)

# Gives one target of this project its language standard, the root folder of its includes, fmt, and the flags above.
# BUILD_INTERFACE keeps them out of the installed package: users compile with their own flags.
function(sing_compile_options target)
  target_compile_features(${target} PRIVATE c_std_11 cxx_std_20)
  if(SING_CUDA)
    target_compile_features(${target} PRIVATE cuda_std_20)
  endif()
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF CXX_EXTENSIONS OFF
                                             POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(
    ${target}
    PRIVATE $<BUILD_INTERFACE:sing_floating_point> $<BUILD_INTERFACE:sing_warnings>
            $<BUILD_INTERFACE:sing_debug_lines> $<BUILD_INTERFACE:sing_sanitizer>)
  target_include_directories(${target} SYSTEM BEFORE PRIVATE $<BUILD_INTERFACE:${sing_fmt_folder}>)
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
endfunction()
