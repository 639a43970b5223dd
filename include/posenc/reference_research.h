// Schemes of research papers, in double, one score at a time: PoPE, FoPE, GRAPE, PaTH, relative logits of the content.
//
// None is part of a plan, and nothing lowers to them: a plan cannot say them. What is not settled about them in public
// is on their page, docs/schemes/research.md. q is [d] of the query at position i, k [d] of the key at position j, both
// of one head and as projected and normalised; a score comes before the softmax scale, unless it says otherwise. Angles
// are products of doubles, so they are off by 2^-53 of themselves. Matrices are row-major.
//
// Each function throws Error for vectors whose sizes do not fit, and for numbers that are not finite.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/export.h"

namespace posenc::inline v0_2::reference {

// ---- PoPE, arXiv 2509.10534: polar coordinates ----
//
//   sum_c softplus(q_c) softplus(k_c) cos((j - i) w_c + delta_c)      w_c = base^(-c/d), c = 0 .. d - 1
struct Pope {
  double base = 10000.0;            // above 0
  std::span<const double> delta{};  // [d], radians, a head's own; empty: 0. Clamped to [-2 pi, 0], as the codes do
};

POSENC_API double pope_score(const Pope& scheme, std::span<const double> q, std::span<const double> k, double i,
                             double j);

// ---- FoPE, arXiv 2412.17739: Fourier series ----
//
//   fope(x, n) = x C + rotate_half(x) S      C_p = sum_m cos(n w_m) cos_mix[m, p], S_p likewise; then by dot products
//
// The first pairs' frequencies are kept; of the others' pairs C is 1 and S is dropped_sin. The paper makes those
// frequencies zero, and a sine of zero is 0; its code has 1, and so has vLLM. Otherwise this follows vLLM: the paper's
// listing divides the mixes by the sums of their columns, which a caller may do before, and rotates the other way.
struct Fope {
  std::span<const double> inv_freq{};  // [kept], at most d / 2, radians per position
  std::span<const double> cos_mix{};   // [kept, kept]
  std::span<const double> sin_mix{};   // [kept, kept]
  double dropped_sin = 1.0;
};

// A head [d], d even, halves paired, at position n.
POSENC_API std::vector<double> fope(const Fope& scheme, std::span<const double> x, double n);
POSENC_API double fope_score(const Fope& scheme, std::span<const double> q, std::span<const double> k, double i,
                             double j);

// ---- GRAPE, arXiv 2512.07805: groups ----
//
// Multiplicative: G(n) = exp(n sum_p w_p L_p), L = a b^T - b a^T, of planes that are orthogonal to each other:
//
//   (G(i) q) . (G(j) k) = q . G(j - i) k
//
// L takes a to -b, so a plane of channels (c, c') rotates clockwise, as in the authors' code. RoPE rotates the other
// way: it is this with a and b exchanged. (The paper calls both RoPE, and has L with either sign.)
struct GrapePlane {
  std::span<const double> a{};  // [d]
  std::span<const double> b{};  // [d], not parallel to a; |a| = |b| = 1 and a . b = 0 make w the angle per position
  double frequency = 1.0;       // w
};

// G(n) x. Throws Error for a plane whose vectors are parallel, and for planes that are not orthogonal to each other:
// they would not commute, and the planes of their sum's real Schur form do.
POSENC_API std::vector<double> grape(std::span<const GrapePlane> planes, std::span<const double> x, double n);
POSENC_API double grape_score(std::span<const GrapePlane> planes, std::span<const double> q, std::span<const double> k,
                              double i, double j);

// Additive, (4.6) and (4.7): what is added to the scaled product of q and k. Without gates it is ALiBi.
//
//   (j - i) rate (softplus(query_gate . q / sqrt(d)) + softplus(key_gate . k / sqrt(d)))      or (j - i) rate
struct GrapeBias {
  double rate = 1.0;  // omega, not negative; in the authors' code softplus(omega) times ALiBi's slope
  std::span<const double> query_gate{};  // [d], or empty: no such term
  std::span<const double> key_gate{};    // [d], or empty
};

POSENC_API double grape_bias(const GrapeBias& scheme, std::span<const double> q, std::span<const double> k, double i,
                             double j);

// ---- PaTH, arXiv 2505.16381: accumulated Householder matrices ----
//
//   k . H_(j+1) H_(j+2) ... H_i q      H_l = I - beta_l w_l w_l^T
//
// w: [steps, d], of tokens j + 1 to i in this order, of length 1 as models make them; betas: [steps], from 0 to 2.
// Without steps, for j = i, it is q . k.
POSENC_API double path_score(std::span<const double> q, std::span<const double> k, std::span<const double> w,
                             std::span<const double> betas);

// ---- Relative logits of the content: Inkling, no paper, the model's code in transformers 5 ----
//
//   tau_i (q . k / d + r . P[:, i - j])      tau_i = 1 + alpha ln(max((i + 1) / n_floor, 1)), 1 without n_floor
//
// The softmax scale 1/d is in it. Keys that are `extent` or more back, or ahead, get no r.
struct RelativeLogits {
  std::span<const double> profiles{};     // P [d_rel, extent], an extent of at least 1
  std::optional<std::int64_t> n_floor{};  // at least 1; the config's log_scaling_n_floor; none on sliding layers
  double alpha = 0.1;                     // the config's log_scaling_alpha
};

// r: [d_rel], the query's relative state, W_r x_i. Positions are at least 0.
POSENC_API double relative_logit(const RelativeLogits& scheme, std::span<const double> q, std::span<const double> k,
                                 std::span<const double> r, std::int64_t i, std::int64_t j);

}  // namespace posenc::inline v0_2::reference
