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
  # So that a program can be linked without what it does not call (posenc_tool).
  target_compile_options(${target} PRIVATE ${POSENC_SECTIONS})
endfunction()
set(POSENC_SHIPPED $<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang>>)
set(POSENC_SECTIONS $<${POSENC_SHIPPED}:-ffunction-sections> $<${POSENC_SHIPPED}:-fdata-sections>)

option(POSENC_PRECOMPILE "Read headers that most files of a target share once, a quarter of a build from nothing" OFF)
mark_as_advanced(POSENC_PRECOMPILE)

# posenc_precompile(TARGET ...): as target_precompile_headers, where it is wanted and no ccache does better.
function(posenc_precompile target)
  if(POSENC_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

set(POSENC_UNITY 32 CACHE STRING "How many sources of a target are compiled as one, but for kernels; 0: each by itself")
mark_as_advanced(POSENC_UNITY)

# posenc_unity(TARGET [BATCH]): its sources in batches: what they include is read once for all of a batch.
function(posenc_unity target)
  set(batch ${POSENC_UNITY})
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  if(batch GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# posenc_cold(TARGET): what reads files and prints text is not optimised for speed: half of its compile time, and a third
# of its code.
set(POSENC_COLD $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
function(posenc_cold target)
  target_compile_options(${target} PRIVATE ${POSENC_COLD})
endfunction()
