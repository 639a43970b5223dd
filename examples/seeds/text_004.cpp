// Text 004, a notebook: BERT, GPT, sinusoids, RoPE with printed numbers. In [..] are its cells.
#include <posenc/scores.h>

#include <numbers>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::size_t kDim = 4;
const posenc::Rope kNeighbours = rope_of(Pairing::interleaved, kDim);
const posenc::RotaryLayout kHalves = posenc::layout(rope_of(Pairing::half, kDim));

Numbers learned(const posenc::LearnedInput& scheme, const Numbers& x, const Numbers& positions, const Numbers& types) {
  const std::int64_t tokens = std::ssize(x) / static_cast<std::int64_t>(kDim);
  const std::vector<std::int64_t> token_types{0, 0, 1};
  Numbers out(x.size());
  posenc::reference::add_input(scheme,
                               {.positions = posenc::tensor(positions.data(), {8, kDim}),
                                .token_types = posenc::tensor(types.data(), {std::ssize(types) / 4, kDim})},
                               {.out = posenc::tensor(out.data(), {tokens, kDim}),
                                .x = posenc::tensor(x.data(), {tokens, kDim}),
                                .token_types = token_types});
  return out;
}

void bert_and_gpt(Report& report) {
  const Numbers words = sample(10 * kDim, 81);  // the word table
  const Numbers positions = sample(8 * kDim, 82);
  const Numbers types = sample(2 * kDim, 83);
  const Numbers x = {words.begin(), words.begin() + 3 * kDim};  // words 0, 1, 2
  const auto sum = [&](const Numbers& type_rows) {
    Numbers out;
    for (std::size_t t = 0; t < 3; ++t) {
      const Numbers type = row(type_rows, kDim, t == 2 ? 1 : 0);
      for (const double c : plus(plus(row(x, kDim, t), type), row(positions, kDim, t))) out.push_back(c);
    }
    return out;
  };
  report.add({.item = "listing, BERT",
              .what = "inputs_embeds + token_type_embeddings + position_embeddings",
              .text = sum(types),
              .posenc = learned({.positions = 8, .token_types = 2}, x, positions, types),
              .by = "reference::add_input(LearnedInput{.token_types = 2}, ...)"});
  report.add({.item = "listing, GPT",
              .what = "inputs_embeds + position_embeds + token_type_embeds",
              .text = sum(words),
              .posenc = learned({.positions = 8}, x, positions, words),
              .by = "reference::add_input; token types are rows of the word table"});
}

void sinusoids(Report& report) {
  Numbers by_pair;
  Numbers by_channel;
  Numbers here;
  Numbers rows;
  for (int t = 0; t < 4; ++t) {
    for (int c = 0; c < 4; ++c) {
      const double in_pair = t / std::pow(10000, 2 * (c / 2) / 4.0);
      by_pair.push_back(c % 2 == 0 ? std::sin(in_pair) : std::cos(in_pair));
      const double alone = t / std::pow(10000, (c % 2 == 0 ? c : c - 1) / 4.0);
      by_channel.push_back(c % 2 == 0 ? std::sin(alone) : std::cos(alone));
    }
    const double a = t / std::pow(10000, 0.0 / 4);
    const double b = t / std::pow(10000, 2.0 / 4);
    rows.insert(rows.end(), {std::sin(a), std::cos(a), std::sin(b), std::cos(b)});
    for (const double c : posenc::input_row(posenc::SinusoidalInput{}, kDim, t)) here.push_back(c);
  }
  const char* by = "input_row(SinusoidalInput{}, 4, t)";
  report.add({.item = "PE(t,2i), PE(t,2i+1)", .what = "by pairs", .text = by_pair, .posenc = here, .by = by});
  report.add({.item = "PE(t,i)",
              .what = "by channels, exponents i and i - 1",
              .text = by_channel,
              .posenc = here,
              .by = by,
              .first = 4});
  report.add(
      {.item = "d_model = 4", .what = "the rows of pos = 0 to 3", .text = rows, .posenc = here, .by = by, .first = 4});
}

void relative(Report& report) {
  const Numbers q = sample(kDim, 84);
  const Numbers k = sample(kDim, 85);
  const auto score = [&](double m, double n) { return dot(rotated(kNeighbours, q, m), rotated(kNeighbours, k, n)); };
  report.add({.item = "f(|0-1|)",
              .what = "a score by |i - j| alone: at 0, 1 what it is at 1, 0",
              .text = {score(1, 0)},
              .posenc = {score(0, 1)},
              .by = "reference::rotate_pairwise",
              .errs = "|i - j| loses the direction, which RoPE, Shaw, T5's encoder and Transformer-XL have"});
  Numbers ids;
  Numbers here;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      ids.push_back(std::abs(i - j));
      here.push_back(-posenc::alibi_bias({.heads = 8, .symmetric = true}, 1.0, i, j));
    }
  }
  report.add({.item = "id matrix",
              .what = "|i - j| of four positions",
              .text = ids,
              .posenc = here,
              .by = "alibi_bias, symmetric, slope 1, its sign changed"});
  report.add({.item = "(R_m q)^T (R_n k)",
              .what = "= q^T R_(n-m) k, at m = 5, n = 2",
              .text = {dot(q, rotated(kNeighbours, k, 2 - 5))},
              .posenc = {score(5, 2)},
              .by = "reference::rotate_pairwise"});
}

// cos and sin in turn, of float tables [positions, pairs].
Numbers complex_rows(const posenc::CosSin& table) {
  Numbers out;
  for (std::size_t i = 0; i < table.cos.size(); ++i) out.insert(out.end(), {table.cos[i], table.sin[i]});
  return out;
}

// What Out [13] and Out [10] print.
const Numbers kPrinted{1.0000, 0.0000, 1.0000, 0.0000, 0.5403, 0.8415, 0.9999, 0.0100, -0.4161, 0.9093, 0.9998, 0.0200};

void complex_tables(Report& report) {
  const std::vector<std::int64_t> positions{0, 1, 2};
  report.add({.item = "In [13]",
              .what = "precompute_freqs_cis(dim=4, end=3): real and imaginary parts",
              .text = kPrinted,
              .posenc = complex_rows(posenc::cos_sin(kNeighbours, positions, {.angles = posenc::Angles::float32})),
              .by = "cos_sin, Angles::float32",
              .decimals = 4,
              .first = 4});
  const Numbers inv_freq = posenc::frequencies(kNeighbours).inv_freq;
  report.add({.item = "freqs",
              .what = "[1, 1/theta^(2/4)]",
              .text = {1., 0.01},
              .posenc = inv_freq,
              .by = "frequencies(rope).inv_freq"});
  Numbers outer;
  for (const double t : {0.0, 1.0, 2.0}) {
    for (const double angle : angles(kNeighbours, t)) outer.push_back(angle);
  }
  report.add({.item = "t x freqs",
              .what = "angles of positions 0, 1, 2",
              .text = {0, 0, 1, 0.01, 2, 0.02},
              .posenc = outer,
              .by = "frequencies(rope).inv_freq, times the position"});
  report.add({.item = "In [21]",
              .what = "torch.polar(1, 2)",
              .text = {-0.4161, 0.9093},
              .posenc = posenc::reference::rotate_complex(posenc::layout(rope_of(Pairing::interleaved, 2)),
                                                          Numbers{1, 0}, Numbers{2}),
              .by = "reference::rotate_complex",
              .decimals = 4});
  const posenc::RotaryTable table =
      posenc::table_from_angles(posenc::layout(kNeighbours), Numbers{0.0, 0.0, 1.0, 0.01, 2.0, 0.02});
  posenc::CosSin rows;
  for (const std::int64_t t : positions) {
    rows.cos.insert(rows.cos.end(), table.cos(t).begin(), table.cos(t).end());
    rows.sin.insert(rows.sin.end(), table.sin(t).begin(), table.sin(t).end());
  }
  report.add({.item = "In [10]",
              .what = "torch.polar(ones, theta_matrix)",
              .text = kPrinted,
              .posenc = complex_rows(rows),
              .by = "table_from_angles",
              .decimals = 4,
              .first = 4});
}

}  // namespace

void text_004(Report& report) {
  report.begin("004", "A notebook: BERT, GPT, Llama");
  bert_and_gpt(report);
  sinusoids(report);
  relative(report);
  complex_tables(report);
  matrices_of_the_notebook(report);
}

}  // namespace seeds
