// Text 004, In [36] to In [47]: rotation matrices of halves, and the score 20.3460.
#include <numbers>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::size_t kDim = 4;

// The listing get_rope_matrix: cos on the diagonal blocks, -sin above, sin below.
Numbers get_rope_matrix(const Numbers& theta) {
  Numbers mat(kDim * kDim);
  for (std::size_t p = 0; p < kDim / 2; ++p) {
    const std::size_t other = p + kDim / 2;
    mat[p * kDim + p] = mat[other * kDim + other] = std::cos(theta[p]);
    mat[p * kDim + other] = -std::sin(theta[p]);
    mat[other * kDim + p] = std::sin(theta[p]);
  }
  return mat;
}

// What Out [42] and Out [41] print.
const Numbers kPrinted{0.9998, 0.0000, -0.0175, 0.0000, 0.0000, 0.9998, 0.0000, -0.0175,
                       0.0175, 0.0000, 0.9998,  0.0000, 0.0000, 0.0175, 0.0000, 0.9998};

}  // namespace

void matrices_of_the_notebook(Report& report) {
  const posenc::RotaryLayout layout = posenc::layout(rope_of(Pairing::half, kDim));
  const double degree = std::numbers::pi / 180;
  const Numbers theta_m{0 * degree, 1 * degree};
  const Numbers theta_n{1 * degree, 2 * degree};
  const Numbers r_m = posenc::reference::rotation_matrix(layout, theta_m);
  const Numbers r_n = posenc::reference::rotation_matrix(layout, theta_n);
  const char* by = "reference::rotation_matrix, Pairing::half";
  report.add({.item = "In [36]",
              .what = "get_rope_matrix, at 1 and 2 degrees",
              .text = get_rope_matrix(theta_n),
              .posenc = r_n,
              .by = by});
  report.add(
      {.item = "In [38]", .what = "R_m, at 0 and 1 degree", .text = get_rope_matrix(theta_m), .posenc = r_m, .by = by});

  const Numbers difference = posenc::reference::rotation_matrix(layout, minus(theta_n, theta_m));
  report.add({.item = "In [42]", .what = "R_(n-m)", .text = kPrinted, .posenc = difference, .by = by, .decimals = 4});
  report.add({.item = "In [41]",
              .what = "R_m^T R_n",
              .text = kPrinted,
              .posenc = product(transposed(r_m, kDim), r_n, kDim),
              .by = by,
              .decimals = 4});

  const Numbers q{1.0, 2.0, 3.0, 4.0};
  const Numbers k{4.0, 3.0, 2.0, 1.0};
  const auto rotated_by = [&](const Numbers& x, const Numbers& theta) {
    return posenc::reference::rotate_half(layout, x, theta);
  };
  report.add({.item = "In [43]",
              .what = "(R_m q)^T (R_n k), computed and not printed",
              .text = {dot(product(get_rope_matrix(theta_m), q, kDim), product(get_rope_matrix(theta_n), k, kDim))},
              .posenc = {dot(rotated_by(q, theta_m), rotated_by(k, theta_n))},
              .by = "reference::rotate_half"});
  const Numbers r_n_k = posenc::reference::rotate_matrix(layout, k, theta_n);
  const Numbers both = product(transposed(r_m, kDim), r_n_k, kDim);
  report.add({.item = "In [46]",
              .what = "q^T (R_m^T R_n) k",
              .text = {20.3460},
              .posenc = {dot(q, both)},
              .by = "reference::rotate_matrix",
              .decimals = 4});
  report.add({.item = "In [47]",
              .what = "q^T R_(n-m) k",
              .text = {20.3460},
              .posenc = {dot(q, rotated_by(k, minus(theta_n, theta_m)))},
              .by = "reference::rotate_half",
              .decimals = 4});
}

}  // namespace seeds
