// Text 001, XLNet, T5, and the comparison that ends section 2: (6) to (10).
#include <posenc/properties.h>

#include "layer_001.h"
#include "texts.h"

namespace seeds {
namespace {

// r(i - j), sines and then cosines, as Transformer-XL and XLNet have it.
Numbers sinusoid(std::size_t i, std::size_t j) {
  return posenc::input_row(posenc::SinusoidalInput{.convention = posenc::SinusoidConvention::xlnet}, kDim,
                           static_cast<double>(i) - static_cast<double>(j));
}

void four_products(Report& report, const Layer& m) {
  const Numbers e = m.added();
  const Numbers pq = product(m.p, m.w_q, kDim);
  const Numbers pk = product(m.p, m.w_k, kDim);
  report.add({.item = "(6)",
              .what = "the product of x + p in four terms",
              .text = pairs([&](auto i, auto j) {
                return dot(at(m.xq, i), at(m.xk, j)) + dot(at(m.xq, i), at(pk, j)) + dot(at(pq, i), at(m.xk, j)) +
                       dot(at(pq, i), at(pk, j));
              }),
              .posenc = attend(kPlain, product(e, m.w_q, kDim), product(e, m.w_k, kDim), m.xv, Stage::content).scores,
              .by = "reference::attend, ScoreStage::content"});
}

void xlnet(Report& report, const Layer& m) {
  const Numbers u = sample(kDim, 21);
  const Numbers v = sample(kDim, 22);
  const Numbers w_r = sample(kDim * kDim, 23);  // W_(k,R): of the positions alone
  const Numbers projection = transposed(w_r, kDim);

  // x W_Q W_K^T x^T + x W_Q W^T R^T + u W_K^T x^T + v W^T R^T, with W of the positions
  const auto scores = [&](const Numbers& w, const Numbers& content, const Numbers& position) {
    return pairs([&](auto i, auto j) {
      const Numbers r = product(sinusoid(i, j), w, kDim);
      return dot(plus(at(m.xq, i), content), at(m.xk, j)) + dot(plus(at(m.xq, i), position), r);
    });
  };
  posenc::LayerPlan layer = kScaled;
  layer.score = {posenc::TransformerXl{}};
  const auto here = [&](const Numbers& content, const Numbers& position, Stage stage) {
    return attend(
        layer, m.xq, m.xk, m.xv, stage,
        {.score = {posenc::TransformerXlWeights{.projection = posenc::tensor(projection.data(), {kDim, kDim}),
                                                .content_bias = posenc::tensor(content.data(), {1, kDim}),
                                                .position_bias = posenc::tensor(position.data(), {1, kDim})}}});
  };
  const Numbers uq = product(u, m.w_q, kDim);
  const Numbers vq = product(v, m.w_q, kDim);
  report.add({.item = "(7)",
              .what = "XLNet's weights, u and v through W_Q",
              .text = softmax(scores(m.w_k, uq, vq), kTokens),
              .posenc = here(uq, vq, Stage::weights).scores,
              .by = "TransformerXl, reference::attend",
              .errs = "positions have a projection of their own, W_(k,R), not W_K; and 1/sqrt(d) is missing",
              .corrected = softmax(scaled(scores(w_r, uq, vq), 0.5), kTokens)});
  report.add({.item = "(8)",
              .what = "XLNet's scores, u and v free vectors",
              .text = scaled(scores(m.w_k, u, v), 0.5),
              .posenc = here(u, v, Stage::content).scores,
              .by = "TransformerXl, ScoreStage::content",
              .errs = "W_K again where W_(k,R) belongs",
              .corrected = scaled(scores(w_r, u, v), 0.5)});
  const Attended result = here(u, v, Stage::weights);
  report.add({.item = "(9)",
              .what = "XLNet's output: no positions in the values",
              .text = product(result.scores, m.xv, kTokens),
              .posenc = result.out,
              .by = "TransformerXl, reference::attend"});
}

void t5(Report& report, const Layer& m) {
  const Numbers table = sample(32, 24);  // a number a bucket, of one head
  posenc::LayerPlan layer = kPlain;
  layer.score = {posenc::T5Bias{.bidirectional = true}};
  const auto beta = [&](std::size_t i, std::size_t j) {
    // Distances below 8 have a bucket each: 0 to 7 for keys in the past, from 16 for those in the future.
    return table[i >= j ? i - j : 16 + (j - i)];
  };
  report.add(
      {.item = "(10)",
       .what = "T5's weights: one learned number for each pair of places",
       .text = softmax(pairs([&](auto i, auto j) { return dot(at(m.xq, i), at(m.xk, j)) + beta(i, j); }), kTokens),
       .posenc = attend(layer, m.xq, m.xk, m.xv, Stage::weights,
                        {.score = {posenc::T5Weights{.table = posenc::tensor(table.data(), {32, 1})}}})
                     .scores,
       .by = "T5Bias, reference::attend; no softmax scale"});
}

// What the text counts in matrices, counted in numbers and divided by the size of one.
void comparison(Report& report) {
  const posenc::CostSizes sizes;
  const double width = static_cast<double>(sizes.heads * sizes.head_dim);
  const double tokens = static_cast<double>(sizes.tokens);
  report.add({.item = "3 additions",
              .what = "matrices added before the softmax for absolute positions",
              .text = {3},
              .posenc = {posenc::cost("sinusoidal", sizes).additions / (tokens * width)},
              .by = "cost(\"sinusoidal\").additions / (tokens * width)",
              .errs = "one sum x + p serves q, k and v",
              .corrected = Numbers{1}});
  // q k^T and the sum of values are of one size each.
  const double q_by_k = posenc::plain_attention_cost(sizes).products / 2;
  report.add({.item = "4 x 3 products",
              .what = "products of (8) beside those of plain attention, in units of q k^T",
              .text = {4 * 3},
              .posenc = {posenc::cost("transformer-xl", sizes).products / q_by_k},
              .by = "cost(\"transformer-xl\").products",
              .errs = "naively 12; W_(k,R) R is made once, and one product by distance is added for each head"});
}

}  // namespace

void xlnet_and_t5(Report& report) {
  const Layer layer;
  four_products(report, layer);
  xlnet(report, layer);
  t5(report, layer);
  comparison(report);
}

}  // namespace seeds
