// Scores by the primitives of math/primitives.h, in double, one query and one key at a time: what lowering a layer
// (src/cpu/lower) must not change. Tests hold it to formula_scores.cpp, and the kernels to both.
#include "reference/lowered_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <variant>

#include "math/rope/rotation.h"
#include "posenc/reference.h"
#include "reference/attend_lowered.h"
#include "reference/check_double.h"
#include "reference/lowered_terms.h"

namespace posenc::inline v0_2::reference {
namespace {

// Keys of one tile of a kernel: xPos takes its origin from the first.
constexpr std::int64_t kTileKeys = 64;

// All pairs of channels of x.
template <typename CoefficientsOf>
void rotate_pairs(const math::Rotation& rotation, std::vector<double>& x, const CoefficientsOf& of) {
  for (std::int64_t p = 0; p < std::ssize(rotation.inv_freq); ++p) {
    const math::Coefficients at = of(p);
    const auto [a, b] = math::channels_of_pair(rotation.pairing, rotation.first_channel, rotation.dim, p);
    const auto rotated = math::rotated<double>({x[index(a)], x[index(b)]}, at.c, at.s);
    x[index(a)] = rotated.a;
    x[index(b)] = rotated.b;
  }
}

// Which of lowered.coordinates rotates that pair.
std::int64_t axis_of(const math::Rotation& rotation, std::int64_t pair) {
  return rotation.axis_of_pair.empty() ? 0 : rotation.axis_of_pair[index(pair)];
}

// The region whose band holds the pair's difference; null where the layer has no regions.
const math::Region* region_of(const math::RegionList& list, const Pair& pair) {
  for (const math::Region& region : list.regions) {
    const double difference = list.q_places[index(pair.q_row())] - list.k_places[index(pair.k_row())];
    if (difference >= region.low && difference < region.high) return &region;
  }
  return nullptr;
}

void add_value(std::monostate, const Pair&, std::vector<double>&) {}

void add_value(const math::ValueDistance& term, const Pair& pair, std::vector<double>& v) {
  const std::span row = vector_at(term, pair);
  for (std::size_t c = 0; c < row.size(); ++c) v[c] += row[c];
}

void add_value(const math::ValueRotation&, const Pair& pair, std::vector<double>& v) {
  for (const math::Rotation& rotation : pair.lowered.rotations) {
    rotate_pairs(rotation, v, [&](std::int64_t p) {
      const math::Coordinate& at = pair.lowered.coordinates[index(axis_of(rotation, p))];
      return math::value_coefficients(rotation, p, at.k[index(pair.k_row())], false);
    });
  }
}

}  // namespace

// Falling by order, not by place in the tensor: the call's k_order may have any order.
void LoweredScores::begin(const Sequence& sequence) {
  const std::vector<std::int64_t>& order = sequence.k.order;
  keys_from_last_.resize(order.size());
  gates_after_.resize(order.size());
  std::iota(keys_from_last_.begin(), keys_from_last_.end(), 0);
  std::ranges::sort(keys_from_last_, std::ranges::greater(), [&](std::int64_t j) { return order[index(j)]; });
}

double LoweredScores::scale(const Row& row) { return lowered_.row_scale[index(row.sequence.q.first_row + row.i)]; }

// Both sides decay from the position of the first key of key j's tile, as the kernels have it (math::Rotation::decay),
// so that an error in their split of xPos shows here.
double LoweredScores::product(const Row& row, std::int64_t j) const {
  const Pair pair{lowered_, row, j, {}};
  const math::Region* region = region_of(lowered_.regions, pair);
  const math::Coordinate& along = lowered_.coordinates.front();
  const double origin = along.k[index(row.sequence.k.first_row + j / kTileKeys * kTileKeys)];
  std::vector<double> q = row.q;
  std::vector<double> k = row.key(j);
  for (const math::Rotation& rotation : lowered_.rotations) {
    const auto side = [&](math::Side which, std::int64_t r, std::vector<double>& x) {
      const bool is_query = which == math::Side::query;
      const double beyond = (is_query ? along.q : along.k)[index(r)] - origin;
      rotate_pairs(rotation, x, [&](std::int64_t p) {
        const math::Coordinate& at = lowered_.coordinates[index(axis_of(rotation, p))];
        const std::vector<double>& own = is_query ? at.q : at.k;
        const std::vector<double>& moved = region == nullptr ? own
                                           : is_query        ? region->q_positions
                                                             : region->k_positions;
        return math::coefficients(rotation, which, p, moved[index(r)], beyond);
      });
    };
    side(math::Side::query, pair.q_row(), q);
    side(math::Side::key, pair.k_row(), k);
  }
  return dot(q, k);
}

double LoweredScores::sum_of_terms(const Row& row, std::int64_t j, math::Part wanted) const {
  const Pair pair{lowered_, row, j, gates_after_};
  double sum = 0.0;
  for (const math::Term& term : lowered_.terms) {
    if (math::part_of(term) != wanted) continue;
    sum += std::visit([&](const auto& primitive) { return value_of(primitive, pair); }, term);
  }
  return sum;
}

double LoweredScores::content(const Row& row, std::int64_t j) {
  return product(row, j) + sum_of_terms(row, j, math::Part::content);
}

// From the last key to the first; keys of one order count for one another.
void LoweredScores::scored(const Row& row) {
  const std::vector<std::int64_t>& order = row.sequence.k.order;
  double sum = 0.0;
  for (std::size_t first = 0; first < keys_from_last_.size();) {
    std::size_t end = first;
    for (; end < keys_from_last_.size(); ++end) {
      const std::size_t j = index(keys_from_last_[end]);
      if (order[j] != order[index(keys_from_last_[first])]) break;
      if (row.seen[j]) sum += 1.0 / (1.0 + std::exp(-row.x[j]));
    }
    for (; first < end; ++first) gates_after_[index(keys_from_last_[first])] = sum;
  }
}

double LoweredScores::bias(const Row& row, std::int64_t j) { return sum_of_terms(row, j, math::Part::bias); }

std::vector<double> LoweredScores::value(const Row& row, std::int64_t j) {
  std::vector<double> v(index(lowered_.value_dim));
  for (std::size_t c = 0; c < v.size(); ++c) {
    v[c] = element(row.sequence.v, {j, row.kv_head(), static_cast<std::int64_t>(c)});
  }
  const Pair pair{lowered_, row, j, {}};
  std::visit([&](const auto& part) { add_value(part, pair, v); }, lowered_.values);
  return v;
}

// As in FormulaScores: the last rotation is undone first.
std::vector<double> LoweredScores::finished(const Row& row, std::vector<double> out) {
  const auto* rotated = std::get_if<math::ValueRotation>(&lowered_.values);
  if (rotated == nullptr || !rotated->inverse_on_output) return out;
  const Pair pair{lowered_, row, 0, {}};
  for (auto rotation = lowered_.rotations.rbegin(); rotation != lowered_.rotations.rend(); ++rotation) {
    rotate_pairs(*rotation, out, [&](std::int64_t p) {
      const math::Coordinate& at = lowered_.coordinates[index(axis_of(*rotation, p))];
      return math::value_coefficients(*rotation, p, at.q[index(pair.q_row())], true);
    });
  }
  return out;
}

void attend_lowered(const math::Lowered& lowered, const LayerPlan& layer, const AttendArgs& args) {
  check_double(layer, args);
  LoweredScores scores(lowered);
  attend_by(scores, layer, args);
}

}  // namespace posenc::inline v0_2::reference
