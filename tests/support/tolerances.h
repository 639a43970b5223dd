// Every tolerance of the tests, with its derivation. Tests print observed / bound.
#pragma once

namespace posenc::test {

// ---- The angle kernel (docs/angles.md) ----

// The promise.
inline constexpr double kAngleUlp = 1.0;

// What the method gives, in ulps of float: the one rounding 1/2; the cosine's polynomial 5.4e-11 where an ulp is
// 2^-24, so 0.0009; the reduced angle and the polynomials' roundings, some 2^-51 of the value, below 1e-7.
inline constexpr double kAngleMethodUlp = 0.501;

// inv_freq / 2 pi in three parts: the last is rounded, 2^-53 of a part of at most 2^-106 of the whole.
inline constexpr double kTurnsRelative = 0x1p-158;

// Up to 2^53: half an ulp below 1 is 2^-25 = 3.0e-8; the reduction's 2^-53 of a quarter turn adds nothing.
inline constexpr double kAngleAbsolute = 6e-8;

// Two correct f32 roundings of one real number by different routes: the kernel within kAngleMethodUlp, the model within
// 1/2. They are neighbours at most.
inline constexpr double kFloat32ModelUlp = 1.0;

}  // namespace posenc::test
