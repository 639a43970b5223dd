#!/usr/bin/env python3
"""Makes the constants of the angle kernel.

    sincos_coefficients.py polynomials    > src/kernels/angles_coefficients.h
    sincos_coefficients.py inverse_two_pi > src/cpu/angles/inverse_two_pi.h
    sincos_coefficients.py --check ROOT     compares both files under ROOT with what would be printed

Polynomials. With z = r^2, r in turns, |r| <= 1/8 (1 + 2^-18):

    cos(2 pi r) ~ 1 + c1 z + ... + c4 z^4          least greatest absolute error
    sin(2 pi r) ~ r (2 pi + s1 z + ... + s4 z^4)   least greatest relative error

The constant terms are fixed, so that angle 0 gives exactly (1, 0) and small sines keep their relative error. The rest
is found by the exchange algorithm of Remez in 60 digits and then rounded to double. The printed error is measured with
the rounded coefficients. Needs mpmath; the output is the same on every machine.
"""

import pathlib
import sys

try:
    import mpmath as mp
except ImportError:
    print("needs mpmath")
    sys.exit(77)  # what a test that is skipped returns

mp.mp.dps = 60
TERMS = 4
LIMIT = mp.mpf(1) / 8 * (1 + mp.mpf(2) ** -18)  # turns; the margin covers the rounding of the quadrant
GRID = 2000


def alternation(error, upper):
    """The extremes of `error` over (0, upper], one for each run of one sign."""
    extremes = []
    for k in range(1, GRID + 1):
        z = upper * k / GRID
        value = error(z)
        if extremes and (extremes[-1][1] > 0) == (value > 0):
            if abs(value) > abs(extremes[-1][1]):
                extremes[-1] = (z, value)
        else:
            extremes.append((z, value))
    return extremes


def remez(target, weight, upper):
    """c[0..TERMS-1] that minimise max |target(z) - sum c[k] z^(k+1)| / weight(z) over (0, upper]."""
    points = [upper * (1 - mp.cos(mp.pi * (2 * k + 1) / (2 * TERMS + 2))) / 2 for k in range(TERMS + 1)]
    for _ in range(50):
        system = mp.matrix(TERMS + 1, TERMS + 1)
        right = mp.matrix(TERMS + 1, 1)
        for i, z in enumerate(points):
            for k in range(TERMS):
                system[i, k] = z ** (k + 1)
            system[i, TERMS] = (-1) ** i * weight(z)
            right[i] = target(z)
        solution = mp.lu_solve(system, right)
        coefficients = [solution[k] for k in range(TERMS)]

        def error(z):
            return (target(z) - sum(c * z ** (k + 1) for k, c in enumerate(coefficients))) / weight(z)

        found = [z for z, _ in alternation(error, upper)][-(TERMS + 1):]
        if len(found) != TERMS + 1:
            raise SystemExit("the error does not alternate")
        if found == points:
            return coefficients
        points = found
    raise SystemExit("the exchange does not settle")


def rounded(values):
    return [float(v) for v in values]


def greatest(error, upper):
    return max(abs(value) for _, value in alternation(error, upper))


def array(name, values):
    lines = ",\n".join("    " + v.hex() for v in values)
    return f"constexpr double {name}[{len(values)}] = {{\n{lines},\n}};\n"


def polynomials():
    upper = LIMIT ** 2
    two_pi = 2 * mp.pi

    def cosine(z):
        return mp.cos(two_pi * mp.sqrt(z))

    def sine(z):  # sin(2 pi r) / r
        return mp.sin(two_pi * mp.sqrt(z)) / mp.sqrt(z)

    cos = rounded([mp.mpf(1)] + remez(lambda z: cosine(z) - 1, lambda z: mp.mpf(1), upper))
    sin = rounded([two_pi] + remez(lambda z: sine(z) - two_pi, sine, upper))

    def value(coefficients, z):
        return sum(mp.mpf(c) * z ** k for k, c in enumerate(coefficients))

    cos_error = greatest(lambda z: value(cos, z) - cosine(z), upper)
    sin_error = greatest(lambda z: value(sin, z) / sine(z) - 1, upper)
    return f"""// Coefficients of the angle kernel's polynomials. Made by scripts/sincos_coefficients.py; do not edit.
//
//   cos(2 pi r) ~ sum_k kCosine[k] r^(2k)       greatest absolute error {mp.nstr(cos_error, 3)}
//   sin(2 pi r) ~ r sum_k kSine[k] r^(2k)       greatest relative error {mp.nstr(sin_error, 3)}
//
// r in turns, |r| <= 1/8 (1 + 2^-18).
#pragma once

namespace posenc::kernels {{

{array("kCosine", cos)}
{array("kSine", sin)}
}}  // namespace posenc::kernels
"""


def inverse_two_pi():
    mp.mp.prec = 300
    rest = 1 / (2 * mp.pi)
    parts = []
    for _ in range(4):
        parts.append(float(rest))
        rest -= mp.mpf(parts[-1])
    return f"""// 1 / (2 pi) as an unevaluated sum of doubles, largest first. Made by scripts/sincos_coefficients.py; do not edit.
//
// The truncation error is below {mp.nstr(abs(rest) * 2 * mp.pi, 2)} of the whole.
#pragma once

namespace posenc::cpu {{

{array("kInverseTwoPi", parts)}
}}  // namespace posenc::cpu
"""


FILES = {"polynomials": "src/kernels/angles_coefficients.h", "inverse_two_pi": "src/cpu/angles/inverse_two_pi.h"}


def check(root):
    stale = [path for name, path in FILES.items() if (root / path).read_text() != globals()[name]()]
    for path in stale:
        print(f"{path} is not what scripts/sincos_coefficients.py prints")
    return 1 if stale else 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 2 and sys.argv[1] in FILES:
        print(globals()[sys.argv[1]](), end="")
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
