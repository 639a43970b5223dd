// Text 001, "Understanding LLM position encoding: RoPE", sections 1 and 2. Vectors are rows, as in the text.
#include <posenc/properties.h>

#include <algorithm>

#include "layer_001.h"
#include "texts.h"

namespace seeds {
namespace {

void absolute(Report& report, const Layer& m) {
  const Numbers e = m.added();
  const Numbers q = product(e, m.w_q, kDim);
  const Numbers k = product(e, m.w_k, kDim);
  const Numbers v = product(e, m.w_v, kDim);
  const Numbers by_text = plus(m.x, m.p);
  const Numbers qk = product(product(by_text, m.w_q, kDim), transposed(product(by_text, m.w_k, kDim), kDim), kDim);
  report.add({.item = "(1)",
              .what = "x + p into attention: the weights",
              .text = softmax(qk, kTokens),
              .posenc = attend(kScaled, q, k, v).scores,
              .by = "reference::add_input, reference::attend",
              .errs = "softmax(q k^T) lacks the softmax scale 1/sqrt(d)",
              .corrected = softmax(scaled(qk, 0.5), kTokens)});
  report.add({.item = "x * p",
              .what = "multiplied instead of added",
              .text = by_element(m.x, m.p),
              .posenc = with_input(posenc::SinusoidalInput{.combine = posenc::InputCombine::multiply}, m.x, kDim,
                                   posenc::SinusoidalInputWeights{}),
              .by = "reference::add_input, InputCombine::multiply"});
  report.add({.item = "cost of adding",
              .what = "additions for 512 tokens of 4 heads of 64 channels",
              .text = {512.0 * 4 * 64},
              .posenc = {posenc::cost("sinusoidal").additions},
              .by = "cost(\"sinusoidal\").additions"});
  // One word at positions 1 and 8.
  const Numbers word = at(m.x, 0);
  Numbers twice = word;
  twice.insert(twice.end(), word.begin(), word.end());
  const std::vector<std::int64_t> positions{1, 8};
  Numbers here(twice.size());
  posenc::reference::add_input(posenc::SinusoidalInput{}, {},
                               {.out = posenc::tensor(here.data(), {2, kDim}),
                                .x = posenc::tensor(twice.data(), {2, kDim}),
                                .positions = std::span(positions)});
  Numbers rows;
  for (const double place : {1.0, 8.0}) {
    for (const double c : plus(word, posenc::input_row(posenc::SinusoidalInput{}, kDim, place))) rows.push_back(c);
  }
  report.add({.item = "e_1, e_8",
              .what = "x + p_1 and x + p_8: one word at two positions is two inputs",
              .text = rows,
              .posenc = here,
              .by = "reference::add_input at positions 1, 8"});
  report.add({.item = "10000 x 512",
              .what = "words times places: inputs told apart",
              .text = {5.12e6},
              .posenc = {10000.0 * 512.0},
              .by = "arithmetic"});

  const auto score = [&](const Numbers& left, const Numbers& right) {
    return dot(product(left, m.w_q, kDim), product(right, m.w_k, kDim));
  };
  const Numbers right = pairs([&](auto i, auto j) { return score(at(by_text, i), at(by_text, j)); });
  report.add({.item = "(2)",
              .what = "q_i k_j^T of x + p",
              .text = pairs([&](auto i, auto j) { return score(plus(at(m.x, i), at(m.p, j)), at(by_text, j)); }),
              .posenc = attend(kPlain, q, k, v, Stage::content).scores,
              .by = "reference::attend, ScoreStage::content",
              .errs = "(x_i + p_j) must read (x_i + p_i), and q_1 must read q_i",
              .corrected = right});
}

// Shaw's rows for distances clipped to 2: tables of j - i = -2 .. 2, which posenc holds reversed, by i - j.
struct Shaw {
  Numbers by_checkpoint = sample(5 * kDim, 15);
  Numbers reversed{};
  Shaw() {
    for (std::size_t r = 5; r-- > 0;) {
      for (const double c : row(by_checkpoint, kDim, r)) reversed.push_back(c);
    }
  }
  Numbers at_difference(std::int64_t difference) const {
    return row(by_checkpoint, kDim, static_cast<std::size_t>(std::clamp<std::int64_t>(difference, -2, 2) + 2));
  }
  posenc::ShawWeights weights() const { return {.table = posenc::tensor(reversed.data(), {5, kDim})}; }
};

std::int64_t difference(std::size_t j, std::size_t i) {
  return static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
}

void shaw(Report& report, const Layer& m) {
  const Shaw rows;
  posenc::LayerPlan layer = kScaled;
  layer.score = {posenc::ShawKeys{.left = 2, .right = 2}};
  const Numbers here = attend(layer, m.xq, m.xk, m.xv, Stage::weights, {.score = {rows.weights()}}).scores;
  const auto scores = [&](int sign) {
    return pairs([&](auto i, auto j) {
      return dot(at(m.xq, i), plus(at(m.xk, j), rows.at_difference(sign * difference(j, i))));
    });
  };
  report.add({.item = "(3)",
              .what = "Google's (Shaw's) weights, R_ij on the keys",
              .text = softmax(scores(1), kTokens),
              .posenc = here,
              .by = "ShawKeys, reference::attend",
              .errs = "the softmax scale 1/sqrt(d) over the sum is missing",
              .corrected = softmax(scaled(scores(1), 0.5), kTokens)});
  report.add({.item = "R_ij",
              .what = "p_K[clip(i - j, p_min, p_max)]",
              .text = softmax(scaled(scores(-1), 0.5), kTokens),
              .posenc = here,
              .by = "ShawKeys, the table reversed on load",
              .errs = "the paper and its checkpoints clip j - i: with i - j the table is read mirrored",
              .corrected = softmax(scaled(scores(1), 0.5), kTokens)});

  // Rows that are sinusoids (NEZHA): that of j - i = -left is the paper's of place 0.
  layer.score = {posenc::ShawKeys{.left = 2, .right = 2, .sinusoidal = true}};
  const Numbers by_sines = pairs([&](auto i, auto j) {
    const auto place = static_cast<double>(std::clamp<std::int64_t>(difference(j, i), -2, 2) + 2);
    const Numbers r = posenc::input_row(posenc::SinusoidalInput{}, kDim, place);
    return 0.5 * dot(at(m.xq, i), plus(at(m.xk, j), r));
  });
  report.add({.item = "R, sinusoidal",
              .what = "R_ij from sines of the clipped distance",
              .text = by_sines,
              .posenc = attend(layer, m.xq, m.xk, m.xv, Stage::content).scores,
              .by = "ShawKeys::sinusoidal, reference::attend"});

  const Numbers table = sample(256 * kDim, 16);  // distances 0 to 255
  posenc::LayerPlan one_key = kPlain;
  one_key.score = {posenc::ShawKeys{.left = 255}};
  one_key.mask = mask(posenc::MaskKind::bidirectional);
  Numbers far;
  for (const std::int64_t place : {255, 300, 1000}) {
    const std::vector<std::int64_t> query{place};
    const std::vector<std::int64_t> key{0};
    far.push_back(attend(one_key, at(m.xq, 0), at(m.xk, 0), at(m.xv, 0), Stage::content,
                         {.score = {posenc::ShawWeights{.table = posenc::tensor(table.data(), {256, kDim})}}},
                         {.q_positions = std::span(query), .k_positions = std::span(key)})
                      .scores[0]);
  }
  const double last = dot(at(m.xq, 0), plus(at(m.xk, 0), at(table, 255)));
  report.add({.item = "256 rows",
              .what = "scores at distances 255, 300 and 1000 of a table of 256 rows",
              .text = {last, last, last},
              .posenc = far,
              .by = "ShawKeys{.left = 255}, reference::attend"});

  layer = kScaled;
  const Numbers a = attend(layer, m.xq, m.xk, m.xv).scores;
  const Numbers with_p = product(plus(m.x, m.p), m.w_v, kDim);
  report.add({.item = "(4)",
              .what = "the output, with p_j W_V in the values",
              .text = product(a, plus(m.xv, product(m.p, m.w_v, kDim)), kTokens),
              .posenc = attend(layer, m.xq, m.xk, with_p).out,
              .by = "reference::attend"});
  layer.value = posenc::ShawValues{.left = 2, .right = 2};
  Numbers by_5(kTokens * kDim);
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (std::size_t j = 0; j < kTokens; ++j) {
      const Numbers value = plus(at(m.xv, j), rows.at_difference(difference(j, i)));
      for (std::size_t c = 0; c < kDim; ++c) by_5[i * kDim + c] += a[i * kTokens + j] * value[c];
    }
  }
  report.add({.item = "(5)",
              .what = "the output, with R_ij on the values",
              .text = by_5,
              .posenc = attend(layer, m.xq, m.xk, m.xv, Stage::weights, {.value = rows.weights()}).out,
              .by = "ShawValues, reference::attend"});
}

}  // namespace

void text_001(Report& report) {
  report.begin("001", "Understanding LLM position encoding: RoPE");
  const Layer layer;
  absolute(report, layer);
  shaw(report, layer);
  xlnet_and_t5(report);
  derivation_of_rope(report);
  many_channels(report);
  decay(report);
}

}  // namespace seeds
