// What may have been done: frequencies, positions, and the arithmetic of both; and whether that explains a table.
//
//   z[r, p] = s_p e^(i theta),   theta = position[axis(p), r] * inv_freq[p]
//
// A hypothesis holds where sum w |z - c|^2 is within what noise leaves (noise.h) and float32 arithmetic may add, in
// every pair and in every row. s_p is the measured factor: factors are judged apart from angles (factors.h).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/measured_table.h"
#include "diagnose/noise.h"
#include "posenc/diagnose.h"

namespace posenc::inline v0_2::port {

// One thing that is other than expected.
struct Change {
  PortFact fact = PortFact::rotation;
  std::string found;
  std::string expected;
  std::string mend;
  std::optional<std::size_t> first_row{};  // from which on, where not from the first
};

struct FrequencyList {
  std::vector<double> inv_freq;  // [pairs of the table], radians per position
  double attention_factor = 1.0;
  std::optional<Rope> rope{};  // whose frequencies they are, where they are a rope's
  std::optional<std::int64_t> length{};
  std::vector<Change> changes{};  // none: the plan's
  bool guess = false;             // nothing in the plan suggests it
  bool fitted = false;            // a number of it was fitted to the table
  // Where frequencies change from token to token: those of one that stands at this place, instead of inv_freq.
  std::function<std::vector<double>(double place)> at_place{};  // [pairs of the table]
};

struct Places {
  std::vector<std::vector<double>> axes;  // [axes][rows]
  std::vector<Change> changes{};
  bool is_stretch = false;  // those that were expected, times a number that was measured and is not round
};

// The arithmetic of angles, cos and sin. What is float32 here rounds at each step as Hugging Face's code does.
enum class Steps : std::uint8_t {
  exact,
  float32,         // frequencies, angles, cos and sin
  float32_table,   // cos and sin alone
  bfloat16_table,  // float32 and then cos and sin in bfloat16
  float16_table,
  bfloat16_table_exact,  // of frequencies and angles in float64
  float16_table_exact,
  bfloat16_frequencies,  // a buffer of frequencies that was converted with the model
  float16_frequencies,
  bfloat16_angles,  // all of it
  float16_angles,
  bfloat16_products,  // the product of position and frequency alone; cos and sin in float32
  float16_products,
  bfloat16_products_of_frequencies,  // and of frequencies that were rounded before
  float16_products_of_frequencies,
  bfloat16_products_of_both,  // and of positions that were rounded, too
  float16_products_of_both,
  float32_recurrence,        // each position's cos and sin from those before it, by one complex product
  float32_recurrence_exact,  // the same from the first step's cos and sin in float64, rounded
  float16_recurrence,
  float16_recurrence_exact,
  bfloat16_recurrence,
  bfloat16_recurrence_exact,
  float32_sums,  // each position's angle from that before it, by one addition
};
inline constexpr int kSteps = 24;

struct Hypothesis {
  const FrequencyList* frequencies = nullptr;
  const Places* places = nullptr;
  const std::vector<std::int32_t>* axis_of_pair = nullptr;  // [pairs] or empty
  Steps steps = Steps::exact;
};

// Carried from position to position, so that errors grow with the place.
constexpr bool is_carried(Steps steps) { return steps >= Steps::float32_recurrence; }

// The factor that code multiplies cos and sin by, 1 or the plan's, where what was measured is near it: by less than
// `near` of it; else what was measured.
double nominal_factor(double measured, const FrequencyList& list, double near);

// z of all cells: [rows, pairs].
std::vector<std::complex<double>> predicted(const MeasuredTable& table, const Hypothesis& hypothesis);

struct Judged {
  double rest = 0.0;  // sum w |z - c|^2
  bool holds = false;
  double excess = 0.0;          // the largest rest over its bound, of a pair, a row or all; at most 1 where it holds
  std::vector<char> row_holds;  // [rows]
  std::vector<char> pair_holds;
};

// `rows`: those that are judged, all where it is empty. `tolerant`: float32 arithmetic and cos and sin in the dtype of
// `after` count as exact; without it only noise may be left. `error`: how often what is true is rejected.
struct JudgeOptions {
  std::vector<char> rows{};
  bool tolerant = true;
  double error = kFalseAlarm;
};
Judged judge(const MeasuredTable& table, const Hypothesis& hypothesis, const JudgeOptions& options = {});

// How far an angle in float32 steps may be off: the position and its product with the frequency are rounded once each,
// and the frequency is off by 2 units and what rounding of its exponent makes of ln(base).
double angle_tolerance(double angle, double base);

// Pairs, and rows, that are no rotation shared by the heads: more is left of them than of the others.
struct Unsound {
  std::vector<std::size_t> pairs, rows;
  bool outside = false;  // channels outside the pairs changed
};
// `explained`: whose lengths are those of c, so that only what heads do not share counts in pairs and rows where it
// holds; null: c has one length a pair.
Unsound unsound(const MeasuredTable& table, const Hypothesis* explained = nullptr);

}  // namespace posenc::inline v0_2::port
