# What only posenc's own checkout decides; a project that adds posenc as a subdirectory decides for itself.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # the contract tests read it

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "The kind of build" FORCE)
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(POSENC_CCACHE ccache)
  mark_as_advanced(POSENC_CCACHE)
  if(POSENC_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${POSENC_CCACHE})
  endif()
endif()
