// Text 003, "Position encoding: a summary": order, absolute encodings, integers and bits. Vectors are columns there;
// here tokens are rows, so (V + P) softmax((K + P)^T (Q + P)) is its transpose.
#include <posenc/properties.h>

#include <algorithm>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::size_t kTokens = 4;
constexpr std::size_t kDim = 4;

// Outputs of variance 1, averages of a few values added in another order.
constexpr double kReordered = 64 * 0x1p-52;

void order(Report& report) {
  const posenc::OrderExperiment seen = posenc::order_experiment("nope");
  report.add({.item = "equivariant",
              .what = "queries permuted; keys and values permuted together: change of the outputs",
              .text = {0, 0},
              .posenc = {seen.all_see_all.equivariance, seen.all_see_all.invariance},
              .by = "order_experiment(\"nope\").all_see_all",
              .condition = "without a causal mask",
              .without = Numbers{seen.causal.equivariance, seen.causal.invariance},
              .tolerance = kReordered});
  report.add({.item = "I love you",
              .what = "and \"you love I\": between the outputs of equal words",
              .text = {0},
              .posenc = {seen.all_see_all.sentences},
              .by = "order_experiment(\"nope\").all_see_all.sentences",
              .condition = "the query is the same token and all see all",
              .without = Numbers{seen.causal.sentences},
              .tolerance = kReordered});
  report.add({.item = "listing, two dogs",
              .what = "\"Dog output identical?: True\": how far the outputs differ",
              .text = {0},
              .posenc = {seen.all_see_all.dogs},
              .by = "order_experiment(\"nope\").all_see_all.dogs",
              .condition = "without a mask, as in the listing; a causal mask tells them apart",
              .without = Numbers{seen.causal.dogs},
              .tolerance = kReordered,
              .said = "True (0)"});
}

void absolute(Report& report) {
  const Numbers x = sample(kTokens * kDim, 61);
  Numbers p;
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (const double c : posenc::input_row(posenc::SinusoidalInput{}, kDim, static_cast<double>(i))) p.push_back(c);
  }
  const Numbers e = with_input(posenc::SinusoidalInput{}, x, kDim, posenc::SinusoidalInputWeights{});
  report.add({.item = "x_i' = x_i + p_i",
              .what = "tokens and their positions",
              .text = plus(x, p),
              .posenc = e,
              .by = "reference::add_input(SinusoidalInput{}, ...)"});

  const Numbers w_q = sample(kDim * kDim, 62);
  const Numbers w_k = sample(kDim * kDim, 63);
  const Numbers w_v = sample(kDim * kDim, 64);
  const auto out = [&](const Numbers& q, const Numbers& k, const Numbers& v) {
    return product(softmax(scaled(product(q, transposed(k, kDim), kDim), 0.5), kTokens), v, kTokens);
  };
  const auto by_text = [&](const Numbers& w) { return plus(product(x, w, kDim), p); };
  const auto projected = [&](const Numbers& w) { return plus(product(x, w, kDim), product(p, w, kDim)); };
  report.add(
      {.item = "Attn(X)",
       .what = "(V + P) softmax((K + P)^T (Q + P) / sqrt d)",
       .text = out(by_text(w_q), by_text(w_k), by_text(w_v)),
       .posenc =
           attend(layer_of(1, kDim, 0.5), product(e, w_q, kDim), product(e, w_k, kDim), product(e, w_v, kDim)).out,
       .by = "reference::add_input, reference::attend",
       .errs = "P is projected with X: V + W_V P, K + W_K P, Q + W_Q P",
       .corrected = out(projected(w_q), projected(w_k), projected(w_v))});
}

double passes(const char* scheme, posenc::Property property) {
  return posenc::measure_property(scheme, property).judgement == posenc::Judgement::passes ? 1 : 0;
}

void integers(Report& report) {
  using posenc::Property;
  const posenc::IntegerInput from_1{.offset = 1};
  report.add({.item = "p_i = [i, ..., i]",
              .what = "the fifth token, d = 4",
              .text = {5, 5, 5, 5},
              .posenc = posenc::input_row(from_1, kDim, 4),
              .by = "input_row(IntegerInput{.offset = 1}, 4, 4)"});
  report.add({.item = "integers: 1",
              .what = "property 1, unique among 512 places",
              .text = {1},
              .posenc = {passes("integer", Property::unique_f32)},
              .by = "measure_property(\"integer\", unique_f32)",
              .condition = "integers are exact: in bfloat16 256 and 257 are one",
              .without = Numbers{passes("integer", Property::unique_bf16)},
              .said = "holds (1)"});
  report.add({.item = "integers: 2",
              .what = "property 2, one affine map from p to p + 1",
              .text = {1},
              .posenc = {passes("integer", Property::affine)},
              .by = "measure_property(\"integer\", affine)",
              .said = "holds (1)"});
  report.add({.item = "integers: 3",
              .what = "property 3, generalises: scores beyond the trained length",
              .text = {1},
              .posenc = {passes("integer", Property::generalises)},
              .by = "measure_property(\"integer\", generalises)",
              .errs = "only as a formula: values beyond the trained ones were never seen",
              .said = "holds (1)"});
  report.add({.item = "integers: 4",
              .what = "property 4, a fixed rule: nothing is learned",
              .text = {1},
              .posenc = {passes("integer", Property::fixed_rule)},
              .by = "measure_property(\"integer\", fixed_rule)",
              .said = "holds (1)"});

  // LayerNorm of a token: mean and variance over its channels, whatever they were.
  const Numbers x = sample(64, 65);
  Numbers normal(x.size());
  posenc::reference::normalise(posenc::tensor(normal.data(), {1, 1, 64}), posenc::tensor(x.data(), {1, 1, 64}),
                               {.scheme = {.kind = posenc::QkNorm::Kind::layer, .weighted = false}, .epsilon = 0});
  report.add({.item = "LayerNorm",
              .what = "variance of its output, which the text calls small",
              .text = {},
              .posenc = {dot(normal, normal) / 64},
              .by = "reference::normalise, QkNorm::Kind::layer",
              .errs = "mean 0 and variance 1, of any distribution; and p is added before the first norm",
              .corrected = Numbers{1},
              .said = "small"});
  double power = 0;
  for (double i = 0; i < 512; ++i) power += i * i / 512;
  report.add({.item = "low SNR",
              .what = "a token's power over the integers', 512 places, times 1e5",
              .text = {1e5 / power},
              .posenc = {[&] {
                double sum = 0;
                for (double i = 0; i < 512; ++i) sum += posenc::input_row(posenc::IntegerInput{}, 1, i)[0] * i / 512;
                return 1e5 / sum;
              }()},
              .by = "input_row(IntegerInput{}, ...), a token of variance 1"});
  report.add({.item = "p_i' = i/m",
              .what = "the fifth of 8 tokens",
              .text = {5.0 / 8, 5.0 / 8, 5.0 / 8, 5.0 / 8},
              .posenc = posenc::input_row(posenc::IntegerInput{.normalised = true, .offset = 1}, kDim, 4, 8),
              .by = "input_row(IntegerInput{.normalised = true, .offset = 1}, 4, 4, 8)"});
  report.add({.item = "i/m: 2",
              .what = "property 2 is lost: the step depends on m",
              .text = {0},
              .posenc = {passes("integer-normalised", Property::affine)},
              .by = "measure_property(\"integer-normalised\", affine)",
              .said = "does not hold (0)"});
}

}  // namespace

void text_003(Report& report) {
  report.begin("003", "Position encoding: a summary");
  order(report);
  absolute(report);
  integers(report);
  binary(report);
  rope_in_two_codes(report);
}

}  // namespace seeds
