// The transposes of biases: sums of gradients by distance, by key and by row; and those of keys' vectors, labels and
// gates. Vectors by distance are in place_gradients.cpp.
#include "cpu/backward/tile_gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/call/finite.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

void add_rows_product(const AttendCall& call, const float* ones, const RowsProduct& x) {
  for (std::int64_t n = 0; n < x.width; n += call.max_lanes) {
    call.attention.product({.a = x.a,
                            .a_row = x.a_row,
                            .a_step = x.a_step,
                            .b = x.b + n,
                            .c = x.c + n,
                            .scale = ones,
                            .rows = x.rows,
                            .depth = x.depth,
                            .lanes = std::min(call.max_lanes, x.width - n),
                            .b_row = x.b_row,
                            .c_row = x.c_row});
  }
}

void add_seen_rows(const RowsProduct& x) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t k = 0; k < x.depth; ++k) {
      const float own = x.a[r * x.a_row + k * x.a_step];
      if (own == 0.0F) continue;
      for (std::int64_t c = 0; c < x.width; ++c) x.c[r * x.c_row + c] += own * x.b[k * x.b_row + c];
    }
  }
}

bool are_finite_rows(const FloatRows& rows, std::int64_t count, std::int64_t channels) {
  bool all = true;
  for (std::int64_t n = 0; n < count; ++n) {
    all = are_finite(kernels::Element::f32, rows.data + n * rows.stride, channels) && all;
  }
  return all;
}

GradientScratch::GradientScratch(const BackwardCall& backward, std::pmr::memory_resource* memory)
    : terms(backward.call, memory) {
  const AttendCall& call = backward.call;
  ones.fill(1.0F);
  const std::int64_t places = std::max(kBandPlaces, SineRows::kRows) + 1;
  std::int64_t widest = backward.key_width;
  bool any = false;
  std::int64_t knots_rows = 0;
  of_keys.resize(call.lowered.terms.size());
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    if (std::holds_alternative<math::KeyDistance>(call.lowered.terms[t])) {
      of_keys[t].mass = PlaceMass(kTileKeys);
      of_keys[t].mass.begin(kTileKeys);
    }
    any |= math::part_of(call.lowered.terms[t]) == math::Part::content ||
           std::holds_alternative<math::QueryDistance>(call.lowered.terms[t]) ||
           std::holds_alternative<math::Running>(call.lowered.terms[t]) ||
           std::holds_alternative<math::KeyDistance>(call.lowered.terms[t]);
    if (const auto* term = std::get_if<math::Knots>(&call.lowered.terms[t])) {
      knots_rows = std::max(knots_rows, 2 * (std::ssize(term->edges) + 1));
    }
    if (call.projects_queries(t)) {
      widest = std::max(widest, whole(call.vectors(t).sines->width(), call.attention.register_lanes));
    }
  }
  if (knots_rows > 0) {
    knots.resize(index(knots_rows * call.max_lanes));
    of_x.resize(index(kTileKeys * call.max_lanes));
  }
  if (!any) return;
  mass.resize(index(places * call.max_lanes));
  rows.resize(index(call.max_lanes * widest));
  columns.resize(index(call.max_lanes * call.layer.head_dim));
  mass.resize(std::max(mass.size(), columns.size()));
  if (call.takes_raw_keys) raw_keys.resize(index(kTileKeys * backward.key_width));
}

TileGradients::TileGradients(const BackwardCall& backward, GradientScratch& scratch, GradientBlock& block,
                             KeyTile& tile, TileTerms& places, KeyGradients& keys, std::vector<TermSums>& of_terms)
    : backward_(backward),
      call_(backward.call),
      scratch_(scratch),
      block_(block),
      tile_(tile),
      places_(places),
      keys_(keys),
      of_terms_(of_terms) {}

void TileGradients::add_terms(math::Part part, const float* d) {
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    if (math::part_of(call_.lowered.terms[t]) != part) continue;
    std::visit([&](const auto& term) { add(term, t, d); }, call_.lowered.terms[t]);
  }
}

// Sums along diagonals, of distances that go up by one from that of the first lane and the last key.
const float* TileGradients::diagonals(const float* d, const float* factor) {
  const std::int64_t last = tile_.count() - 1;
  float* const run = scratch_.terms.run.data();
  std::fill_n(run, last + block_.lanes.lanes, 0.0F);
  call_.attention.sum_rows({.of = scores(d), .sums = run + last, .step = -1, .factor = factor});
  return run;
}

// Diagonals where positions step by 1, of which the table is one run if the tile's distances lie within it.
void TileGradients::add(const math::DistanceBias& term, std::size_t t, const float* d) {
  const LaneBlock& lanes = block_.lanes;
  const BiasTable& table = call_.vectors(t).bias;
  if (!term.row_factor.empty()) {
    std::array<double, kMaxLanes>& of_row = block_.of_rows[t];
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < lanes.used; ++l) {
        const auto at = static_cast<std::int64_t>(places_.distance(term.coordinate, l, m));
        of_row[index(l)] += static_cast<double>(d[m * lanes.lanes + l]) * static_cast<double>(table.at(head(), at));
      }
    }
  }
  if (backward_.wants[t] == 0) return;
  std::array<float, kMaxLanes> by{};
  const float* factor = nullptr;
  if (!term.row_factor.empty()) {
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      if (call_.has_seen_nothing(lanes.lane[index(l)].row, head())) continue;
      by[index(l)] =
          static_cast<float>(term.row_factor[index(head() * call_.lowered.q_rows + lanes.lane[index(l)].row)]);
    }
    factor = by.data();
  }
  float* const sums = of_terms_[t].floats_of(of_group());
  const auto add_at = [&](std::int64_t distance, float x) {
    sums[math::entry_of(term.low, term.count, distance)] += x;
  };
  if (!places_.is_run(term.coordinate)) {
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < lanes.used; ++l) {
        add_at(static_cast<std::int64_t>(places_.distance(term.coordinate, l, m)),
               d[m * lanes.lanes + l] * (factor == nullptr ? 1.0F : by[index(l)]));
      }
    }
    return;
  }
  const std::int64_t last = tile_.count() - 1;
  const std::int64_t count = last + lanes.lanes;
  const auto low = static_cast<std::int64_t>(places_.distance(term.coordinate, 0, last));
  const float* const run = diagonals(d, factor);
  if (low >= term.low && low + count <= term.low + term.count) {
    for (std::int64_t n = 0; n < count; ++n) sums[low - term.low + n] += run[n];
    return;
  }
  for (std::int64_t n = 0; n < count; ++n) add_at(low + n, run[n]);
}

// Diagonals, where positions step by 1, have one distance each.
void TileGradients::add(const math::LinearDistance& term, std::size_t t, const float* d) {
  if (backward_.wants[t] == 0) return;
  const LaneBlock& lanes = block_.lanes;
  double sum = 0.0;
  const auto add = [&](double own, double apart) { sum += own * (term.symmetric ? std::abs(apart) : apart); };
  if (places_.is_run(term.coordinate)) {
    const std::int64_t last = tile_.count() - 1;
    const float* const run = diagonals(d, nullptr);
    const double low = places_.distance(term.coordinate, 0, last);
    for (std::int64_t n = 0; n < last + lanes.used; ++n) add(static_cast<double>(run[n]), low + static_cast<double>(n));
  } else {
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < lanes.used; ++l) {
        add(static_cast<double>(d[m * lanes.lanes + l]), places_.distance(term.coordinate, l, m));
      }
    }
  }
  of_terms_[t].doubles_of(of_group())[0] += sum;
}

// Of y = intercept + slope x, x = numerator factor: each number's own, and those of x. In floats where rows are runs.
void TileGradients::add(const math::Knots& term, std::size_t t, const float* d) {
  if (backward_.wants[t] == 0) return;
  const LaneBlock& lanes = block_.lanes;
  const std::int64_t edges = std::ssize(term.edges);
  double* const segments = of_terms_[t].doubles_of(of_group());
  double* const numerators = segments + 2 * (edges + 1);
  const double* const slopes = term.slopes.data() + head() * (edges + 1);
  const auto entry_of = [&](std::int64_t distance) {
    return math::entry_of(term.low, std::ssize(term.numerators), distance);
  };
  if (places_.is_run(term.coordinate)) return add_run_of_knots(term, t, d);
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      const auto own = static_cast<double>(d[m * lanes.lanes + l]);
      if (own == 0.0) continue;
      const std::int64_t entry = entry_of(static_cast<std::int64_t>(places_.distance(term.coordinate, l, m)));
      const double factor = term.row_factor[index(lanes.lane[index(l)].row)];
      const double numerator = term.numerators[index(entry)];
      const double x = numerator * factor;
      const std::int64_t s = std::lower_bound(term.edges.begin(), term.edges.end(), x) - term.edges.begin();
      segments[2 * s] += own;
      segments[2 * s + 1] += own * x;
      numerators[entry] += own * slopes[s] * factor;
      block_.of_rows[t][index(l)] += own * slopes[s] * numerator;
    }
  }
}

// As attend adds them: the line of the first segment that occurs, and the bends behind it. Of a segment are the sums
// beyond its first edge less those beyond its last.
void TileGradients::add_run_of_knots(const math::Knots& term, std::size_t t, const float* d) {
  const LaneBlock& lanes = block_.lanes;
  const std::int64_t all_edges = std::ssize(term.edges);
  double* const segments = of_terms_[t].doubles_of(of_group());
  double* const numerators = segments + 2 * (all_edges + 1);
  const double* const slopes = term.slopes.data() + head() * (all_edges + 1);
  const std::int64_t last = tile_.count() - 1;
  const std::int64_t count = last + lanes.lanes;
  const auto low_distance = static_cast<std::int64_t>(places_.distance(term.coordinate, 0, last));
  const auto entry_of = [&](std::int64_t n) {
    return math::entry_of(term.low, std::ssize(term.numerators), low_distance + n);
  };
  float* const along = scratch_.terms.each.data();
  double nearest = std::numeric_limits<double>::infinity();
  double farthest = 0.0;
  for (std::int64_t n = 0; n < count; ++n) {
    const double numerator = term.numerators[index(entry_of(n))];
    along[n] = static_cast<float>(numerator);
    nearest = std::min(nearest, numerator);
    farthest = std::max(farthest, numerator);
  }
  std::array<float, kMaxLanes> factor{};
  std::array<float, kMaxLanes> of_factor{};
  double least = std::numeric_limits<double>::infinity();
  double most = 0.0;
  for (std::int64_t l = 0; l < lanes.lanes; ++l) {
    const double own = term.row_factor[index(lanes.lane[index(l)].row)];
    factor[index(l)] = static_cast<float>(own);
    least = std::min(least, own);
    most = std::max(most, own);
  }
  const auto segment_of = [&](double x) {
    return std::lower_bound(term.edges.begin(), term.edges.end(), x) - term.edges.begin();
  };
  // Floats may have rounded a number past an edge.
  const std::int64_t low = segment_of(least * nearest * (1.0 - 0x1p-20));
  const std::int64_t high = segment_of(most * farthest * (1.0 + 0x1p-20));
  std::pmr::vector<float>& edges = scratch_.terms.edges;
  std::pmr::vector<float>& bends = scratch_.terms.bends;
  edges.clear();
  bends.clear();
  for (std::int64_t n = low; n < high; ++n) {
    edges.push_back(static_cast<float>(term.edges[index(n)]));
    bends.push_back(static_cast<float>(slopes[n + 1] - slopes[n]));
  }
  AlignedFloats& sums = scratch_.knots;
  std::fill_n(sums.begin(), 2 * (high - low + 1) * lanes.lanes, 0.0F);
  call_.attention.bending_gradients({.of = scores(d),
                                     .along = along + last,
                                     .step = -1,
                                     .factor = factor.data(),
                                     .slope = static_cast<float>(slopes[low]),
                                     .edges = edges.data(),
                                     .bends = bends.data(),
                                     .count = high - low,
                                     .sums = sums.data(),
                                     .of_x = scratch_.of_x.data(),
                                     .of_factor = of_factor.data()});
  for (std::int64_t n = low; n <= high; ++n) {
    for (const std::int64_t row : {0, 1}) {
      const float* const own = sums.data() + (2 * (n - low) + row) * lanes.lanes;
      double sum = 0.0;
      for (std::int64_t l = 0; l < lanes.used; ++l) sum += static_cast<double>(own[l]);
      segments[2 * n + row] += sum;
      if (n > low) segments[2 * (n - 1) + row] -= sum;
    }
  }
  for (std::int64_t l = 0; l < lanes.used; ++l) {
    block_.of_rows[t][index(l)] += static_cast<double>(of_factor[index(l)]);
  }
  const float* const run = diagonals(scratch_.of_x.data(), factor.data());
  for (std::int64_t n = 0; n < count; ++n) numerators[entry_of(n)] += static_cast<double>(run[n]);
}

// columns[j], less that of the row's last key: which takes part where the key's does.
void TileGradients::add(const math::Column& term, std::size_t t, const float* d) {
  if (backward_.wants[t] == 0) return;
  const LaneBlock& lanes = block_.lanes;
  double* const columns = keys_.columns[t].data() + of_group() * kTileKeys;
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      if (term.is_of_past() && tile_.order(m) > call_.rows.q_order[index(lanes.lane[index(l)].row)]) continue;
      const auto own = static_cast<double>(d[m * lanes.lanes + l]);
      columns[m] += own;
      block_.of_rows[t][index(l)] += own;
    }
  }
}

// Where keys do not rotate, u is in the queries, whose gradients have its own.
void TileGradients::add(const math::KeyVector&, std::size_t t, const float* d) {
  if (call_.rotations.empty()) return;
  const LaneBlock& lanes = block_.lanes;
  const std::int64_t channels = call_.layer.head_dim;
  const FloatRows keys = padded_keys(backward_, scratch_, tile_, tile_.count());
  const float* const u = call_.vectors(t).rows.data() + head() * channels;
  float* const of_u = backward_.wants[t] != 0 ? of_terms_[t].floats_of(of_group()) : nullptr;
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    float sum = 0.0F;
    for (std::int64_t l = 0; l < lanes.used; ++l) sum += d[m * lanes.lanes + l];
    if (sum == 0.0F) continue;  // a hidden key may be anything
    float* const of_key = keys_.of_given() + m * backward_.key_width;
    const float* const key = keys.data + m * keys.stride;
    for (std::int64_t c = 0; c < channels; ++c) of_key[c] += sum * u[c];
    if (of_u == nullptr) continue;
    for (std::int64_t c = 0; c < channels; ++c) of_u[c] += sum * key[c];
  }
}

void TileGradients::add(const math::Label& term, std::size_t t, const float* d) {
  const LaneBlock& lanes = block_.lanes;
  AlignedFloats& own = block_.of_term[t];
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      const bool differ = term.q_labels[index(lanes.lane[index(l)].row)] != term.k_labels[index(tile_.row(m))];
      own[index((differ ? lanes.lanes : 0) + l)] += d[m * lanes.lanes + l];
    }
  }
}

void TileGradients::pass_gates(const float* x, const float* d, const float* carry, float* places, float* to) {
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    const auto* term = std::get_if<math::Running>(&call_.lowered.terms[t]);
    if (term == nullptr) continue;
    call_.attention.gate_gradients({.of = scores(x),
                                    .carry = carry,
                                    .table = block_.lanes.of_term[t].data(),
                                    .count = term->count,
                                    .gradients = d,
                                    .sum = block_.gates_before.data(),
                                    .of_table = block_.of_term[t].data(),
                                    .places = places,
                                    .to = to});
  }
}

}  // namespace posenc::cpu
