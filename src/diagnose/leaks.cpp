#include "diagnose/leaks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/formatted.h"
#include "diagnose/channel_pairs.h"
#include "diagnose/hypothesis.h"
#include "diagnose/noise.h"
#include "diagnose/planned_rotation.h"

namespace posenc::inline v0_2::port {
namespace {

// Products of a rest and a value that are made, at most: a tenth of a second.
constexpr std::int64_t kProducts = std::int64_t{1} << 26;
// What deterministic errors of the arithmetic may leave has to be far below the rest.
constexpr double kFarAbove = 9.0;

struct Rest {
  std::vector<double> of;  // as samples.after
  bool worth_a_look = false;
};

Rest rest_of(const Samples& samples, const Expectation& expected) {
  const Rope& rope = *expected.rope;
  const Frequencies f = frequencies(rope, expected.length);
  const ChannelPairs pairs = channel_pairs(rope.pairing, rope.pairing, rope.first_channel, rope.dim);
  const std::vector<double> planned = rotated_as_planned(samples, samples.before, expected, Way::forth);
  Rest out{samples.after};
  double rest = 0.0;
  double tolerated = 0.0;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    out.of[i] -= planned[i];
    rest += out.of[i] * out.of[i];
  }
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    for (std::size_t p = 0; p < pairs.pairs(); ++p) {
      const auto [a, b] = pairs.from[p];
      const std::size_t axis = rope.axes.of_pair.empty() ? 0 : static_cast<std::size_t>(rope.axes.of_pair[p]);
      const double angle = expected.axes[axis][static_cast<std::size_t>(r)] * f.inv_freq[p];
      const double off = f.attention_factor * (angle_tolerance(angle, rope.base) + 0x1p-23 + samples.after_unit);
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double* x = samples.x(r, h);
        tolerated += off * off * (x[a] * x[a] + x[b] * x[b]);
      }
    }
  }
  out.worth_a_look = rest > kFarAbove * tolerated;
  return out;
}

// Of one pair of places.
struct Test {
  double along = 0.0;
  double squares = 0.0;
  double values = 0.0;

  void add(double e, double x) {
    const double product = e * x;
    along += product;
    squares += product * product;
    values += x * x;
  }
  double t() const { return squares > 0 ? std::fabs(along) / std::sqrt(squares) : 0.0; }
  double share() const { return values > 0 ? along / values : 0.0; }
};

struct Best {
  double t = 0.0;
  std::string words;
};

// Of each channel the rest against every channel of its own vector that is not of its pair.
double by_channel(const Samples& samples, const std::vector<double>& rest, const Rope& rope, Best& best) {
  const auto width = static_cast<std::size_t>(samples.channels);
  std::vector<std::size_t> partner(width);
  for (std::size_t c = 0; c < width; ++c) partner[c] = c;
  const ChannelPairs pairs = channel_pairs(rope.pairing, rope.pairing, rope.first_channel, rope.dim);
  for (const auto& [a, b] : pairs.from) {
    partner[static_cast<std::size_t>(a)] = static_cast<std::size_t>(b);
    partner[static_cast<std::size_t>(b)] = static_cast<std::size_t>(a);
  }
  const std::int64_t vectors = samples.rows() * samples.heads;
  const std::int64_t step = std::max<std::int64_t>(1, vectors * samples.channels * samples.channels / kProducts);
  std::vector<Test> tests(width * width);
  for (std::int64_t v = 0; v < vectors; v += step) {
    const double* e = rest.data() + v * samples.channels;
    const double* x = samples.before.data() + v * samples.channels;
    for (std::size_t to = 0; to < width; ++to) {
      for (std::size_t from = 0; from < width; ++from) tests[to * width + from].add(e[to], x[from]);
    }
  }
  for (std::size_t to = 0; to < width; ++to) {
    for (std::size_t from = 0; from < width; ++from) {
      const Test& test = tests[to * width + from];
      if (from == to || from == partner[to] || test.t() <= best.t) continue;
      best = {test.t(), formatted("what is left of channel {} goes with channel {} of before, {:.2g} of it", to, from,
                                  test.share())};
    }
  }
  return static_cast<double>(width * width);
}

// The rest of all channels together against the same channels of another token, or of another head.
double by_vector(const Samples& samples, const std::vector<double>& rest, Best& best) {
  double tests = 0.0;
  const auto consider = [&](const char* what, auto other) {
    Test test;
    for (std::int64_t r = 0; r < samples.rows(); ++r) {
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double* x = other(r, h);
        const double* e = rest.data() + (r * samples.heads + h) * samples.channels;
        for (std::int64_t c = 0; x != nullptr && c < samples.channels; ++c) test.add(e[c], x[c]);
      }
    }
    ++tests;
    if (test.t() > best.t) {
      best = {test.t(), formatted("what is left goes with {} of before, {:.2g} of it", what, test.share())};
    }
  };
  const auto token = [&](std::int64_t by) {
    return [&samples, by](std::int64_t r, std::int64_t h) -> const double* {
      const std::int64_t t = r % samples.tokens + by;
      return t < 0 || t >= samples.tokens ? nullptr : samples.x(r + by, h);
    };
  };
  const auto head = [&](std::int64_t by) {
    return [&samples, by](std::int64_t r, std::int64_t h) -> const double* {
      return h + by < 0 || h + by >= samples.heads ? nullptr : samples.x(r, h + by);
    };
  };
  consider("the token before", token(-1));
  consider("the token after", token(1));
  consider("the token two before", token(-2));
  consider("the token two after", token(2));
  consider("the tokens from the end", [&](std::int64_t r, std::int64_t h) -> const double* {
    const std::int64_t t = r % samples.tokens;
    const std::int64_t other = samples.tokens - 1 - t;
    return other == t ? nullptr : samples.x(r - t + other, h);
  });
  consider("the head before", head(-1));
  consider("the head after", head(1));
  return tests;
}

}  // namespace

std::optional<std::string> found_leak(const Samples& samples, const Expectation& expected) {
  if (!expected.rope || samples.channels != expected.rope->head_dim) return {};
  const Rest rest = rest_of(samples, expected);
  if (!rest.worth_a_look) return {};
  Best best;
  const double tests = by_channel(samples, rest.of, *expected.rope, best) + by_vector(samples, rest.of, best);
  if (best.t <= std::sqrt(2 * level_of(2 * tests))) return {};
  return best.words;
}

}  // namespace posenc::inline v0_2::port
