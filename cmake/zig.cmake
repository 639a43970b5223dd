# Zig's Clang from PyPI (ziglang) with the C library of a target of its own: a release runs on systems older than the
# one that made it. scripts/release says POSENC_ZIG, the program, and
# POSENC_ZIG_TARGET, such as x86_64-linux-gnu.2.28.
#
# The C headers are Zig's, so that those of /usr/include must not be seen. What is taken from there, header by header,
# is linked into a folder of the build (fmt, RapidJSON, CLI11, Python's machine-dependent half).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES POSENC_ZIG POSENC_ZIG_TARGET)
string(REGEX MATCH "^[^-]+" architecture "${POSENC_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${architecture})

set(tools ${CMAKE_BINARY_DIR}/zig)
if(NOT EXISTS ${tools}/c++)
  file(MAKE_DIRECTORY ${tools})
  foreach(tool cc c++ ar ranlib)
    set(target)
    if(tool MATCHES "^c")
      # What CMake tries would have Zig build a C++ library without -O; below -O2 Zig adds a sanitizer; and it has debug
      # information, which names folders, unless told otherwise.
      set(target " -target ${POSENC_ZIG_TARGET} -O2 -g0 -fno-sanitize=undefined -DPOSENC_NO_CLONES")
    endif()
    file(WRITE ${tools}/${tool} "#!/bin/sh\nexec '${POSENC_ZIG}' ${tool}${target} \"$@\"\n")
    file(CHMOD ${tools}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
endif()
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_CXX_COMPILER ${tools}/c++)
set(CMAKE_AR ${tools}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${tools}/ranlib CACHE FILEPATH "")

set(headers ${tools}/include)
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${headers})
if(NOT EXISTS ${headers})
  file(MAKE_DIRECTORY ${headers})
  foreach(library fmt rapidjson CLI)
    file(CREATE_LINK /usr/include/${library} ${headers}/${library} SYMBOLIC)
  endforeach()
  # The halves of x86-64 and AArch64 differ in four macros of CPython's own arithmetic, of wchar_t and of how well it is
  # supported (compared for Debian's 3.11 and 3.13), in nothing that an extension sees: this machine's serve either.
  file(GLOB pythons /usr/include/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/python3.*)
  foreach(python ${pythons})
    cmake_path(GET python FILENAME name)
    file(MAKE_DIRECTORY ${headers}/${architecture}-linux-gnu)
    file(CREATE_LINK ${python} ${headers}/${architecture}-linux-gnu/${name} SYMBOLIC)
  endforeach()
  # Debian's own files for CMake name /usr/include.
  file(WRITE ${tools}/fmt/fmtConfig.cmake "
add_library(fmt::fmt-header-only INTERFACE IMPORTED)
set_target_properties(fmt::fmt-header-only PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${headers} INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)\n")
  file(WRITE ${tools}/RapidJSON/RapidJSONConfig.cmake "set(RapidJSON_INCLUDE_DIRS ${headers})\n")
  file(WRITE ${tools}/CLI11/CLI11Config.cmake "
add_library(CLI11::CLI11 INTERFACE IMPORTED)
set_target_properties(CLI11::CLI11 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${headers})\n")
endif()
foreach(package fmt RapidJSON CLI11)
  set(${package}_DIR ${tools}/${package} CACHE PATH "")
endforeach()
