// The primitives that every scheme of the rotate, score and value stages lowers to. Kernels know these and no scheme.
//
//   x_ij = row_scale_i (q~_i . k~_j + content terms)      q~ = R(i) q, k~ = R(j) k, of the region that i and j are in
//   y_ij = x_ij + bias terms                              the cap, the mask, the sink and the sum: as the plan says
//   o_i  = sum_j p_ij (v_j + value terms)
//
// src/cpu/lower/lower.h makes them of a plan, its weights and the inputs of a call; reference::attend_lowered computes
// scores from them, in double, one at a time: what it must give is what reference::attend gives by the formulas.
//
// Nothing here is as large as queries times keys: a number is kept per row, or per distance that occurs. Tables by
// distance lie with the distance ascending, per head: where positions step by 1, the scores of one row and the next
// keys want entries one after another, backwards. Rows are those of the call: tokens, or batch * tokens, tokens
// fastest. h is a head, d a distance: coordinate of the query less that of the key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "math/input/sinusoid.h"
#include "posenc/attention.h"
#include "posenc/rope.h"
#include "posenc/tensor.h"

namespace posenc::math {

// What is multiplied by row_scale stands for a part of q.k, a bias does not. A bias that is scaled all the same
// (Falcon's ALiBi) has the scale in its numbers: the query scale is none of its.
enum class Part : std::uint8_t { content, bias };

// Where rows stand. The first are the axes of the plan's positions; schemes add what they count by instead: cells of a
// window by one number, XLNet's backward half the other way round.
struct Coordinate {
  std::vector<double> q;  // [query rows]
  std::vector<double> k;  // [key rows]
};

// Rows `low` up to low + places.size() of a table by distance; what lies beyond either end is as the end.
struct DistancePlaces {
  std::int64_t coordinate = 0;  // distances along it are whole
  std::int64_t low = 0;
  std::vector<std::int32_t> places;  // -1: nothing
};

// A vector for each place: the same for all heads, one for each, or W x + b of rows that all heads share. Who needs the
// numbers projects: for all places and heads, in double, that takes longer than attention does.
struct PlaceVectors {
  std::int64_t count = 0;
  bool per_head = false;
  std::vector<double> values;  // [heads or 1, count, channels]; empty: projected
  ConstTensorView rows{};      // [count, width], the caller's
  Linear projection{};         // [heads * channels, width], the caller's
};

// ---- score terms ----

// b[h][d], times a number of the row. Its numbers are made by who needs them, of the type and for the distances that
// are needed: for many heads and tokens they are most of what a call holds.
struct DistanceBias {
  Part part = Part::bias;
  std::int64_t coordinate = 0;  // distances along it are whole
  std::int64_t low = 0;         // the first entry's distance; beyond either end: as the end
  std::int64_t count = 0;
  std::function<void(std::int64_t d, std::span<double> heads)> of{};  // b of all heads; views the caller's weights
  std::vector<double> row_factor{};                                   // [heads, query rows], or empty: 1
};

// slope_h d, or slope_h |d|: needs no table, and takes distances that are not whole, or as far as 2^53.
struct LinearDistance {
  std::int64_t coordinate = 0;
  std::vector<double> slopes;  // [heads]
  bool symmetric = false;
};

// A function of one number, x = numerator[d] * row_factor[i], piecewise linear with the same edges for every head:
// intercepts[h][s] + slopes[h][s] x, s the number of edges that are below x.
struct Knots {
  std::int64_t coordinate = 0;     // distances along it are whole
  std::int64_t low = 0;            // the first numerator's distance
  std::vector<double> numerators;  // [distances]
  std::vector<double> row_factor;  // [query rows]
  std::vector<double> edges;       // [s], ascending
  std::vector<double> intercepts;  // [heads, s + 1]
  std::vector<double> slopes;      // [heads, s + 1]
};

// columns[h][j] - columns[h][last key of i]. The part of the row cancels in the softmax, but not in its logarithm, nor
// under a cap. In float, columns of one tile are taken less the tile's first.
struct Column {
  std::vector<double> columns;  // [heads, key rows]
  // Sums along the row, of keys up to the query: the last of them, -1 where there is none, for each query row; keys
  // whose order is above the query's give 0. Empty: columns alone.
  std::vector<std::int32_t> last_keys;

  bool is_of_past() const { return !last_keys.empty(); }
  // What the row has beside the column of the key.
  double of_row(std::int64_t head, std::int64_t q_row, std::int64_t k_rows) const;
};

// row_i . E[place of d]: row_i is q_i as given, before any rotation, or G[given_place_i].
struct QueryDistance {
  Part part = Part::content;
  DistancePlaces at;
  PlaceVectors vectors;                    // E
  PlaceVectors given{};                    // G: of no places where q is multiplied
  std::vector<std::int32_t> given_places;  // [query rows], or empty: q
};

// k_j . F[place of d], k_j as given.
struct KeyDistance {
  Part part = Part::content;
  DistancePlaces at;
  PlaceVectors vectors;  // F
};

// (q_i + v_h) . W_h s(d), q_i as given, s(d) the sines and cosines of a distance: a content term. Nothing is kept for
// each distance: sines are made faster than memory would hand them out, and a kernel may project queries instead, since
// this is W_h^T (q_i + v_h) . s(d).
struct SineDistance {
  std::int64_t coordinate = 0;     // distances along it are whole
  std::int64_t low = 0;            // what occurs, clamped
  std::int64_t high = 0;           //
  std::optional<Distances> rows;   // at others nothing
  std::int64_t clamp_length = -1;  // not below 0: s(d) of distances further apart is that of the farthest
  std::vector<Sinusoid> channels;  // [width]: s
  ConstTensorView projection{};    // W: [heads * head_dim, width], the caller's
  std::vector<double> added;       // v: [heads, head_dim], or empty
};

// The distance whose sines stand for d, or none.
std::optional<std::int64_t> sine_place(const SineDistance& term, std::int64_t d);

// u_h . k_j, k_j as given: a content term. Where keys do not rotate, a kernel adds u to q; else it is a column.
struct KeyVector {
  std::vector<double> vectors;  // [heads, head_dim]
};

// q_i . S[h][0] + constants[h][0] where both labels are the same, else with 1: a content term.
struct Label {
  std::vector<double> vectors;    // [heads, 2, head_dim]
  std::vector<double> constants;  // [heads, 2]
  std::vector<std::int32_t> q_labels;
  std::vector<std::int32_t> k_labels;
};

// p_ij, the sum of sigmoid(x_il) over the visible l whose order is j's or above; q_i . E[min(p, count - 1)], between
// whole p by interpolation: a bias term. Summed from the last key to the first, so a part of the keys needs the sum of
// those after it, and gives its own.
struct Running {
  std::int64_t count = 0;
  std::vector<double> vectors;  // [count, head_dim]
};

using Term = std::variant<DistanceBias, LinearDistance, Knots, Column, QueryDistance, KeyDistance, SineDistance,
                          KeyVector, Label, Running>;

// Whether a term is inside the scale.
Part part_of(const Term& term);

// ---- rotation ----

// The rule of a rotation, from which c and s of any row come: kept so, and not as two numbers per row and pair, because
// the angle kernel makes these faster than memory hands them out, and regions want them at several positions.
struct Rotation {
  Required<Pairing> pairing;
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
  std::vector<double> inv_freq;            // [pairs]
  std::vector<std::int32_t> axis_of_pair;  // [pairs], or empty: the first coordinate
  double factor = 1.0;                     // of cos and sin
  double offset = 0.0;                     // added to every coordinate
  bool rotates_queries = true;             // no: they come rotated (LayerInputs::q_rotated)
  bool rotates_keys = true;
  // xPos: ln(zeta_p) / scale_base, [pairs] or empty. The product of a pair is multiplied by exp(decay (i - j)), i and j
  // along the first coordinate: queries take exp(decay (i - o)), keys exp(decay (o - j)), o an origin near the keys of
  // the tile, so that neither leaves its range before the product does. Rotated keys have no decay yet.
  std::vector<double> decay;
};

enum class Side : std::uint8_t { query, key };

// (a, b) -> (a c - b s, a s + b c)
struct Coefficients {
  double c;
  double s;
};

// Of a pair of channels of a row that stands at `position` (along the pair's axis, with the offset not yet added),
// `beyond_origin` after the tile's origin. Angles are within 1.5e-15 for |position| <= 2^53.
Coefficients coefficients(const Rotation& rotation, Side side, std::int64_t pair, double position,
                          double beyond_origin);
// Values are rotated as keys are, outputs back by the inverse; neither decays.
Coefficients value_coefficients(const Rotation& rotation, std::int64_t pair, double position, bool inverse);

// Keys and queries stand elsewhere where low <= q_place - k_place < high, on all axes.
struct Region {
  double low;
  double high;
  std::vector<double> q_positions;  // [query rows]
  std::vector<double> k_positions;  // [key rows]
};
struct RegionList {
  std::vector<double> q_places;  // [query rows]
  std::vector<double> k_places;  // [key rows]
  std::vector<Region> regions;   // their bands cover all differences, once; or empty: rows stand where they stand
};

// ---- values ----

// v_j + T[place of d]: a kernel sums the weights of each place, and multiplies by the table at the end.
struct ValueDistance {
  DistancePlaces at;
  std::int64_t count = 0;
  bool per_head = false;
  std::vector<double> vectors;  // [heads or 1, count, value_dim]
};

// v_j is rotated as a key is, by the rotations and without regions; inverse_on_output: o_i is rotated back.
struct ValueRotation {
  bool inverse_on_output = false;
};

using ValuePart = std::variant<std::monostate, ValueDistance, ValueRotation>;

// ---- a layer ----

struct Lowered {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t q_rows = 0;
  std::int64_t k_rows = 0;
  std::vector<Coordinate> coordinates;
  std::vector<Rotation> rotations;  // one after another
  RegionList regions;
  std::vector<double> row_scale;  // [query rows]: scale tau_i
  std::vector<Term> terms;
  std::vector<std::size_t> first_term;  // of each score scheme of the layer
  ValuePart values;
};

// All entries of a bias, [heads, count].
std::vector<double> table_of(const DistanceBias& term, std::int64_t heads);

// Entry d of a table that begins with `low` and has `count` entries.
inline std::int64_t entry_of(std::int64_t low, std::int64_t count, std::int64_t d) {
  return std::clamp<std::int64_t>(d - low, 0, count - 1);
}

}  // namespace posenc::math
