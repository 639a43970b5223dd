// Text 000, "Theoretical foundations of position encoding".
#include <posenc/pairing.h>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::int64_t kDim = 8;  // channels of a head in the samples
constexpr double kPosition = 5;

// theta_i as the text has it.
double theta(double i, double d) { return std::pow(10000.0, -2 * i / d); }

// (1): exp(q_m . k_n / sqrt d) over its sum for all n.
Numbers weights_by_1(const Numbers& q, const Numbers& k, std::size_t d) {
  Numbers scores = product(q, transposed(k, d), d);
  return softmax(scaled(scores, 1 / std::sqrt(static_cast<double>(d))), k.size() / d);
}

// (2): the matrix of neighbouring pairs.
Numbers matrix_2(std::size_t d, double m) {
  Numbers r(d * d);
  for (std::size_t p = 0; p < d / 2; ++p) {
    const double angle = m * theta(static_cast<double>(p), static_cast<double>(d));
    r[2 * p * d + 2 * p] = r[(2 * p + 1) * d + 2 * p + 1] = std::cos(angle);
    r[2 * p * d + 2 * p + 1] = -std::sin(angle);
    r[(2 * p + 1) * d + 2 * p] = std::sin(angle);
  }
  return r;
}

// (3): x * (cos, cos, ...) + (-x_1, x_0, -x_3, x_2, ...) * (sin, sin, ...).
Numbers by_3(const Numbers& x, double m) {
  Numbers out(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double angle = m * theta(static_cast<double>(c / 2), static_cast<double>(x.size()));
    out[c] = x[c] * std::cos(angle) + (c % 2 == 0 ? -x[c + 1] : x[c - 1]) * std::sin(angle);
  }
  return out;
}

// The listing of transformers 4.28: x * cos + rotate_half(x) * sin, cos and sin those of position_ids' rows.
Numbers listing(const Numbers& x, const std::vector<std::int64_t>& position_ids, std::size_t d) {
  Numbers out;
  for (std::size_t t = 0; t < position_ids.size(); ++t) {
    for (std::size_t c = 0; c < d; ++c) {
      const double angle = static_cast<double>(position_ids[t]) * theta(static_cast<double>(c % (d / 2)), kDim);
      const double partner = c < d / 2 ? -x[t * d + c + d / 2] : x[t * d + c - d / 2];
      out.push_back(x[t * d + c] * std::cos(angle) + partner * std::sin(angle));
    }
  }
  return out;
}

void attention_weights(Report& report) {
  const Numbers q = sample(3 * 4, 1);
  const Numbers k = sample(3 * 4, 2);
  posenc::LayerPlan layer = layer_of(1, 4, 0.5);
  const Numbers all = attend(layer, q, k, k).scores;
  layer.mask = mask(posenc::MaskKind::causal);
  report.add({.item = "(1)",
              .what = "attention weights of three tokens, d = 4",
              .text = weights_by_1(q, k, 4),
              .posenc = all,
              .by = "reference::attend, ScoreStage::weights",
              .condition = "without a mask: a decoder sums over j <= m",
              .without = attend(layer, q, k, k).scores});
}

void rope_and_its_angles(Report& report) {
  const posenc::Rope rope = rope_of(Pairing::interleaved, kDim);
  report.add({.item = "(2)",
              .what = "the matrix of position 5, d = 8",
              .text = matrix_2(kDim, kPosition),
              .posenc = posenc::reference::rotation_matrix(posenc::layout(rope), angles(rope, kPosition)),
              .by = "reference::rotation_matrix, Pairing::interleaved"});

  const Numbers of_128 = posenc::frequencies(rope_of(Pairing::half, 128)).inv_freq;
  Numbers thetas;
  for (int i = 0; i < 64; ++i) thetas.push_back(theta(i, 128));
  report.add({.item = "theta_i",
              .what = "10000^(-2i/d), d = 128",
              .text = thetas,
              .posenc = of_128,
              .by = "frequencies(rope).inv_freq"});
  report.add({.item = "figure 10000^-x",
              .what = "the curve at x = 0, 1/4, 1/2, 3/4: theta_i of d = 8",
              .text = {std::pow(10000, -0.0), std::pow(10000, -0.25), std::pow(10000, -0.5), std::pow(10000, -0.75)},
              .posenc = posenc::frequencies(rope).inv_freq,
              .by = "frequencies(rope).inv_freq"});
  double falls = 0;
  for (std::size_t i = 1; i < of_128.size(); ++i) falls += of_128[i] < of_128[i - 1] ? 1 : 0;
  report.add({.item = "higher, slower",
              .what = "pairs of 128 channels that are rotated by less than the pair before",
              .text = {63},
              .posenc = {falls},
              .by = "frequencies(rope).inv_freq"});
}

void forms_of_the_rotation(Report& report) {
  const posenc::Rope neighbours = rope_of(Pairing::interleaved, kDim);
  const posenc::Rope halves = rope_of(Pairing::half, kDim);
  const Numbers x = sample(kDim, 3);
  report.add({.item = "(3)",
              .what = "the rotation by elements, position 5",
              .text = by_3(x, kPosition),
              .posenc = rotated(neighbours, x, kPosition),
              .by = "reference::rotate_pairwise"});

  const Numbers rows = sample(3 * kDim, 4);
  const std::vector<std::int64_t> position_ids{7, 0, 3};
  Numbers out(rows.size());
  (void)posenc::reference::rotate(halves, {.out = posenc::tensor(out.data(), {3, 1, kDim}),
                                           .x = posenc::tensor(rows.data(), {3, 1, kDim}),
                                           .positions = std::span(position_ids)});
  report.add({.item = "listing",
              .what = "transformers 4.28 at position_ids 7, 0, 3",
              .text = listing(rows, position_ids, kDim),
              .posenc = out,
              .by = "reference::rotate, Pairing::half"});
}

// q = W_q x at 5, k = W_k x' at 2: with rows of both weights in the other pairing's order, the other code has the
// score.
void equivalence(Report& report) {
  const posenc::Rope neighbours = rope_of(Pairing::interleaved, kDim);
  const posenc::Rope halves = rope_of(Pairing::half, kDim);
  const Numbers x = sample(kDim, 5);
  const Numbers other = sample(kDim, 6);
  Numbers w_q = sample(kDim * kDim, 7);
  Numbers w_k = sample(kDim * kDim, 8);
  const auto score = [&](const posenc::Rope& rope) {
    return dot(rotated(rope, product(w_q, x, kDim), 5), rotated(rope, product(w_k, other, kDim), 2));
  };
  const double by_formula = score(neighbours);
  const double same_weights = score(halves);
  for (Numbers* weights : {&w_q, &w_k}) {
    posenc::permute_pairing({.x = posenc::tensor(weights->data(), {kDim, kDim}),
                             .layout = posenc::layout(neighbours),
                             .to = Pairing::half});
  }
  report.add({.item = "(3) = listing",
              .what = "the score of the code beside that of (3)",
              .text = {score(halves)},
              .posenc = {by_formula},
              .by = "permute_pairing, reference::rotate_half",
              .condition = "rows of W_q and W_k are permuted; with the same weights it is another score",
              .without = Numbers{same_weights}});
}

void reordered(Report& report) {
  const posenc::RotaryLayout neighbours = posenc::layout(rope_of(Pairing::interleaved, kDim));
  const Numbers x = sample(kDim, 3);
  Numbers even_first;
  for (const std::int64_t c : posenc::pairing_order(neighbours, Pairing::half)) {
    even_first.push_back(x[static_cast<std::size_t>(c)]);
  }
  const Numbers result = rotated(rope_of(Pairing::half, kDim), even_first, kPosition);

  // Rows of x_1, x_3, x_5, the second vector's lower half, beside `third`.
  const auto lower = [&](const Numbers& third) {
    Numbers out;
    for (std::size_t i = 0; i < 3; ++i) {
      const double angle = kPosition * theta(static_cast<double>(i), kDim);
      out.push_back(x[2 * i + 1] * std::cos(angle) + third[i] * std::sin(angle));
    }
    return out;
  };
  report.add({.item = "(4)",
              .what = "even channels first: rows of x_1, x_3, x_5",
              .text = lower({x[2], x[4], x[6]}),
              .posenc = {result[4], result[5], result[6]},
              .by = "pairing_order, reference::rotate_half",
              .errs = "the third vector's lower half is x_0, x_2, x_4, ..., not x_2, x_4, x_6, ...",
              .corrected = lower({x[0], x[2], x[4]})});
}

}  // namespace

void text_000(Report& report) {
  report.begin("000", "Theoretical foundations of position encoding");
  attention_weights(report);
  rope_and_its_angles(report);
  forms_of_the_rotation(report);
  equivalence(report);
  reordered(report);
}

}  // namespace seeds
