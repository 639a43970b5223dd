// Text 002, "Position encoding": sinusoids, and Meta's complex code.
#include <posenc/rotate.h>

#include <complex>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::size_t kDim = 8;
constexpr std::size_t kTokens = 4;

void sinusoids(Report& report) {
  const double i = 3;
  const Numbers row_3 = posenc::input_row(posenc::SinusoidalInput{}, kDim, i);
  Numbers sines;
  Numbers cosines;
  for (double j = 0; j < kDim / 2; ++j) {
    sines.push_back(std::sin(i / std::pow(10000, 2 * j / kDim)));
    cosines.push_back(std::cos(i / std::pow(10000, 2 * j / kDim)));
  }
  report.add({.item = "p_(i,2j)",
              .what = "sin(i / 10000^(2j/d)), i = 3, d = 8",
              .text = sines,
              .posenc = {row_3[0], row_3[2], row_3[4], row_3[6]},
              .by = "input_row(SinusoidalInput{}, 8, 3)"});
  report.add({.item = "p_(i,2j+1)",
              .what = "cos of the same",
              .text = cosines,
              .posenc = {row_3[1], row_3[3], row_3[5], row_3[7]},
              .by = "input_row(SinusoidalInput{}, 8, 3)"});

  const Numbers x = sample(kTokens * kDim, 51);
  Numbers p;
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (const double c : posenc::input_row(posenc::SinusoidalInput{}, kDim, static_cast<double>(t))) p.push_back(c);
  }
  const double m = std::sqrt(static_cast<double>(kDim));
  report.add({.item = "X M + P",
              .what = "M = sqrt(d), as in the Transformer's paper",
              .text = plus(scaled(x, m), p),
              .posenc = with_input(posenc::SinusoidalInput{.embedding_multiplier = m}, x, kDim,
                                   posenc::SinusoidalInputWeights{}),
              .by = "SinusoidalInput::embedding_multiplier"});
}

using Row = std::vector<std::complex<float>>;

// The listing's precompute_freqs_cis, in float32 as torch computes it: [seq_len][dim / 2].
std::vector<Row> precompute_freqs_cis(std::size_t dim, std::size_t seq_len, float theta = 10000.0F) {
  std::vector<Row> freqs_cis(seq_len);
  for (std::size_t t = 0; t < seq_len; ++t) {
    for (std::size_t c = 0; c < dim; c += 2) {
      const float freq = 1.0F / std::pow(theta, static_cast<float>(c) / static_cast<float>(dim));
      freqs_cis[t].push_back(std::polar(1.0F, static_cast<float>(t) * freq));
    }
  }
  return freqs_cis;
}

// The listing's apply_rotary_emb for one head: neighbours are a complex number, which is multiplied.
std::vector<float> apply_rotary_emb(const std::vector<float>& x, const std::vector<Row>& freqs_cis) {
  std::vector<float> out;
  const std::size_t pairs = freqs_cis[0].size();
  for (std::size_t i = 0; i < x.size() / 2; ++i) {
    const std::complex<float> y = std::complex<float>(x[2 * i], x[2 * i + 1]) * freqs_cis[i / pairs][i % pairs];
    out.insert(out.end(), {y.real(), y.imag()});
  }
  return out;
}

// Tolerances. cos and sin of a float32 angle below 64: a frequency and its product with t, off by 2^-24 of themselves
// and some more in pow, make 4 * 64 * 2^-24 = 1.5e-5. Of a rotation of numbers up to 1: two products of those.
constexpr double kAngle = 4 * 64 * 0x1p-24;
constexpr double kRotated = 2 * kAngle + 4 * 0x1p-24;

void metas_code(Report& report) {
  const posenc::Rope rope = rope_of(Pairing::interleaved, kDim);
  const std::vector<Row> freqs_cis = precompute_freqs_cis(kDim, 64);
  const posenc::RotaryTable table = posenc::make_table(rope, {.count = 64, .angles = posenc::Angles::float32});
  Numbers by_listing;
  Numbers of_table;
  for (std::size_t t = 0; t < 64; ++t) {
    for (std::size_t p = 0; p < kDim / 2; ++p) {
      for (const float part : {freqs_cis[t][p].real(), freqs_cis[t][p].imag()}) by_listing.push_back(part);
      const auto at = static_cast<std::int64_t>(t);
      for (const float part : {table.cos(at)[p], table.sin(at)[p]}) of_table.push_back(part);
    }
  }
  report.add({.item = "precompute",
              .what = "listing precompute_freqs_cis: cos and sin, 64 positions",
              .text = by_listing,
              .posenc = of_table,
              .by = "make_table, Angles::float32",
              .tolerance = kAngle,
              .first = 8});

  const Numbers numbers = sample(kTokens * kDim, 52);
  const std::vector<float> xq(numbers.begin(), numbers.end());
  const std::vector<float> expected = apply_rotary_emb(xq, freqs_cis);
  std::vector<float> xq_out(xq);
  (void)posenc::rotate({.q = posenc::tensor(xq_out.data(), {kTokens, 1, kDim}), .table = &table});
  report.add({.item = "apply",
              .what = "listing apply_rotary_emb: four tokens of one head",
              .text = Numbers(expected.begin(), expected.end()),
              .posenc = Numbers(xq_out.begin(), xq_out.end()),
              .by = "rotate(RotateArgs{.q, .table})",
              .tolerance = kRotated});
}

// Attention of `heads` heads over x [tokens, dim] in formulas: neighbours rotated, by angles over a head's channels.
Numbers attention(const Numbers& q, const Numbers& k, const Numbers& v, std::size_t heads, bool causal) {
  const std::size_t d = kDim / heads;
  const posenc::Rope rope = rope_of(Pairing::interleaved, static_cast<std::int64_t>(d));
  Numbers out(q.size());
  const auto head = [&](const Numbers& x, std::size_t t, std::size_t h) { return row(x, d, t * heads + h); };
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < kTokens; ++i) {
      Numbers scores;
      for (std::size_t j = 0; j < (causal ? i + 1 : kTokens); ++j) {
        scores.push_back(dot(rotated(rope, head(q, i, h), static_cast<double>(i)),
                             rotated(rope, head(k, j, h), static_cast<double>(j))) /
                         std::sqrt(static_cast<double>(d)));
      }
      const Numbers weights = softmax(scores, scores.size());
      for (std::size_t j = 0; j < weights.size(); ++j) {
        for (std::size_t c = 0; c < d; ++c) out[i * kDim + h * d + c] += weights[j] * head(v, j, h)[c];
      }
    }
  }
  return out;
}

void class_attention(Report& report) {
  const Numbers q = sample(kTokens * kDim, 53);
  const Numbers k = sample(kTokens * kDim, 54);
  const Numbers v = sample(kTokens * kDim, 55);
  posenc::LayerPlan layer = layer_of(2, kDim / 2, 0.5);  // 1 / sqrt(4)
  layer.mask = mask(posenc::MaskKind::causal);
  layer.rotate = {{.heads = 2, .scheme = rope_of(Pairing::interleaved, kDim / 2)}};
  report.add({.item = "Attention",
              .what = "listing class Attention: the output, of two heads",
              .text = attention(q, k, v, 1, false),
              .posenc = attend(layer, q, k, v).out,
              .by = "reference::attend of a LayerPlan with 2 heads",
              .errs = "no heads: angles and scale are those of the whole width; and no causal mask",
              .corrected = attention(q, k, v, 2, true)});
}

}  // namespace

void text_002(Report& report) {
  report.begin("002", "Position encoding");
  sinusoids(report);
  report.add({.item = "d/2 planes",
              .what = "pairs of a vector of 8 channels",
              .text = {8.0 / 2},
              .posenc = {static_cast<double>(rope_of(Pairing::interleaved, kDim).pairs())},
              .by = "Rope::pairs()"});
  metas_code(report);
  class_attention(report);
}

}  // namespace seeds
