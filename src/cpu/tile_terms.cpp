#include "cpu/tile_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

std::int64_t whole(double distance) { return static_cast<std::int64_t>(distance); }

// Element [member, head, i, j] of a tensor that may have fewer axes, or 1 where it serves all.
double element(const ConstTensorView& x, std::array<std::int64_t, 4> place) {
  ConstTensorView one = x;
  std::int64_t offset = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (x.shape[a] != 1) offset += place[static_cast<std::size_t>(axis + 4 - x.rank)] * x.strides[a];
  }
  one.data = static_cast<const char*>(x.data) + offset * bytes_of(x.dtype);
  one.rank = 1;
  return read(one, {0});
}

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
      sines(memory),
      distances(memory) {
  // A row of zeros stands behind the band: of lanes, or of places for each key.
  std::int64_t of_places = 0;
  sines.reserve(call.lowered.terms.size());
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    const TermVectors& vectors = call.vectors(t);
    const math::Term& term = call.lowered.terms[t];
    std::optional<SineRows>& own = sines.emplace_back();
    if (call.projects_queries(t)) {
      own.emplace(*vectors.sines, memory);
      distances.reserve(index(kTileKeys * call.max_lanes));
      of_places = std::max(of_places, SineRows::kRows + 1);
    } else if (std::holds_alternative<math::QueryDistance>(term) || vectors.sines) {
      of_places = std::max(of_places, kBandPlaces + 1);
      band_of_head.resize(index((kBandPlaces + 1) * call.max_lanes));
    } else if (std::holds_alternative<math::KeyDistance>(term)) {
      of_places = std::max(of_places, (std::max<std::int64_t>(kBandPlaces / call.max_lanes, 1) + 1) * kTileKeys);
    } else if (const auto* knots = std::get_if<math::Knots>(&term)) {
      edges.reserve(knots->edges.size());
      bends.reserve(knots->edges.size());
    }
  }
  band.resize(index(of_places * call.max_lanes));
}

TileTerms::TileTerms(const AttendCall& call, TermScratch& scratch, LaneBlock& block, KeyTile& tile, float* scores)
    : call_(call), scratch_(scratch), block_(block), tile_(tile), scores_(scores) {}

bool TileTerms::is_run(std::int64_t coordinate) const {
  const math::Coordinate& at = call_.lowered.coordinates[index(coordinate)];
  return block_.is_run(at) && tile_.is_run(at);
}

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
  if (!tile_.is_run(call_.lowered.coordinates[index(coordinate)])) {
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
  add(by_distance(term.coordinate, [&](std::int64_t head, double d) { return table.at(head, whole(d)); }), used);
}

void TileTerms::add(const math::LinearDistance& term, std::size_t) {
  add(by_distance(
          term.coordinate,
          [&](std::int64_t head, double d) { return term.slopes[index(head)] * (term.symmetric ? std::abs(d) : d); }),
      nullptr);
}

void TileTerms::add(const math::Knots& term, std::size_t) {
  const std::int64_t edges = std::ssize(term.edges);
  const auto numerator = [&](std::int64_t, double d) {
    return term.numerators[index(math::entry_of(term.low, std::ssize(term.numerators), whole(d)))];
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

TileTerms::PlaceRange TileTerms::distances(std::int64_t coordinate) const {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  const math::Coordinate& along = call_.lowered.coordinates[index(coordinate)];
  for (std::int64_t l = 0; l < block_.used; ++l) {
    least = std::min(least, along.q[index(block_.lane[index(l)].row)]);
    most = std::max(most, along.q[index(block_.lane[index(l)].row)]);
  }
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    first = std::min(first, along.k[index(tile_.row(m))]);
    last = std::max(last, along.k[index(tile_.row(m))]);
  }
  return {whole(least - last), whole(most - first)};
}

TileTerms::PlaceRange TileTerms::places(const math::DistancePlaces& at) const {
  const PlaceRange range = distances(at.coordinate);
  const std::int64_t count = std::ssize(at.places);
  PlaceRange out{std::numeric_limits<std::int64_t>::max(), -1};
  const std::int64_t end = math::entry_of(at.low, count, range.high);
  for (std::int64_t entry = math::entry_of(at.low, count, range.low); entry <= end; ++entry) {
    const std::int64_t own = at.places[index(entry)];
    if (own < 0) {
      out.is_partial = true;
      continue;
    }
    out.low = std::min(out.low, own);
    out.high = std::max(out.high, own);
  }
  return out;
}

void TileTerms::add(const math::QueryDistance& term, std::size_t t) {
  add_products({.at = term.at,
                .vectors = call_.vectors(t).rows.data(),
                .count = term.vectors.count,
                .per_head = term.vectors.per_head,
                .rows = term.given_places.empty() ? block_.raw.data() : block_.of_term[t].data(),
                .part = term.part});
}

// A band of places at a time.
void TileTerms::add_products(const PlaceProducts& x) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t lanes = block_.lanes;
  const PlaceRange all = places(x.at);
  for (std::int64_t low = all.low; low <= all.high; low += kBandPlaces) {
    const std::int64_t count = std::min(kBandPlaces, all.high - low + 1);
    const auto multiply = [&](std::int64_t head, float* to) {
      call_.attention.product({.a = x.vectors + ((x.per_head ? head * x.count : 0) + low) * channels,
                               .a_row = channels,
                               .a_step = 1,
                               .b = x.rows,
                               .c = to,
                               .rows = count,
                               .depth = channels,
                               .lanes = lanes});
    };
    float* const band = scratch_.band.data();
    multiply(block_.head(), band);
    for (std::int64_t l = 1; l < block_.used && x.per_head && !block_.one_head; ++l) {
      const std::int64_t head = block_.lane[index(l)].head;
      if (head == block_.lane[index(l - 1)].head) continue;  // lanes of a head are together
      multiply(head, scratch_.band_of_head.data());
      for (std::int64_t n = 0; n < count; ++n) {
        for (std::int64_t own = l; own < block_.used && block_.lane[index(own)].head == head; ++own) {
          band[n * lanes + own] = scratch_.band_of_head[index(n * lanes + own)];
        }
      }
    }
    if (all.is_one()) {
      call_.attention.add_rows({.to = scores(), .added = band, .step = 0, .factor = factor(x.part)});
      return;
    }
    std::fill_n(band + count * lanes, lanes, 0.0F);
    gather(band, x.at.coordinate, x.part, [&](std::int64_t d) {
      const std::int64_t place = place_of(x.at, d);
      const bool is_here = place >= low && place < low + count;
      return static_cast<std::int32_t>((is_here ? place - low : count) * lanes);
    });
  }
}

// Far away, all of a tile may have one place: a number for each key.
void TileTerms::add_place_of_keys(const math::KeyDistance& term, std::size_t t, std::int64_t place) {
  const TermVectors& own = call_.vectors(t);
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t row = (term.vectors.per_head ? block_.head() * term.vectors.count : 0) + place;
  const FloatRows raw = tile_.raw();
  constexpr std::int64_t kWide = kernels::kFewLanes;
  call_.attention.dots({.a = raw.data,
                        .a_row = raw.stride,
                        .b = own.rows.data() + row * channels,
                        .c = scratch_.band.data(),
                        .rows = tile_.count(),
                        .depth = channels,
                        .lanes = kWide,
                        .each = kWide});
  for (std::int64_t m = 0; m < tile_.count(); ++m) scratch_.run[index(m)] = scratch_.band[index(m * kWide)];
  call_.attention.add_column({.to = scores(), .column = scratch_.run.data(), .factor = factor(term.part)});
}

// The same the other way round: products of the keys with groups of places.
void TileTerms::add(const math::KeyDistance& term, std::size_t t) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t group = call_.max_lanes;
  const std::int64_t keys = tile_.count();
  const FloatRows raw = tile_.raw();
  const PlaceRange all = places(term.at);
  if (all.high < all.low) return;
  const std::int64_t at_a_time = std::max<std::int64_t>(kBandPlaces / group, 1);
  for (std::int64_t l = 0; l < block_.used; ++l) {
    const std::int64_t head = block_.lane[index(l)].head;
    if (l > 0 && head == block_.lane[index(l - 1)].head) continue;
    if (all.is_one() && block_.one_head) return add_place_of_keys(term, t, all.low);
    for (std::int64_t low = all.low / group; low <= all.high / group; low += at_a_time) {
      const std::int64_t count = std::min(at_a_time, all.high / group - low + 1);
      float* const band = scratch_.band.data();
      for (std::int64_t g = 0; g < count; ++g) {
        call_.attention.product(
            {.a = raw.data,
             .a_row = raw.stride,
             .a_step = 1,
             .b = call_.vectors(t).columns.data() +
                  ((term.vectors.per_head ? head * call_.vectors(t).groups : 0) + low + g) * channels * group,
             .c = band + g * keys * group,
             .rows = keys,
             .depth = channels,
             .lanes = group});
      }
      std::fill_n(band + count * keys * group, keys * group, 0.0F);
      const std::int32_t* first = nullptr;
      const std::int64_t step = fill_places(
          term.at.coordinate,
          [&](std::int64_t d, std::int64_t own_head) {
            const std::int64_t place = place_of(term.at, d);
            const std::int64_t g = place / group - low;
            const bool is_here = own_head == head && place >= 0 && g >= 0 && g < count;
            return static_cast<std::int32_t>(is_here ? g * keys * group + place % group : count * keys * group);
          },
          first);
      call_.attention.add_gathered({.to = scores(),
                                    .table = band,
                                    .table_step = group,
                                    .index = first,
                                    .index_step = step,
                                    .factor = factor(term.part)});
    }
    if (block_.one_head) return;
  }
}

// Where keys do not turn, u is in the queries already.
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
  const ConstTensorView& given = call_.args.inputs.bias;
  if (given.empty()) return;
  add_each([&](std::int64_t l, std::int64_t m) { return element(given, place_in_matrix(l, m)); }, nullptr);
}

std::array<std::int64_t, 4> TileTerms::place_in_matrix(std::int64_t lane, std::int64_t m) const {
  const Lane& own = block_.lane[index(lane)];
  const std::int64_t queries = call_.q.tokens;
  const std::int64_t keys = call_.args.q.rank == 4 ? call_.args.k.shape[2] : call_.lowered.k_rows;
  return {own.row / queries, own.head, own.row % queries, tile_.row(m) % keys};
}

void TileTerms::hide() {
  const Orders keys = tile_.orders();
  if (keys.low < block_.most.low || keys.high > block_.least.high) {
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
      add_each(
          [&](std::int64_t l, std::int64_t m) {
            const Orders& sees = block_.sees[index(l)];
            return tile_.order(m) >= sees.low && tile_.order(m) <= sees.high ? 0.0F : kNothing;
          },
          nullptr);
    }
  }
  const ConstTensorView& visible = call_.args.inputs.visible;
  if (visible.empty()) return;
  add_each(
      [&](std::int64_t l, std::int64_t m) { return element(visible, place_in_matrix(l, m)) != 0.0 ? 0.0F : kNothing; },
      nullptr);
}

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

void TileTerms::add_mass(const math::ValueDistance& values) {
  const std::int32_t* first = nullptr;
  const std::int64_t step = fill_places(
      values.at.coordinate,
      [&](std::int64_t d, std::int64_t) {
        const std::int64_t place = place_of(values.at, d);
        return static_cast<std::int32_t>((place < 0 ? values.count : place) * block_.lanes);
      },
      first);
  call_.attention.add_mass({.of = scores(), .index = first, .index_step = step, .mass = block_.mass.data()});
}

}  // namespace posenc::cpu
