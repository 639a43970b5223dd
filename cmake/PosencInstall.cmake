# cmake --install: headers, library, tool, schema, and what find_package(posenc) and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/posenc)

set(libraries posenc)
if(TARGET posenc_study)
  list(APPEND libraries posenc_study)
  set_target_properties(posenc_study PROPERTIES INSTALL_RPATH "$ORIGIN")  # a shared one needs posenc, which lies beside it
endif()
install(TARGETS ${libraries} EXPORT posencTargets)
install(DIRECTORY include/posenc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT posencTargets NAMESPACE posenc:: DESTINATION ${package_dir})
if(TARGET posenc_mpi)  # find_package(posenc COMPONENTS mpi), since it needs MPI
  set_target_properties(posenc_mpi PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS posenc_mpi EXPORT posencMpiTargets)
  install(DIRECTORY mpi/include/posenc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  install(EXPORT posencMpiTargets NAMESPACE posenc:: DESTINATION ${package_dir})
endif()
install(FILES docs/plan.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/posenc)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET posenc_tool)
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(posenc_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS posenc_tool)
endif()

configure_package_config_file(cmake/posencConfig.cmake.in posencConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(posencConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/posencConfig.cmake ${PROJECT_BINARY_DIR}/posencConfigVersion.cmake
  DESTINATION ${package_dir})

# The .pc file finds its prefix from its own place, so that an installed tree can be moved.
file(RELATIVE_PATH pkgconfig_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix ${pkgconfig_to_prefix})
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pkgconfig_libdir)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pkgconfig_includedir)
if(TARGET posenc_mpi)
  list(APPEND libraries posenc_mpi)
endif()
foreach(library ${libraries})
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
