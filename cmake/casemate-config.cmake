# What casemate::casemate links against.
include(CMakeFindDependencyMacro)
find_dependency(tl-expected)
find_dependency(Threads)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(Protobuf)
find_dependency(PkgConfig)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
include(${CMAKE_CURRENT_LIST_DIR}/casemate-targets.cmake)
