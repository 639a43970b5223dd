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
