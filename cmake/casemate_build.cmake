# How this project's libraries and tests are built.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CASEMATE_CCACHE ccache)
if(CASEMATE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CASEMATE_CCACHE})
endif()
find_program(CASEMATE_MOLD mold)
if(CASEMATE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(CASEMATE_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link,address)
  add_link_options(-fsanitize=address)
endif()

# Compiler settings for our own code; generated code does without the warnings.
add_library(casemate_options INTERFACE)
target_compile_options(casemate_options INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(casemate_options INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
if(CASEMATE_WERROR)
  target_compile_options(casemate_options INTERFACE -Werror)
endif()
target_include_directories(casemate_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)

# casemate_library(NAME SOURCES … [DEPS …]): the static library of one folder.
function(casemate_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(casemate_${name} STATIC ${arg_SOURCES})
  target_link_libraries(casemate_${name} PUBLIC tl::expected ${arg_DEPS}
                        PRIVATE $<BUILD_INTERFACE:casemate_options>)
  target_include_directories(casemate_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(casemate_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()

# casemate_test(FOLDER SOURCES … [DEPS …]): the test program of one folder.
function(casemate_test folder)
  if(NOT CASEMATE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${folder}_test ${arg_SOURCES})
  target_link_libraries(${folder}_test PRIVATE casemate_options ${arg_DEPS}
                        GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${folder} COMMAND ${folder}_test)
  set_tests_properties(${folder} PROPERTIES TIMEOUT 600)
endfunction()
