// 1 / (2 pi) as an unevaluated sum of doubles, largest first. Made by scripts/sincos_coefficients.py; do not edit.
//
// The truncation error is below 4.9e-66 of the whole.
#pragma once

namespace posenc::cpu {

constexpr double kInverseTwoPi[4] = {
    0x1.45f306dc9c883p-3,
    -0x1.6b01ec5417056p-57,
    -0x1.6447e493ad4cep-111,
    0x1.e21c820ff28b2p-165,
};

}  // namespace posenc::cpu
