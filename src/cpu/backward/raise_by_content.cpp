// Gradients of vectors by distance: of Shaw's and CoPE's tables as they are, of Transformer-XL's and DeBERTa's through
// the projections that made a vector for each head of their rows. And of forget gates, which are sums along the keys.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/attend/place_vectors.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/attend/sine_rows.h"
#include "cpu/backward/bias_gradients.h"
#include "cpu/backward/raise.h"
#include "cpu/backward/tile_gradients.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// [count][channels] of one head, from rows that are key_width apart.
void add_rows_of(const float* from, std::int64_t count, std::int64_t channels, std::int64_t width, double* to) {
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) to[n * channels + c] += static_cast<double>(from[n * width + c]);
  }
}

// Of all heads, or their sum.
std::vector<double> vectors_of(const TermSums& sums, std::int64_t heads, bool per_head, std::int64_t count,
                               std::int64_t channels, std::int64_t width) {
  std::vector<double> out(index((per_head ? heads : 1) * count * channels));
  for (std::int64_t h = 0; h < heads; ++h) {
    add_rows_of(sums.floats_of(h), count, channels, width, out.data() + (per_head ? h * count * channels : 0));
  }
  return out;
}

void add(const std::vector<double>& from, std::vector<double>& to) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t n = 0; n < from.size(); ++n) to[n] += from[n];
}

std::vector<double> doubles(const AlignedFloats& x, std::int64_t rows, std::int64_t width, std::int64_t row) {
  std::vector<double> out;
  out.reserve(index(rows * width));
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t w = 0; w < width; ++w) out.push_back(static_cast<double>(x[index(n * row + w)]));
  }
  return out;
}

// Rows of a tensor [rows, width] as floats, `row` apart.
AlignedFloats padded_floats(const ConstTensorView& x, std::int64_t row) {
  const std::vector<float> all = floats_of(x);
  AlignedFloats out(index(x.shape[0] * row));
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    std::copy_n(all.data() + n * x.shape[1], x.shape[1], out.data() + n * row);
  }
  return out;
}

// Gradients of what a projection made of rows: E_h = rows W_h^T + b_h.
struct ProjectionGradients {
  std::vector<double> rows;    // [count, width]
  std::vector<double> weight;  // [heads * channels, width]
  std::vector<double> bias;    // [heads * channels]
};
ProjectionGradients project_back(const BackwardCall& backward, const ConstTensorView& rows, const Linear& by,
                                 const TermSums& sums, std::int64_t first) {
  const AttendCall& call = backward.call;
  const std::int64_t heads = call.layer.heads;
  const std::int64_t channels = call.layer.head_dim;
  const std::int64_t count = rows.shape[0];
  const std::int64_t width = rows.shape[1];
  const std::int64_t row = whole(width, call.attention.register_lanes);
  const AlignedFloats given = padded_floats(rows, row);
  const AlignedFloats weight = padded_floats(by.weight, row);
  AlignedFloats d_rows(index(count * row));
  AlignedFloats d_weight(index(heads * channels * row));
  const std::vector<float> ones(index(call.max_lanes), 1.0F);
  ProjectionGradients out;
  out.bias.resize(index(heads * channels));
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* const own = sums.floats_of(h) + first;
    add_rows_product(call, ones.data(),
                     {.a = own,
                      .a_row = 1,
                      .a_step = backward.key_width,
                      .b = given.data(),
                      .b_row = row,
                      .c = d_weight.data() + h * channels * row,
                      .c_row = row,
                      .rows = channels,
                      .depth = count,
                      .width = row});
    add_rows_product(call, ones.data(),
                     {.a = own,
                      .a_row = backward.key_width,
                      .a_step = 1,
                      .b = weight.data() + h * channels * row,
                      .b_row = row,
                      .c = d_rows.data(),
                      .c_row = row,
                      .rows = count,
                      .depth = channels,
                      .width = row});
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        out.bias[index(h * channels + c)] += static_cast<double>(own[n * backward.key_width + c]);
      }
    }
  }
  out.rows = doubles(d_rows, count, width, row);
  out.weight = doubles(d_weight, heads * channels, width, row);
  return out;
}

// Gradients of W and v of (q + v) . W s(d).
void raise_sines(const math::SineDistance& term, std::size_t t, const Raising& raising) {
  const BackwardCall& backward = raising.backward;
  const AttendCall& call = backward.call;
  const std::int64_t heads = call.layer.heads;
  const std::int64_t channels = call.layer.head_dim;
  const SineRule& rule = *call.vectors(t).sines;
  const std::int64_t sines = rule.width();
  const std::int64_t row = whole(sines, call.attention.register_lanes);
  const TermSums& sums = backward.of_terms[t];
  const bool is_projected = !call.projects_queries(t);
  const std::int64_t count = term.high - term.low + 1;
  std::vector<double> arranged(index(heads * channels * sines));
  std::vector<double> added(index(heads * channels));
  AlignedFloats rows;
  if (is_projected) {  // W_h s(d) of each distance: their gradients times s(d)
    std::vector<double> distances;
    for (std::int64_t d = term.low; d <= term.high; ++d) {
      distances.push_back(static_cast<double>(math::sine_place(term, d).value_or(0)));
    }
    AlignedFloats dense(index(count * sines));
    rule.write(call.kernels, distances, dense.data());
    rows.resize(index(count * row));
    for (std::int64_t n = 0; n < count; ++n) std::copy_n(dense.data() + n * sines, sines, rows.data() + n * row);
  }
  const std::vector<float> ones(index(call.max_lanes), 1.0F);
  AlignedFloats of_head(index(channels * row));
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* own = sums.floats_of(h);
    const float* of_added = own + channels * row;
    if (is_projected) {
      of_added = own + count * backward.key_width;
      std::ranges::fill(of_head, 0.0F);
      add_rows_product(call, ones.data(),
                       {.a = own,
                        .a_row = 1,
                        .a_step = backward.key_width,
                        .b = rows.data(),
                        .b_row = row,
                        .c = of_head.data(),
                        .c_row = row,
                        .rows = channels,
                        .depth = count,
                        .width = row});
      own = of_head.data();
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      added[index(h * channels + c)] = static_cast<double>(of_added[c]);
      for (std::int64_t w = 0; w < sines; ++w) {
        arranged[index((h * channels + c) * sines + w)] = static_cast<double>(own[c * row + w]);
      }
    }
  }
  raising.write("projection", rule.taken_apart(arranged));
  raising.write("position_bias", added);
}

// With a learned table: (q + v) . W R[place], a QueryDistance and, where there is a v, a bias by distance. `next`
// becomes the number of the primitive after them.
void raise_relative_table(const TransformerXlWeights& weights, const Raising& raising, std::size_t& next) {
  const BackwardCall& backward = raising.backward;
  const std::int64_t heads = raising.layer().heads;
  const std::int64_t channels = raising.layer().head_dim;
  const std::int64_t width = weights.table.shape[1];
  ProjectionGradients d = project_back(backward, weights.table, {.weight = weights.projection}, raising.sums(0), 0);
  const auto& at = raising.term<math::QueryDistance>(0).at;
  next = 1;
  if (!weights.position_bias.empty()) {
    next = 2;
    const auto& bias = raising.term<math::DistanceBias>(1);
    std::vector<double> of_v(index(heads * channels));
    for (std::int64_t h = 0; h < heads; ++h) {
      // sum over places of g R[place] meets v W.
      std::vector<double> rows(index(width));
      std::vector<double> asked(index(width));
      for (std::int64_t c = 0; c < channels; ++c) {
        const double v = read(weights.position_bias, {h, c});
        for (std::int64_t w = 0; w < width; ++w) {
          asked[index(w)] += v * read(weights.projection, {h * channels + c, w});
        }
      }
      const float* const own = raising.sums(1).floats_of(h);
      for (std::int64_t n = 0; n < bias.count; ++n) {
        const std::int64_t place = at.places[index(n)];
        if (place < 0) continue;
        const auto g = static_cast<double>(own[n]);
        for (std::int64_t w = 0; w < width; ++w) {
          rows[index(w)] += g * read(weights.table, {place, w});
          d.rows[index(place * width + w)] += g * asked[index(w)];
        }
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const double v = read(weights.position_bias, {h, c});
        for (std::int64_t w = 0; w < width; ++w) {
          const double weight = read(weights.projection, {h * channels + c, w});
          of_v[index(h * channels + c)] += weight * rows[index(w)];
          d.weight[index((h * channels + c) * width + w)] += v * rows[index(w)];
        }
      }
    }
    raising.write("position_bias", of_v);
  }
  raising.write("projection", d.weight);
  raising.write("table", d.rows);
}

void raise_transformer_xl(const TransformerXlWeights& weights, const Raising& raising, std::size_t& next) {
  next = 1;
  if (weights.table.empty()) {
    raise_sines(raising.term<math::SineDistance>(0), raising.place(0), raising);
  } else {
    raise_relative_table(weights, raising, next);
  }
  if (weights.content_bias.empty()) return;
  const LayerPlan& layer = raising.layer();
  raising.write("content_bias",
                vectors_of(raising.sums(next), layer.heads, true, 1, layer.head_dim, raising.backward.key_width));
  ++next;
}

bool is_wanted(const Raising& raising) { return raising.backward.wants[raising.place(0)] != 0; }

}  // namespace

void raise_term(const ShawKeys& scheme, const ScoreWeights&, const Raising& raising) {
  if (scheme.sinusoidal || !is_wanted(raising)) return;
  const LayerPlan& layer = raising.layer();
  const std::int64_t width = raising.backward.key_width;
  const std::size_t own = scheme.by_keys ? 1 : 0;
  const auto& term = raising.term<math::QueryDistance>(own);
  const auto of = [&](std::size_t n) {
    return vectors_of(raising.sums(n), layer.heads, term.vectors.per_head, term.vectors.count, layer.head_dim, width);
  };
  std::vector<double> out = of(own);
  if (scheme.by_keys) add(of(0), out);
  raising.write("table", out);
}

void raise_term(const TransformerXl&, const ScoreWeights& weights, const Raising& raising) {
  std::size_t next = 0;
  if (is_wanted(raising)) raise_transformer_xl(std::get<TransformerXlWeights>(weights), raising, next);
}

// S: of queries, and of what s_h has with it.
void raise_term(const XlNet&, const ScoreWeights& weights, const Raising& raising) {
  if (!is_wanted(raising)) return;
  const auto& learned = std::get<XlNetWeights>(weights);
  std::size_t next = 0;
  raise_transformer_xl(learned.positions, raising, next);
  if (learned.segments.empty()) return;
  const std::int64_t heads = raising.layer().heads;
  const std::int64_t channels = raising.layer().head_dim;
  std::vector<double> segments(index(2 * heads * channels));
  std::vector<double> bias(index(heads * channels));
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t differs = 0; differs < 2; ++differs) {
      const float* const own = raising.sums(next).floats_of(h) + differs * raising.backward.key_width;
      const double constant = raising.sums(next).doubles_of(h)[differs];
      for (std::int64_t c = 0; c < channels; ++c) {
        segments[index((differs * heads + h) * channels + c)] =
            static_cast<double>(own[c]) + constant * read(learned.segment_bias, {h, c});
        bias[index(h * channels + c)] += constant * read(learned.segments, {differs, h, c});
      }
    }
  }
  raising.write("segments", segments);
  raising.write("segment_bias", bias);
}

void raise_term(const Deberta& scheme, const ScoreWeights& weights, const Raising& raising) {
  if (!scheme.position_to_position && !scheme.content_to_position && !scheme.position_to_content) return;
  if (!is_wanted(raising)) return;
  const auto& learned = std::get<DebertaWeights>(weights);
  std::vector<double> table;
  ProjectionGradients keys;
  ProjectionGradients queries;
  std::size_t next = 0;
  const auto add_projected = [&](const Linear& by, std::size_t n, std::int64_t first, ProjectionGradients& to) {
    const ProjectionGradients own = project_back(raising.backward, learned.table, by, raising.sums(n), first);
    add(own.rows, table);
    add(own.weight, to.weight);
    add(own.bias, to.bias);
  };
  if (scheme.position_to_position) {
    const std::int64_t given = raising.term<math::QueryDistance>(next).vectors.count * raising.backward.key_width;
    add_projected(learned.keys, next, 0, keys);
    add_projected(learned.queries, next, given, queries);
    ++next;
  }
  if (scheme.content_to_position) add_projected(learned.keys, next++, 0, keys);
  if (scheme.position_to_content) add_projected(learned.queries, next++, 0, queries);
  raising.write("table", table);
  raising.write("keys.weight", keys.weight);
  raising.write("keys.bias", keys.bias);
  raising.write("queries.weight", queries.weight);
  raising.write("queries.bias", queries.bias);
}

void raise_term(const DecomposedHw&, const ScoreWeights&, const Raising& raising) {
  if (!is_wanted(raising)) return;
  const LayerPlan& layer = raising.layer();
  for (const std::size_t axis : {0U, 1U}) {
    const auto& term = raising.term<math::QueryDistance>(axis);
    raising.write(axis == 0 ? "rows" : "columns", vectors_of(raising.sums(axis), layer.heads, false, term.vectors.count,
                                                             layer.head_dim, raising.backward.key_width));
  }
}

void raise_term(const ContextualPosition& scheme, const ScoreWeights&, const Raising& raising) {
  if (!is_wanted(raising)) return;
  const LayerPlan& layer = raising.layer();
  raising.write("table", vectors_of(raising.sums(), layer.heads, false, scheme.positions, layer.head_dim,
                                    raising.backward.key_width));
}

void raise_term(const DistanceLogits&, const ScoreWeights&, const Raising&) {}

// P(o) sums what is at most at o: a gate has a part in P of its own order and of all above. Of a score P(last) - P(o).
// Keys of the parts before (d_carry) have no P(o) here.
void raise_term(const ForgetGate&, const ScoreWeights&, const Raising& raising) {
  const TensorView& to = raising.backward.args.d_log_forget;
  const TensorView& carry = raising.backward.args.d_carry;
  if (to.empty() && carry.empty()) return;
  const AttendCall& call = raising.backward.call;
  const auto& term = raising.term<math::Column>();
  for (const math::SequenceRows& s : call.rows.sequences) {
    std::vector<std::int64_t> keys(index(s.k_count));
    std::iota(keys.begin(), keys.end(), s.k_first);
    std::ranges::sort(keys, std::greater<>(), [&](std::int64_t row) { return call.rows.k_order[index(row)]; });
    std::vector<double> own(index(call.lowered.k_rows));
    for (std::int64_t h = 0; h < call.layer.heads; ++h) {
      for (const std::int64_t row : keys)
        own[index(row)] = -raising.rows().of_keys[index(h * call.lowered.k_rows + row)];
      for (std::int64_t row = s.q_first; row < s.q_first + s.q_count; ++row) {
        const std::int32_t last = term.last_keys[index(row)];
        double of_query = raising.rows().of_queries[index(h * call.lowered.q_rows + row)];
        if (!carry.empty()) {
          float& carried = number_of(carry, row, h);
          of_query += static_cast<double>(carried);
          carried = static_cast<float>(of_query);
        }
        if (last >= 0) own[index(last)] += of_query;
      }
      if (to.empty()) continue;
      double sum = 0.0;
      for (auto next = keys.begin(); next != keys.end();) {
        const std::int64_t order = call.rows.k_order[index(*next)];
        auto end = next;
        for (; end != keys.end() && call.rows.k_order[index(*end)] == order; ++end) sum += own[index(*end)];
        for (; next != end; ++next) add_to(to, *next * to.strides[0] + h * to.strides[1], sum);
      }
    }
  }
}

void raise_values(std::monostate, const Raising&) {}
void raise_values(const RotatedValues&, const Raising&) {}

void raise_values(const ShawValues&, const Raising& raising) {
  if (!raising.backward.wants_values) return;
  const LayerPlan& layer = raising.layer();
  const auto& values = std::get<math::ValueDistance>(raising.backward.call.lowered.values);
  raising.write("value_table", vectors_of(raising.backward.of_values, layer.heads, values.per_head, values.count,
                                          layer.value_dim, raising.backward.value_width));
}

}  // namespace posenc::cpu
