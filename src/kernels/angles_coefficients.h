// Coefficients of the angle kernel's polynomials. Made by scripts/sincos_coefficients.py; do not edit.
//
//   cos(2 pi r) ~ sum_k kCosine[k] r^(2k)       greatest absolute error 5.37e-11
//   sin(2 pi r) ~ r sum_k kSine[k] r^(2k)       greatest relative error 5.16e-12
//
// r in turns, |r| <= 1/8 (1 + 2^-18).
#pragma once

namespace posenc::kernels {

constexpr double kCosine[5] = {
    0x1.0000000000000p+0,
    -0x1.3bd3cc7ec279cp+4,
    0x1.03c1decc5420ep+6,
    -0x1.55c6642d6abb0p+6,
    0x1.d9f7b7f641133p+5,
};

constexpr double kSine[5] = {
    0x1.921fb54442d18p+2,
    -0x1.4abbce59bef8dp+5,
    0x1.466bbc1fe1096p+6,
    -0x1.32cb0cfb6d748p+6,
    0x1.4be09b6b58ffap+5,
};

}  // namespace posenc::kernels
