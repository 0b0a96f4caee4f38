# The program, and the package that find_package(casemate) finds: the public
# headers and casemate::casemate.

include(CMakePackageConfigHelpers)

set(casemate_package_libraries base digest files work codec readpool store proto
                               tree transfer)

add_library(casemate_all INTERFACE)
target_link_libraries(casemate_all INTERFACE casemate_transfer)
target_compile_features(casemate_all INTERFACE cxx_std_20)
set_target_properties(casemate_all PROPERTIES EXPORT_NAME casemate)
add_library(casemate::casemate ALIAS casemate_all)

list(TRANSFORM casemate_package_libraries PREPEND casemate_
     OUTPUT_VARIABLE casemate_package_targets)
install(TARGETS casemate RUNTIME)
install(TARGETS casemate_all ${casemate_package_targets}
        EXPORT casemate-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/casemate)
install(DIRECTORY include/casemate TYPE INCLUDE)
install(EXPORT casemate-targets NAMESPACE casemate::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/casemate)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/casemate-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/casemate-config.cmake
              ${PROJECT_BINARY_DIR}/casemate-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/casemate)
