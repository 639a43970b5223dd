// How large the terms of a score are, by Cauchy and Schwarz: |q . r| <= |q| |r|, and W r is at most |W| |r| long, |W|
// the length of all of its elements. A sinusoid of n channels has length sqrt(n / 2), as cos^2 + sin^2 = 1 in each
// pair.
#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "posenc/reference.h"
#include "posenc/scores.h"
#include "vectors/bounds.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

// Calls f(row, element) for each element; rows lie along the last axis. Tables of vectors are dense.
template <typename F>
void each_element(const ConstTensorView& x, const F& f) {
  std::int64_t count = x.rank > 0 ? 1 : 0;
  for (int axis = 0; axis < x.rank; ++axis) count *= x.shape[static_cast<std::size_t>(axis)];
  if (count == 0) return;
  const std::int64_t width = x.shape[static_cast<std::size_t>(x.rank - 1)];
  const auto* const values = static_cast<const double*>(x.data);
  for (std::int64_t i = 0; i < count; ++i) f(i / width, values[i]);
}

struct SizeOf {
  const TermCall& at;
  std::int64_t head_dim;
  TermSizer& tables;
  TermSizes& to;

  void operator()(const Alibi& x, const ScoreWeights&) const {
    // A port may add slope_h j, whose roundings do not know the distance.
    const double slope = alibi_slopes(x)[golden::at(at.head)] * (x.scaled ? at.scale : 1.0);
    to.bias += slope * std::max(std::abs(at.query_place), std::abs(at.key_place));
  }
  void operator()(const T5Bias&, const ScoreWeights& w) const {
    // With a gate of at most 2.
    to.bias += 2 * tables.largest(std::get<T5Weights>(w).table);
  }
  void operator()(const ClippedBias&, const ScoreWeights& w) const {
    to.bias += tables.largest(std::get<ClippedBiasWeights>(w).table);
  }
  void operator()(const GridBias&, const ScoreWeights& w) const {
    to.bias += tables.largest(std::get<GridBiasWeights>(w).table);
  }
  void operator()(const Kerple& x, const ScoreWeights& w) const {
    const auto& learned = std::get<KerpleWeights>(w);
    const double distance = std::abs(at.query_place - at.key_place);
    // The power's exponent is rounded, which |ln d| multiplies.
    const double more = x.form == Kerple::Form::power ? 1 + std::log1p(distance) : 2.0;
    to.bias += more * std::abs(kerple_bias(x, tables.largest(learned.r1), tables.largest(learned.r2), distance));
  }
  // The perceptron's pieces may cancel; it is asked for 0 to 1.
  void operator()(const Fire&, const ScoreWeights& w) const {
    const auto& learned = std::get<FireWeights>(w);
    to.bias +=
        tables.lengths(learned.out.weight).row * projected(learned.hidden, 1.0) + tables.largest(learned.out.bias);
  }
  void operator()(const Sandwich& x, const ScoreWeights&) const {
    // Cosines of half of its channels, each of an angle whose float32 is off by the distance's roundings.
    const double distance = std::abs(at.query_place - at.key_place);
    to.bias += std::abs(sandwich_bias(x, at.head, 0.0)) * (2 + 0x1p-16 * distance);
  }
  void operator()(const MlpBias& x, const ScoreWeights& w) const {
    double size = std::abs(mlp_input(x, at.query_place - at.key_place));
    for (const Linear& layer : std::get<MlpBiasWeights>(w).layers) size = projected(layer, size);
    to.bias += size;
  }
  void operator()(const ShawKeys& x, const ScoreWeights& w) const {
    const auto* learned = std::get_if<ShawWeights>(&w);
    const bool has_table = learned != nullptr && !learned->table.empty();
    const double row = has_table ? tables.lengths(learned->table).row : std::sqrt(static_cast<double>(head_dim) / 2);
    to.content += at.scale * (at.q + (x.by_keys ? at.k : 0.0)) * row;
  }
  void operator()(const TransformerXl&, const ScoreWeights& w) const { relative(std::get<TransformerXlWeights>(w)); }
  void operator()(const XlNet&, const ScoreWeights& w) const {
    const auto& learned = std::get<XlNetWeights>(w);
    relative(learned.positions);
    to.content += at.scale * (at.q + tables.lengths(learned.segment_bias).row) * tables.lengths(learned.segments).row;
  }
  void operator()(const Deberta&, const ScoreWeights& w) const {
    const auto& learned = std::get<DebertaWeights>(w);
    const double row = tables.lengths(learned.table).row;
    const double key = projected(learned.keys, row);
    const double query = projected(learned.queries, row);
    to.content += at.scale * (at.q * key + at.k * query + key * query);
  }
  void operator()(const DecomposedHw&, const ScoreWeights& w) const {
    const auto& learned = std::get<DecomposedHwWeights>(w);
    to.bias += at.q * (tables.lengths(learned.rows).row + tables.lengths(learned.columns).row);
  }
  // Two rows are at most twice the longest apart.
  void operator()(const ContextualPosition&, const ScoreWeights& w) const {
    const double row = tables.lengths(std::get<CopeWeights>(w).table).row;
    to.bias += at.q * row;
    to.places += 2 * at.q * row;
  }
  void operator()(const ForgetGate&, const ScoreWeights&) const {}
  void operator()(const DistanceLogits&, const ScoreWeights&) const {}

 private:
  double projected(const Linear& linear, double input) const {
    return tables.lengths(linear.weight).all * input + tables.lengths(linear.bias).all;
  }
  void relative(const TransformerXlWeights& x) const {
    const double channels = x.projection.rank == 2 ? static_cast<double>(x.projection.shape[1]) : 0.0;
    const double r = x.table.empty() ? std::sqrt(channels / 2) : tables.lengths(x.table).row;
    const double row = tables.lengths(x.projection).all * r;
    to.content +=
        at.scale * ((at.q + tables.lengths(x.position_bias).row) * row + tables.lengths(x.content_bias).row * at.k);
  }
};

}  // namespace

// Each table is looked through once, however many queries and keys ask.
const TermSizer::Lengths& TermSizer::lengths(const ConstTensorView& x) {
  const auto known = lengths_.find(x.data);
  if (known != lengths_.end()) return known->second;
  Lengths out;
  double of_row = 0.0;
  std::int64_t now = 0;
  each_element(x, [&](std::int64_t row, double value) {
    if (row != now) of_row = 0.0;
    now = row;
    of_row += value * value;
    out.all += value * value;
    out.row = std::max(out.row, of_row);
    out.largest = std::max(out.largest, std::abs(value));
  });
  out.row = std::sqrt(out.row);
  out.all = std::sqrt(out.all);
  return lengths_.emplace(x.data, out).first->second;
}

TermSizes TermSizer::operator()(const TermCall& call) {
  static const ScoreWeights kNone;
  TermSizes out;
  const SizeOf size{call, layer_.head_dim, *this, out};
  for (std::size_t n = 0; n < layer_.score.size(); ++n) {
    const ScoreWeights& learned = weights_.score.empty() ? kNone : weights_.score[n];
    std::visit([&](const auto& scheme) { size(scheme, learned); }, layer_.score[n]);
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden
