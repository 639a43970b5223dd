# What every target of posenc is compiled with.
function(posenc_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  # GCC contracts a * b + c into one rounding by default: that breaks error-free products and makes results differ
  # between instruction sets.
  target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wno-missing-field-initializers)  # a designated initialiser says what differs from the defaults
endfunction()

option(POSENC_PRECOMPILE "Read headers that most files of a target share once, a quarter of a build from nothing" OFF)
mark_as_advanced(POSENC_PRECOMPILE)

# posenc_precompile(TARGET ...): as target_precompile_headers, where it is wanted and no ccache does better.
function(posenc_precompile target)
  if(POSENC_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()
