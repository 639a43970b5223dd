#include "reuse/simulate.h"

#include <cmath>
#include <random>
#include <span>

#include "posenc/pairing.h"
#include "posenc/reference.h"
#include "reuse/formats.h"

namespace posenc::reuse {
namespace {

constexpr std::int64_t kTokens = 16;
constexpr std::int64_t kFirst = 4096;  // where the first token stands
constexpr std::uint64_t kSeed = 2310;

using Rows = std::vector<std::vector<double>>;  // [tokens][channels]

// Nearly a standard normal distribution's, the same on every machine: the sum of twelve uniform numbers less 6.
Rows drawn_keys(std::int64_t channels) {
  std::mt19937_64 engine(kSeed);
  Rows out(kTokens);
  for (std::vector<double>& row : out) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = -6.0;
      for (int n = 0; n < 12; ++n) sum += static_cast<double>(engine() >> 11U) * 0x1p-53;
      // Keys are what a projection gives in f32.
      row.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

// R(position) x without the attention factor, which is no rounding's matter.
std::vector<double> turned(const RotaryLayout& layout, const std::vector<double>& inv_freq, std::span<const double> x,
                           std::int64_t position) {
  std::vector<double> angles;
  for (const double one : inv_freq) angles.push_back(static_cast<double>(position) * one);
  return reference::rotate_pairwise(layout, x, angles);
}

void store_row(KvFormat format, std::vector<double>& row) {
  std::vector<float> numbers(row.begin(), row.end());
  store(format, numbers);
  row.assign(numbers.begin(), numbers.end());
}

double error_of(const Rows& is, const Rows& wanted) {
  double apart = 0.0;
  double all = 0.0;
  for (std::size_t t = 0; t < is.size(); ++t) {
    for (std::size_t c = 0; c < is[t].size(); ++c) {
      apart += (is[t][c] - wanted[t][c]) * (is[t][c] - wanted[t][c]);
      all += wanted[t][c] * wanted[t][c];
    }
  }
  return std::sqrt(apart / all);
}

SimulatedShifts simulated(KvFormat format, const RotaryLayout& layout, const std::vector<double>& inv_freq,
                          std::int64_t shift_by) {
  const Rows keys = drawn_keys(layout.head_dim);
  const auto at = [&](const Rows& rows, std::int64_t shifted) {
    Rows out;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      out.push_back(turned(layout, inv_freq, rows[static_cast<std::size_t>(t)], kFirst + t + shifted));
    }
    return out;
  };
  SimulatedShifts out{.format = format, .unrotated = 0.0, .rotated = {}};
  Rows unrotated = keys;
  for (std::vector<double>& row : unrotated) store_row(format, row);
  out.unrotated = error_of(unrotated, keys);
  Rows rotated = at(keys, 0);
  for (std::vector<double>& row : rotated) store_row(format, row);
  std::int64_t done = 0;
  for (const std::int64_t shifts : simulated_shifts()) {
    for (; done < shifts; ++done) {
      for (std::vector<double>& row : rotated) {
        row = turned(layout, inv_freq, row, shift_by);
        store_row(format, row);
      }
    }
    out.rotated.push_back(error_of(rotated, at(keys, done * shift_by)));
  }
  return out;
}

}  // namespace

const std::vector<std::int64_t>& simulated_shifts() {
  static const std::vector<std::int64_t> shifts{0, 1, 4, 16, 64, 256, 1000};
  return shifts;
}

std::vector<SimulatedShifts> simulate(const Rope& rope, std::optional<std::int64_t> length, std::int64_t shift_by) {
  const std::vector<double> inv_freq = frequencies(rope, length).inv_freq;
  const RotaryLayout of_rope = layout(rope);
  std::vector<SimulatedShifts> out;
  for (std::int64_t f = 0; f < kKvFormats; ++f) {
    const auto format = static_cast<KvFormat>(f);
    if (bytes_of_head(format, rope.head_dim)) out.push_back(simulated(format, of_rope, inv_freq, shift_by));
  }
  return out;
}

}  // namespace posenc::reuse
