// Gradients of vectors by distance: of Shaw's and CoPE's tables as they are, of Transformer-XL's and DeBERTa's through
// the projections that made a vector for each head of their rows. And of forget gates, which are sums along the keys.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/attend/place_vectors.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/attend/sine_rows.h"
#include "cpu/backward/bias_gradients.h"
#include "cpu/backward/project_back.h"
#include "cpu/backward/raise.h"
#include "cpu/backward/tile_gradients.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/scores.h"

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

// Of a gradient that is summed here before it is written.
std::vector<double> room_for(const ConstTensorView& x) {
  return std::vector<double>(index(x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1]));
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
  const auto& at = raising.term<math::QueryDistance>(0).at;
  std::vector<double> d_table = room_for(weights.table);
  std::vector<double> d_projection = room_for(weights.projection);
  const Linear by{.weight = weights.projection};
  const BackProjection projection{.by = by,
                                  .gradients = raising.sums(0).floats_of(0),
                                  .head_stride = raising.sums(0).size.floats,
                                  .d_weight = tensor(d_projection.data(), {heads * channels, width})};
  project_back(backward, weights.table, span_of(at.places), {&projection, 1},
               tensor(d_table.data(), {weights.table.shape[0], width}));
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
          d_table[index(place * width + w)] += g * asked[index(w)];
        }
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const double v = read(weights.position_bias, {h, c});
        for (std::int64_t w = 0; w < width; ++w) {
          const double weight = read(weights.projection, {h * channels + c, w});
          of_v[index(h * channels + c)] += weight * rows[index(w)];
          d_projection[index((h * channels + c) * width + w)] += v * rows[index(w)];
        }
      }
    }
    raising.write("position_bias", of_v);
  }
  raising.write("projection", d_projection);
  raising.write("table", d_table);
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

// Gradients of vectors of places by head, [heads], head_stride apart, of [places][key_width]: those of one term where
// they lie, of several their sum.
struct SummedPlaces {
  std::int64_t floats;  // of a head
  const float* data = nullptr;
  std::int64_t head_stride = 0;
  PlaceSpan span{};
  AlignedFloats sums{};

  // Those of a term begin at `first` of each head.
  void add(const TermSums& term, std::int64_t first, std::span<const std::int32_t> places) {
    span = both(span, span_of(places));
    const float* const from = term.floats.data() + first;
    if (data == nullptr) {
      data = from;
      head_stride = term.size.floats;
      return;
    }
    const std::int64_t heads = std::ssize(term.floats) / term.size.floats;
    if (sums.empty()) {
      sums.resize(index(heads * floats));
      for (std::int64_t h = 0; h < heads; ++h) std::copy_n(data + h * head_stride, floats, sums.data() + h * floats);
      data = sums.data();
      head_stride = floats;
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* const own = from + h * term.size.floats;
      for (std::int64_t n = 0; n < floats; ++n) sums[index(h * floats + n)] += own[n];
    }
  }
};

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

// Of both tables of places that are made of the learned one: gradients of each, of all terms that it is in.
void raise_term(const Deberta& scheme, const ScoreWeights& weights, const Raising& raising) {
  if (!scheme.position_to_position && !scheme.content_to_position && !scheme.position_to_content) return;
  if (!is_wanted(raising)) return;
  const auto& learned = std::get<DebertaWeights>(weights);
  const std::int64_t floats = 2 * deberta_span(scheme) * raising.backward.key_width;  // of a head
  SummedPlaces keys{.floats = floats};
  SummedPlaces queries{.floats = floats};
  std::size_t next = 0;
  if (scheme.position_to_position) {
    const auto& term = raising.term<math::QueryDistance>(next);
    keys.add(raising.sums(next), 0, term.at.places);
    queries.add(raising.sums(next++), floats, term.given_places);
  }
  if (scheme.content_to_position) {
    keys.add(raising.sums(next), 0, raising.term<math::QueryDistance>(next).at.places);
    ++next;
  }
  if (scheme.position_to_content) {
    queries.add(raising.sums(next), 0, raising.term<math::KeyDistance>(next).at.places);
  }
  std::vector<BackProjection> projections;
  const auto add = [&](const SummedPlaces& of, const Linear& by, const std::string& name) {
    const TensorView d_weight = raising.asked(name + ".weight");
    const TensorView d_bias = raising.asked(name + ".bias");
    if (of.data != nullptr) return projections.push_back({by, of.data, of.head_stride, d_weight, d_bias});
    clear(d_weight);
    clear(d_bias);
  };
  add(keys, learned.keys, "keys");
  add(queries, learned.queries, "queries");
  project_back(raising.backward, learned.table, both(keys.span, queries.span), projections, raising.asked("table"));
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
  const TensorView& carry = raising.backward.d_carries.forget;
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
