#include "diagnose/positions/decoded_positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
// Turns of the slowest pair to either side that are tried: two, and as many as reach position 2^18; of the ropes that
// models have, that is 9 at most (GPT-NeoX, 29,000 tokens a turn).
constexpr int kTurns = 2;
constexpr int kMostTurns = 16;
constexpr double kFarthestDecoded = 0x1p18;
// Angles noisier than this many radians settle nothing: a quarter of a turn at three standard deviations.
constexpr double kSharpest = kTurn / 12;

}  // namespace

PositionDecoder::PositionDecoder(const MeasuredTable& table, const FrequencyList& frequencies,
                                 std::span<const std::int32_t> axis_of_pair, std::int32_t axis)
    : table_(table), frequencies_(frequencies) {
  for (std::size_t p = 0; p < table.pairs; ++p) {
    if (frequencies.inv_freq[p] == 0.0 || (!axis_of_pair.empty() && axis_of_pair[p] != axis)) continue;
    order_.push_back(p);
  }
  std::ranges::sort(order_, {}, [&](std::size_t p) { return std::fabs(frequencies.inv_freq[p]); });
}

// Least squares over the pairs so far says which turn the next pair is in.
double PositionDecoder::refined(std::size_t row, double start) const {
  double position = start;
  double up = 0.0;
  double down = 0.0;
  for (const std::size_t p : order_) {
    const std::size_t cell = table_.at(row, p);
    const double w = table_.weight[cell];
    const double size = std::abs(table_.c[cell]);
    if (!(w > 0) || !(size > 0)) continue;
    if (table_.variance(cell) > w * size * size * kSharpest * kSharpest) continue;
    const double f = frequencies_.inv_freq[p];
    const double angle = table_.angle[cell] + kTurn * std::nearbyint((position * f - table_.angle[cell]) / kTurn);
    up += w * size * size * f * angle;
    down += w * size * size * f * f;
    if (down > 0) position = up / down;
  }
  return position;
}

double PositionDecoder::angular_rest(std::size_t row, double position) const {
  double rest = 0.0;
  for (const std::size_t p : order_) {
    const std::size_t cell = table_.at(row, p);
    const double half = std::sin((table_.angle[cell] - position * frequencies_.inv_freq[p]) / 2);
    rest += table_.weight[cell] * std::abs(table_.c[cell]) * table_.factor[p] * 4 * half * half;
  }
  return rest;
}

DecodedRow PositionDecoder::decode(std::size_t row, std::span<const double> hints) const {
  DecodedRow out{.rest = std::numeric_limits<double>::infinity()};
  if (order_.empty()) return out;
  const double base = frequencies_.rope ? frequencies_.rope->base : 1e6;
  Variances noise;
  double information = 0.0;
  double radial = 0.0;
  for (const std::size_t p : order_) {
    const std::size_t cell = table_.at(row, p);
    const double f = frequencies_.inv_freq[p];
    noise.add(table_.variance(cell), 2.0);
    information += table_.weight[cell] * table_.factor[p] * table_.factor[p] * f * f / table_.variance(cell);
    const double off = std::abs(table_.c[cell]) - table_.factor[p];
    radial += table_.weight[cell] * off * off;
  }
  out.spread = information > 0 ? 1 / std::sqrt(information) : std::numeric_limits<double>::infinity();
  const double t = level_of(static_cast<double>(table_.rows));
  // Whole numbers are told apart at that level.
  out.sure = out.spread * std::sqrt(2 * t) < 0.5;
  const double bound = noise.bound(t);
  const auto allowed = [&](double position) {
    double tolerated = 0.0;
    for (const std::size_t p : order_) {
      const double off =
          table_.factor[p] * (angle_tolerance(position * frequencies_.inv_freq[p], base) + 0x1p-23 + table_.after_unit);
      tolerated += table_.weight[table_.at(row, p)] * off * off;
    }
    const double both = std::sqrt(bound) + std::sqrt(tolerated);
    return both * both;
  };
  const auto consider = [&](double position) {
    const double rest = radial + angular_rest(row, position);
    if (rest >= out.rest) return false;
    out.rest = rest;
    out.position = position;
    out.holds = rest <= allowed(position);
    return out.holds;
  };
  for (const double hint : hints) {
    consider(hint);
    if (hint == hints.front()) out.first_hint_holds = out.holds;
  }
  if (out.holds && out.sure) {
    // The best of its neighbours too: noise lets more than one hold.
    const double found = out.position;
    if (radial + angular_rest(row, found - 1) >= out.rest && radial + angular_rest(row, found + 1) >= out.rest) {
      return out;
    }
  }
  const double slowest = std::fabs(frequencies_.inv_freq[order_.front()]);
  const int turns = std::clamp(static_cast<int>(std::min(kFarthestDecoded * slowest / kTurn, 1e6)), kTurns, kMostTurns);
  for (int turn = 0; turn <= 2 * turns; ++turn) {
    const int signed_turn = turn % 2 == 0 ? turn / 2 : -(turn + 1) / 2;
    const double position = refined(row, signed_turn * kTurn / slowest);
    if (!std::isfinite(position)) continue;
    if (consider(position)) break;
  }
  // A whole number within the error is what is meant.
  const double whole = std::nearbyint(out.position);
  const double rest = radial + angular_rest(row, whole);
  if (out.sure && std::fabs(out.position - whole) <= std::sqrt(2 * t) * out.spread + 0x1p-19 * std::fabs(whole) &&
      rest <= allowed(whole)) {
    out.position = whole;
    out.rest = std::min(out.rest, rest);
    out.holds = true;
  }
  return out;
}

std::vector<DecodedRow> PositionDecoder::decode_all(std::span<const double> expected) const {
  std::vector<DecodedRow> out;
  out.reserve(table_.rows);
  for (std::size_t r = 0; r < table_.rows; ++r) {
    std::array<double, 3> hints{expected[r], 0.0, 0.0};
    std::size_t count = 1;
    if (r > 0 && out.back().holds) {
      hints[count++] = out.back().position + 1;
      hints[count++] = out.back().position;
    }
    out.push_back(decode(r, {hints.data(), count}));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
