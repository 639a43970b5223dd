// Text 001, section 3, from two channels to many: (25) to (27), and where LLaMA rotates.
#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr double kM = 5;  // the query's position
constexpr double kN = 2;  // the key's
constexpr std::size_t kDim = 8;
const posenc::Rope kHead = rope_of(Pairing::interleaved, kDim);

double score(const Numbers& q, const Numbers& k, double m, double n) {
  return dot(rotated(kHead, q, m), rotated(kHead, k, n));
}

}  // namespace

void many_channels(Report& report) {
  const Numbers r = posenc::reference::rotation_matrix(posenc::layout(kHead), angles(kHead, kM));
  const double slowest = std::pow(10000.0, -6.0 / kDim);
  const Numbers last_row{std::sin(kM * slowest), std::cos(kN * slowest)};
  report.add({.item = "(25)",
              .what = "the matrix's last row",
              .text = last_row,
              .posenc = {r[62], r[63]},
              .by = "reference::rotation_matrix",
              .errs = "the last entry is cos m theta, not cos n theta",
              .corrected = Numbers{last_row[0], std::cos(kM * slowest)}});
  const auto thetas = [](double first) {
    Numbers out;
    for (double i = first; i < first + 4; ++i) out.push_back(std::pow(10000.0, -2 * i / kDim));
    return out;
  };
  report.add({.item = "(26)",
              .what = "theta_i = 10000^(-2(i-1)/d), read at (25)'s i = 0 .. d/2 - 1",
              .text = thetas(-1),
              .posenc = posenc::frequencies(kHead).inv_freq,
              .by = "frequencies(rope).inv_freq",
              .errs = "(25) counts from 0, so theta_i = 10000^(-2i/d); with i from 1 as stated the set is the same",
              .corrected = thetas(0)});
  const Numbers q = sample(kDim, 33);
  const auto channel_4 = [&](double i) {
    const double angle = kM * std::pow(10000.0, -2 * i / kDim);
    return Numbers{q[4] * std::cos(angle) - q[5] * std::sin(angle)};
  };
  report.add({.item = "(27)",
              .what = "the rotation by elements: channel 4 of 8",
              .text = channel_4(1),
              .posenc = {rotated(kHead, q, kM)[4]},
              .by = "reference::rotate_pairwise",
              .errs = "cos m theta_1 and sin m theta_1 stand three times; each stands twice, then theta_2",
              .corrected = channel_4(2)});

  // W (R x) beside R (W x): which of them knows the distance alone?
  const Numbers w_q = sample(kDim * kDim, 35);
  const Numbers w_k = sample(kDim * kDim, 36);
  const Numbers other = sample(kDim, 37);
  const auto before = [&](double m, double n) {
    return dot(product(w_q, rotated(kHead, q, m), kDim), product(w_k, rotated(kHead, other, n), kDim));
  };
  const auto after = [&](double m, double n) { return score(product(w_q, q, kDim), product(w_k, other, kDim), m, n); };
  report.add({.item = "layer's input",
              .what = "rotated before the projections: how the score changes from 5 and 2 to 105 and 102",
              .text = {before(105, 102) - before(5, 2)},
              .posenc = {after(105, 102) - after(5, 2)},
              .by = "reference::rotate_pairwise on W_q x, W_k x",
              .errs = "LLaMA rotates q and k in each layer, after the projections, not the layer's input, nor v"});
}

}  // namespace seeds
