// Text 001, section 3: RoPE derived with complex numbers, (11) to (24).
#include <complex>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

using Complex = std::complex<double>;

constexpr double kM = 5;  // the query's position
constexpr double kN = 2;  // the key's; vectors have two channels, which theta = 1 rotates

const posenc::Rope kPair = rope_of(Pairing::interleaved, 2);
const Numbers kQ = sample(2, 31);
const Numbers kK = sample(2, 32);

Numbers parts(Complex z) { return {z.real(), z.imag()}; }
Complex complex_of(const Numbers& x) { return {x[0], x[1]}; }

// f(x, position) of two channels, in the complex form.
Numbers f(const Numbers& x, double position) {
  return posenc::reference::rotate_complex(posenc::layout(kPair), x, angles(kPair, position));
}

void complex_numbers(Report& report) {
  const auto score = [](double m, double n) { return dot(f(kQ, m), f(kK, n)); };
  report.add({.item = "(11)",
              .what = "<f(q, m), f(k, n)> = g(q, k, m - n): at 3 and 0; at 5 and 2, at 105 and 102",
              .text = {score(kM - kN, 0), score(kM - kN, 0)},
              .posenc = {score(kM, kN), score(kM + 100, kN + 100)},
              .by = "reference::rotate_complex"});
  report.add({.item = "(12)",
              .what = "Re[q k* e^(i(m-n) theta)]",
              .text = {(complex_of(kQ) * std::conj(complex_of(kK)) * std::polar(1.0, kM - kN)).real()},
              .posenc = {dot(f(kQ, kM), f(kK, kN))},
              .by = "reference::rotate_complex"});
  const Numbers forward = f({1, 0}, kM);
  report.add({.item = "(13)",
              .what = "z* = a - ib of z = e^(5i): the rotation by -5",
              .text = {forward[0], -forward[1]},
              .posenc = f({1, 0}, -kM),
              .by = "reference::rotate_complex"});
  report.add({.item = "(14)",
              .what = "Euler: e^(5i) = cos 5 + i sin 5",
              .text = {std::cos(kM), std::sin(kM)},
              .posenc = forward,
              .by = "reference::rotate_complex"});
  report.add({.item = "(15)",
              .what = "q = q1 + i q2, at position 0",
              .text = kQ,
              .posenc = f(kQ, 0),
              .by = "reference::rotate_complex"});
}

// The two components of x e^(i angle), as (16) to (19) have them.
Numbers components(const Numbers& x, double angle) {
  return {x[0] * std::cos(angle) - x[1] * std::sin(angle), x[0] * std::sin(angle) + x[1] * std::cos(angle)};
}

void inner_product(Report& report) {
  const Numbers f_q = f(kQ, kM);
  const Numbers f_k = f(kK, kN);
  const char* by = "reference::rotate_complex";
  report.add({.item = "(16)",
              .what = "q e^(im theta), multiplied out",
              .text = parts(complex_of(kQ) * std::polar(1.0, kM)),
              .posenc = f_q,
              .by = by});
  report.add({.item = "(17)", .what = "as a vector of two", .text = components(kQ, kM), .posenc = f_q, .by = by});
  report.add({.item = "(18)",
              .what = "the same for k",
              .text = parts(complex_of(kK) * std::polar(1.0, kN)),
              .posenc = f_k,
              .by = by});
  report.add({.item = "(19)", .what = "as a vector of two", .text = components(kK, kN), .posenc = f_k, .by = by});

  // The last line of (20), and of (21): its k_n^{2} stands for the second component.
  const auto last_line = [&](double second) {
    return (kQ[0] * kK[0] + kQ[1] * kK[1]) * std::cos(kM - kN) + (kQ[0] * second - kQ[1] * kK[0]) * std::sin(kM - kN);
  };
  const double square = dot(kK, kK);
  report.add({.item = "(20)",
              .what = "<f_q, f_k>, the last line",
              .text = {last_line(square)},
              .posenc = {dot(f_q, f_k)},
              .by = by,
              .errs = "k_n^{2} (once) must read k_n^(2), the second component, not a square",
              .corrected = Numbers{last_line(kK[1])}});
  report.add({.item = "sums of angles",
              .what = "cos and sin of 5 - 2 by the addition formulas",
              .text = {std::cos(kM) * std::cos(kN) + std::sin(kM) * std::sin(kN),
                       std::sin(kM) * std::cos(kN) - std::cos(kM) * std::sin(kN)},
              .posenc = f({1, 0}, kM - kN),
              .by = by});
  report.add({.item = "(21)",
              .what = "g(q, k, m - n), the last line",
              .text = {last_line(square)},
              .posenc = {dot(f_q, f_k)},
              .by = by,
              .errs = "the same slip, twice (lines 3 and 4)",
              .corrected = Numbers{last_line(kK[1])}});
}

void matrices(Report& report) {
  const auto matrix = [](double angle) {
    return posenc::reference::rotation_matrix(posenc::layout(kPair), Numbers{angle});
  };
  const auto by_text = [](double c, double s) { return Numbers{c, -s, s, c}; };
  report.add({.item = "(22)",
              .what = "f_q by the matrix",
              .text = product(by_text(std::cos(kM), std::sin(kM)), kQ, 2),
              .posenc = posenc::reference::rotate_matrix(posenc::layout(kPair), kQ, Numbers{kM}),
              .by = "reference::rotate_matrix"});
  report.add({.item = "(23)",
              .what = "f_k by the matrix",
              .text = product(by_text(std::cos(kN), std::sin(kN)), kK, 2),
              .posenc = posenc::reference::rotate_matrix(posenc::layout(kPair), kK, Numbers{kN}),
              .by = "reference::rotate_matrix"});
  report.add({.item = "(24)",
              .what = "R_m^T R_n, the matrix of m - n",
              .text = {std::cos(kM - kN), std::sin(kM - kN), -std::sin(kM - kN), std::cos(kM - kN)},
              .posenc = product(transposed(matrix(kM), 2), matrix(kN), 2),
              .by = "reference::rotation_matrix"});
  const Numbers f_q = f(kQ, kM);
  report.add(
      {.item = "length kept",
       .what = "|f_q(q)| and |q|",
       .text = {std::hypot(kQ[0], kQ[1])},
       .posenc = {std::hypot(f_q[0], f_q[1])},
       .by = "reference::rotate_complex",
       .condition = "without an attention factor: YaRN's multiplies cos and sin",
       .without = scaled(
           {std::hypot(f_q[0], f_q[1])},
           posenc::frequencies({.pairing = Pairing::interleaved,
                                .head_dim = 64,
                                .dim = 64,
                                .scaling = posenc::YarnScaling{.factor = 4, .original_max_position_embeddings = 4096}})
               .attention_factor)});
}

}  // namespace

void derivation_of_rope(Report& report) {
  complex_numbers(report);
  inner_product(report);
  matrices(report);
}

}  // namespace seeds
