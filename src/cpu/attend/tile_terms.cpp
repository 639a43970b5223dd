// Score terms on one tile of [keys][lanes]: biases by distance (ALiBi, T5, KERPLE, FIRE, ...), content terms (Shaw,
// Transformer-XL, DeBERTa), the caller's bias, the soft cap, the mask and CoPE's gates. Where positions of a tile go up
// by one, numbers by distance are read as one run; else each is looked up.
#include "cpu/attend/tile_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/attend/matrix_rows.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

std::int64_t as_whole(double distance) { return static_cast<std::int64_t>(distance); }

std::int64_t segment_of(const math::Knots& term, double x) {
  return std::lower_bound(term.edges.begin(), term.edges.end(), x) - term.edges.begin();
}

}  // namespace

TermScratch::TermScratch(const AttendCall& call, std::pmr::memory_resource* memory)
    : run(index(kTileKeys + call.max_lanes), memory),
      places(index(kTileKeys * call.max_lanes), memory),
      each(index(kTileKeys * call.max_lanes), memory),
      edges(memory),
      bends(memory),
      band(memory),
      band_of_head(memory),
      keys_of_place{.vectors = std::pmr::vector<float>(memory), .products = std::pmr::vector<float>(memory)},
      sines(memory),
      distances(memory) {
  // Rows of lanes, behind the last of them zeros; of places for each of some keys, and as many zeros.
  std::int64_t of_lanes = 0;
  std::int64_t of_keys = 0;
  sines.reserve(call.lowered.terms.size());
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    const TermVectors& vectors = call.vectors(t);
    const math::Term& term = call.lowered.terms[t];
    std::optional<SineRows>& own = sines.emplace_back();
    if (call.projects_queries(t)) {
      own.emplace(*vectors.sines, memory);
      distances.reserve(index(kTileKeys * call.max_lanes));
      of_lanes = std::max(of_lanes, SineRows::kRows + 1);
    } else if (std::holds_alternative<math::QueryDistance>(term) || vectors.sines) {
      of_lanes = std::max(of_lanes, kBandPlaces + 1);
      band_of_head.resize(index((kBandPlaces + 1) * call.max_lanes));
    } else if (std::holds_alternative<math::KeyDistance>(term)) {
      of_keys = 2 * kBandPlaces * call.attention.register_lanes;
      keys_of_place.vectors.resize(index(kernels::kDecodeLanes * call.layer.head_dim));
      keys_of_place.products.resize(index(kTileKeys * kernels::kDecodeLanes));
    } else if (const auto* knots = std::get_if<math::Knots>(&term)) {
      edges.reserve(knots->edges.size());
      bends.reserve(knots->edges.size());
    }
  }
  band.resize(index(std::max(of_lanes * call.max_lanes, of_keys)));
}

TileTerms::TileTerms(const AttendCall& call, TermScratch& scratch, LaneBlock& block, KeyTile& tile, float* scores)
    : call_(call), scratch_(scratch), block_(block), tile_(tile), scores_(scores) {}

bool TileTerms::is_run(std::int64_t coordinate) const { return block_.is_run(coordinate) && tile_.is_run(coordinate); }

double TileTerms::distance(std::int64_t coordinate, std::int64_t lane, std::int64_t m) const {
  const math::Coordinate& at = call_.lowered.coordinates[index(coordinate)];
  return at.q[index(block_.lane[index(lane)].row)] - at.k[index(tile_.row(m))];
}

template <typename Value>
TileTerms::Strip TileTerms::each(const Value& value) {
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    float* const row = scratch_.each.data() + m * block_.lanes;
    for (std::int64_t l = 0; l < block_.lanes; ++l) {
      row[l] = l < block_.used ? static_cast<float>(value(l, m)) : 0.0F;
    }
  }
  const std::span all = std::span(scratch_.each).first(index(tile_.count() * block_.lanes));
  return {all, all.data(), block_.lanes};
}

template <typename Value>
TileTerms::Strip TileTerms::by_distance(std::int64_t coordinate, const Value& value) {
  if (!is_run(coordinate)) return by_lanes(coordinate, value);
  const std::int64_t last = tile_.count() - 1;
  const double first = distance(coordinate, 0, last);
  const std::span all = std::span(scratch_.run).first(index(last + block_.lanes));
  for (std::size_t n = 0; n < all.size(); ++n) {
    all[n] = static_cast<float>(value(block_.head(), first + static_cast<double>(n)));
  }
  return {all, all.data() + last, -1};
}

// Lanes of several heads, or in any order. Where keys are a run, each lane's distances are: they are not looked up.
template <typename Value>
TileTerms::Strip TileTerms::by_lanes(std::int64_t coordinate, const Value& value) {
  if (!tile_.is_run(coordinate)) {
    return each(
        [&](std::int64_t l, std::int64_t m) { return value(block_.lane[index(l)].head, distance(coordinate, l, m)); });
  }
  const std::span all = std::span(scratch_.each).first(index(tile_.count() * block_.lanes));
  for (std::int64_t l = 0; l < block_.lanes; ++l) {
    const std::int64_t head = block_.lane[index(l)].head;
    const double first = distance(coordinate, l, 0);
    float* to = all.data() + l;
    for (std::int64_t m = 0; m < tile_.count(); ++m, to += block_.lanes) {
      *to = static_cast<float>(value(head, first - static_cast<double>(m)));
    }
  }
  return {all, all.data(), block_.lanes};
}

void TileTerms::add(const Strip& strip, const float* factor) {
  call_.attention.add_rows({.to = scores(), .added = strip.first, .step = strip.step, .factor = factor});
}

template <typename Value>
void TileTerms::add_each(const Value& value, const float* factor) {
  add(each(value), factor);
}

// Straight from the table where the tile's distances are a run within it; else a strip is made.
void TileTerms::add(const math::DistanceBias& term, std::size_t t) {
  std::array<float, kMaxLanes> by{};
  const float* used = factor(term.part);
  if (!term.row_factor.empty()) {
    for (std::int64_t l = 0; l < block_.lanes; ++l) {
      const Lane& lane = block_.lane[index(l)];
      by[index(l)] = static_cast<float>(term.row_factor[index(lane.head * call_.lowered.q_rows + lane.row)]);
      if (used != nullptr) by[index(l)] *= used[l];
    }
    used = by.data();
  }
  const BiasTable& table = call_.vectors(t).bias;
  if (is_run(term.coordinate)) {
    const std::int64_t last = tile_.count() - 1;
    const std::int64_t first = as_whole(distance(term.coordinate, 0, last)) - table.low;
    if (first >= 0 && first + last + block_.lanes <= table.count) {
      const float* const run = table.values.data() + block_.head() * table.count + first;
      return add({std::span(run, index(last + block_.lanes)), run + last, -1}, used);
    }
  }
  add(by_distance(term.coordinate, [&](std::int64_t head, double d) { return table.at(head, as_whole(d)); }), used);
}

void TileTerms::add(const math::LinearDistance& term, std::size_t) {
  add(by_distance(
          term.coordinate,
          [&](std::int64_t head, double d) { return term.slopes[index(head)] * (term.symmetric ? std::abs(d) : d); }),
      nullptr);
}

// The one kernel for it takes the line of the first segment and the bends behind it; only those that some x of the tile
// can reach are handed over.
void TileTerms::add(const math::Knots& term, std::size_t) {
  const std::int64_t edges = std::ssize(term.edges);
  const auto numerator = [&](std::int64_t, double d) {
    return term.numerators[index(math::entry_of(term.low, std::ssize(term.numerators), as_whole(d)))];
  };
  if (!block_.one_head) {
    add_each(
        [&](std::int64_t l, std::int64_t m) {
          const Lane& lane = block_.lane[index(l)];
          const double x = numerator(l, distance(term.coordinate, l, m)) * term.row_factor[index(lane.row)];
          const std::size_t segment = index(lane.head * (edges + 1) + segment_of(term, x));
          return term.intercepts[segment] + term.slopes[segment] * x;
        },
        nullptr);
    return;
  }
  // Of all that bends, what does between the least x of the tile and the largest.
  const Strip strip = by_distance(term.coordinate, numerator);
  std::array<float, kMaxLanes> factor{};
  for (std::int64_t l = 0; l < block_.lanes; ++l) {
    factor[index(l)] = static_cast<float>(term.row_factor[index(block_.lane[index(l)].row)]);
  }
  const auto [least, most] = std::minmax_element(factor.begin(), factor.begin() + block_.lanes);
  const auto [nearest, farthest] = std::minmax_element(strip.values.begin(), strip.values.end());
  const std::int64_t low = segment_of(term, static_cast<double>(*least) * static_cast<double>(*nearest));
  const std::int64_t high = segment_of(term, static_cast<double>(*most) * static_cast<double>(*farthest));
  const double* const slopes = term.slopes.data() + block_.head() * (edges + 1);
  scratch_.edges.clear();
  scratch_.bends.clear();
  for (std::int64_t n = low; n < high; ++n) {
    scratch_.edges.push_back(static_cast<float>(term.edges[index(n)]));
    scratch_.bends.push_back(static_cast<float>(slopes[n + 1] - slopes[n]));
  }
  call_.attention.add_bending(
      {.to = scores(),
       .along = strip.first,
       .step = strip.step,
       .factor = factor.data(),
       .intercept = static_cast<float>(term.intercepts[index(block_.head() * (edges + 1) + low)]),
       .slope = static_cast<float>(slopes[low]),
       .edges = scratch_.edges.data(),
       .bends = scratch_.bends.data(),
       .count = high - low});
}

// Numbers of a row and numbers of a key that nearly cancel: they are added in double before they become floats, the
// key's less those of the tile's first key.
void TileTerms::add(const math::Column& term, std::size_t) {
  const std::int64_t rows = call_.lowered.k_rows;
  std::array<double, kMaxLanes> of_row{};
  for (std::int64_t l = 0; l < block_.used; ++l) {
    const Lane& lane = block_.lane[index(l)];
    of_row[index(l)] = term.is_of_past() ? term.of_row(lane.head, lane.row, rows) : -block_.shift[index(l)];
    if (term.is_of_past()) of_row[index(l)] += static_cast<double>(block_.came_along[index(l)]);
  }
  const bool is_past = std::all_of(block_.lane.begin(), block_.lane.begin() + block_.used, [&](const Lane& lane) {
    return tile_.orders().high <= call_.rows.q_order[index(lane.row)];
  });
  if (!block_.one_head || (term.is_of_past() && !is_past)) {
    add_each(
        [&](std::int64_t l, std::int64_t m) {
          const Lane& lane = block_.lane[index(l)];
          if (term.is_of_past() && tile_.order(m) > call_.rows.q_order[index(lane.row)]) return 0.0;
          return of_row[index(l)] + term.columns[index(lane.head * rows + tile_.row(m))];
        },
        nullptr);
    return;
  }
  const double* const columns = term.columns.data() + block_.head() * rows + tile_.row(0);
  std::array<float, kMaxLanes> row{};
  for (std::int64_t l = 0; l < block_.used; ++l) row[index(l)] = static_cast<float>(of_row[index(l)] + columns[0]);
  for (std::int64_t m = 0; m < tile_.count(); ++m) scratch_.run[index(m)] = static_cast<float>(columns[m] - columns[0]);
  call_.attention.add_column({.to = scores(), .column = scratch_.run.data(), .row = row.data()});
}

// Where keys do not rotate, u is in the queries already.
void TileTerms::add(const math::KeyVector&, std::size_t t) {
  if (call_.rotations.empty()) return;
  const FloatRows raw = tile_.raw();
  add_each(
      [&](std::int64_t l, std::int64_t m) {
        const float* const u = call_.vectors(t).rows.data() + block_.lane[index(l)].head * call_.layer.head_dim;
        double sum = 0.0;
        for (std::int64_t c = 0; c < call_.layer.head_dim; ++c) {
          sum += static_cast<double>(u[c]) * static_cast<double>(raw.data[m * raw.stride + c]);
        }
        return sum;
      },
      block_.row_scale.data());
}

void TileTerms::add(const math::Label& term, std::size_t t) {
  const LaneBlock::Floats& own = block_.of_term[t];
  add_each(
      [&](std::int64_t l, std::int64_t m) {
        const bool differ = term.q_labels[index(block_.lane[index(l)].row)] != term.k_labels[index(tile_.row(m))];
        return own[index((differ ? block_.lanes : 0) + l)];
      },
      block_.row_scale.data());
}

void TileTerms::add(const math::Running&, std::size_t) {}  // sum_gates

struct AddTerm {
  TileTerms& to;
  std::size_t t;
  template <typename Term>
  void operator()(const Term& term) const {
    to.add(term, t);
  }
};

void TileTerms::add_terms(math::Part part) {
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    if (math::part_of(call_.lowered.terms[t]) == part) std::visit(AddTerm{*this, t}, call_.lowered.terms[t]);
  }
}

void TileTerms::add_content() { add_terms(math::Part::content); }

void TileTerms::add_bias(const float* of_gates) {
  if (of_gates != nullptr) {
    call_.attention.add_rows({.to = scores(), .added = of_gates, .step = block_.lanes});
  }
  add_terms(math::Part::bias);
  add_given();
}

void TileTerms::add_given() {
  const ConstTensorView& bias = call_.args.inputs.bias;
  if (bias.empty()) return;
  MatrixRows rows(call_, bias, block_, tile_);
  for (std::int64_t l = 0; l < block_.used; ++l) {
    const float* const row = rows.of_lane(l);
    for (std::int64_t m = 0; m < tile_.count(); ++m) scores_[m * block_.lanes + l] += row[m];
  }
}

// attn_mask: where it is 0, the score is hidden whatever it was.
std::uint64_t TileTerms::hide_given() {
  const ConstTensorView& visible = call_.args.inputs.attn_mask;
  if (visible.empty()) return 0;
  MatrixRows rows(call_, visible, block_, tile_);
  std::uint64_t lanes = 0;
  for (std::int64_t l = 0; l < block_.used; ++l) {
    const float* const row = rows.of_lane(l);
    if (std::count(row, row + tile_.count(), 0.0F) == 0) continue;
    lanes |= std::uint64_t{1} << static_cast<std::uint64_t>(l);
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      float& score = scores_[m * block_.lanes + l];
      score = row[m] != 0.0F ? score : kNothing;
    }
  }
  return lanes;
}

template <typename Sees>
void TileTerms::hide_each(const Sees& sees) {
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < block_.used; ++l) {
      if (!sees(l, m)) scores_[m * block_.lanes + l] = kNothing;  // whatever it was
    }
  }
}

// By order all lanes count, as in every KV head the same queries ask. Orders may be as large as 2^53. Taken less the
// tile's least they are small whole numbers, which floats hold exactly up to 2^24.
Hidden TileTerms::hide() {
  const Orders keys = tile_.orders();
  const bool by_order = keys.low < block_.most.low || keys.high > block_.least.high;
  if (by_order) {
    constexpr std::int64_t kExact = std::int64_t{1} << 22U;  // differences of orders that are floats
    if (keys.high - keys.low < kExact) {
      std::array<float, kTileKeys> order{};
      std::array<float, kMaxLanes> low{};
      std::array<float, kMaxLanes> high{};
      const std::int64_t end = keys.high + 1;
      for (std::int64_t m = 0; m < tile_.count(); ++m) order[index(m)] = static_cast<float>(tile_.order(m) - keys.low);
      for (std::int64_t l = 0; l < block_.lanes; ++l) {
        const Orders& sees = block_.sees[index(l)];
        low[index(l)] = static_cast<float>(std::clamp(sees.low, keys.low, end) - keys.low);
        high[index(l)] = static_cast<float>(std::clamp(sees.high, keys.low - 1, end) - keys.low);
      }
      call_.attention.mask({.of = scores(), .order = order.data(), .low = low.data(), .high = high.data()});
    } else {
      hide_each([&](std::int64_t l, std::int64_t m) {
        const Orders& sees = block_.sees[index(l)];
        return tile_.order(m) >= sees.low && tile_.order(m) <= sees.high;
      });
    }
  }
  return {.given = hide_given(), .by_order = by_order, .seen_by_all = {block_.most.low, block_.least.high}};
}

// q . E of all rows of the table is computed once a block, when its first tile passes; its last row stands twice, so
// that the kernel may interpolate beyond it.
void TileTerms::sum_gates(float* out) {
  const std::int64_t channels = call_.layer.head_dim;
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    const auto* term = std::get_if<math::Running>(&call_.lowered.terms[t]);
    if (term == nullptr) continue;
    LaneBlock::Floats& table = block_.of_term[t];
    if (table.empty()) {
      table.resize(index((term->count + 1) * block_.lanes));
      call_.attention.product({.a = call_.vectors(t).rows.data(),
                               .a_row = channels,
                               .a_step = 1,
                               .b = block_.raw.data(),
                               .c = table.data(),
                               .rows = term->count,
                               .depth = channels,
                               .lanes = block_.lanes});
      std::copy_n(table.end() - 2 * block_.lanes, block_.lanes, table.end() - block_.lanes);
    }
    call_.attention.gates(
        {.of = scores(), .carry = block_.carry.data(), .table = table.data(), .count = term->count, .out = out});
  }
}

}  // namespace posenc::cpu
