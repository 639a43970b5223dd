#include "diagnose/slips.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "diagnose/noise.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

// [[aa, ab], [ba, bb]] of a pair: a' = aa a + ab b, b' = ba a + bb b.
struct Matrix {
  double aa, ab, ba, bb;
};

struct Angles {
  double cos_a, sin_a;  // of the pair's first channel
  double cos_b, sin_b;
  double factor;  // the plan's, that all four were multiplied by
};

// Whose channels pair, and in whose order cos and sin stand.
enum class Order : std::uint8_t { own, other_angles, other_channels };

struct Slip {
  PortFact fact;
  const char* found;
  const char* mend;
  Order order;
  Matrix (*matrix)(const Angles&);
  double beside = 1.0;  // times channels that do not rotate
};

constexpr const char* kPair = "(a cos - b sin, b cos + a sin): check it line by line";

const std::array<Slip, 13>& slips() {
  static const std::array<Slip, 13> all{{
      {PortFact::rotation, "rotate_half without its minus: (a cos + b sin, b cos + a sin)",
       "rotate_half makes (-b, a) of (a, b)", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a, x.sin_a, x.sin_b, x.cos_b};
       }},
      {PortFact::rotation, "rotate_half with a minus too many: (a cos - b sin, b cos - a sin)",
       "rotate_half makes (-b, a) of (a, b)", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a, -x.sin_a, -x.sin_b, x.cos_b};
       }},
      {PortFact::rotation, "in place: the second channel is made of the first one's new value",
       "keep the first channel's old value until the second one is made", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a, -x.sin_a, x.sin_b * x.cos_a, x.cos_b - x.sin_b * x.sin_a};
       }},
      {PortFact::rotation, "in place: the first channel is made of the second one's new value",
       "keep the second channel's old value until the first one is made", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a - x.sin_a * x.sin_b, -x.sin_a * x.cos_b, x.sin_b, x.cos_b};
       }},
      {PortFact::rotation, "cos and sin exchanged", kPair, Order::own,
       [](const Angles& x) {
         return Matrix{x.sin_a, -x.cos_a, x.cos_b, x.sin_b};
       }},
      {PortFact::rotation, "the sine terms left out: x cos alone", kPair, Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a, 0.0, 0.0, x.cos_b};
       }},
      {PortFact::rotation, "the cosine terms left out: rotate_half(x) sin alone", kPair, Order::own,
       [](const Angles& x) {
         return Matrix{0.0, -x.sin_a, x.sin_b, 0.0};
       }},
      {PortFact::rotation, "added to x instead of put in its place", "give on what the rotation makes, not x beside it",
       Order::own,
       [](const Angles& x) {
         return Matrix{1 + x.cos_a, -x.sin_a, x.sin_b, 1 + x.cos_b};
       }},
      {PortFact::rotation, "added to x instead of put in its place, the channels that do not rotate too",
       "give on what the rotation makes, not x beside it", Order::own,
       [](const Angles& x) {
         return Matrix{1 + x.cos_a, -x.sin_a, x.sin_b, 1 + x.cos_b};
       },
       2.0},
      {PortFact::attention_factor, "on cos alone", "multiply sin by the attention factor too", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a, -x.sin_a / x.factor, x.sin_b / x.factor, x.cos_b};
       }},
      {PortFact::attention_factor, "on sin alone", "multiply cos by the attention factor too", Order::own,
       [](const Angles& x) {
         return Matrix{x.cos_a / x.factor, -x.sin_a, x.sin_b, x.cos_b / x.factor};
       }},
      {PortFact::pairing, "cos and sin in the order of the other pairing: each channel has another pair's angle",
       "cat((freqs, freqs)) goes with rotate_half, repeat_interleave(2) with neighbours", Order::other_angles,
       [](const Angles& x) {
         return Matrix{x.cos_a, -x.sin_a, x.sin_b, x.cos_b};
       }},
      {PortFact::pairing, "channels paired the other way, with cos and sin in the order of the plan's pairing",
       "cat((freqs, freqs)) goes with rotate_half, repeat_interleave(2) with neighbours", Order::other_channels,
       [](const Angles& x) {
         return Matrix{x.cos_a, -x.sin_a, x.sin_b, x.cos_b};
       }},
  }};
  return all;
}

// The pair whose angle a channel of the rotated ones has.
std::size_t pair_of(std::size_t channel, std::size_t pairs, Pairing pairing) {
  return pairing == Pairing::half ? channel % pairs : channel / 2;
}

struct Pair {
  std::size_t a, b;              // channels of the head
  std::size_t angle_a, angle_b;  // pairs of the plan whose angles they have
};

struct Layout {
  std::array<std::vector<Pair>, 3> pairs;  // by Order
  std::vector<double> inv_freq;
  std::vector<std::size_t> axis;  // of each pair of the plan
  double factor = 1.0;
  double base = 1e6;
  std::vector<std::size_t> beside;  // channels that do not rotate
};

Layout layout_of(const Expectation& expected, std::int64_t channels) {
  const Rope& rope = *expected.rope;
  const Frequencies f = frequencies(rope, expected.length);
  Layout out{.inv_freq = f.inv_freq, .factor = f.attention_factor, .base = rope.base};
  const auto count = static_cast<std::size_t>(rope.pairs());
  const auto first = static_cast<std::size_t>(rope.first_channel);
  const Pairing own = rope.pairing;
  const Pairing other = own == Pairing::half ? Pairing::interleaved : Pairing::half;
  const auto add = [&](Order order, Pairing channels_of, Pairing angles_of) {
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t a = channels_of == Pairing::half ? p : 2 * p;
      const std::size_t b = channels_of == Pairing::half ? p + count : 2 * p + 1;
      out.pairs[static_cast<std::size_t>(order)].push_back(
          {first + a, first + b, pair_of(a, count, angles_of), pair_of(b, count, angles_of)});
    }
  };
  add(Order::own, own, own);
  add(Order::other_angles, own, other);
  add(Order::other_channels, other, own);
  for (std::size_t p = 0; p < count; ++p) {
    out.axis.push_back(rope.axes.of_pair.empty() ? 0 : static_cast<std::size_t>(rope.axes.of_pair[p]));
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    if (c < first || c >= first + 2 * count) out.beside.push_back(c);
  }
  return out;
}

// Rows at most, evenly and the last among them: thirteen matrices of each of 64 tokens of 32 heads take 0.1 s.
constexpr std::int64_t kRows = 64;

std::vector<std::int64_t> looked_at(const Samples& samples) {
  std::vector<std::int64_t> out;
  const std::int64_t count = std::min(samples.rows(), kRows);
  for (std::int64_t n = 0; n < count; ++n) out.push_back(samples.rows() - 1 - n * samples.rows() / count);
  return out;
}

// Of each pair, what the best matrix of each token leaves over the heads; nothing of fewer than three heads.
std::vector<double> measured_noise(const Samples& samples, const std::vector<std::int64_t>& rows,
                                   const std::vector<Pair>& pairs) {
  std::vector<double> out;
  if (samples.heads < 3) return out;
  for (const Pair& pair : pairs) {
    double rest = 0.0;
    for (const std::int64_t r : rows) {
      double aa = 0, ab = 0, bb = 0;
      std::array<double, 2> ya{}, yb{}, yy{};
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double a = samples.x(r, h)[pair.a];
        const double b = samples.x(r, h)[pair.b];
        const std::array<double, 2> y{samples.y(r, h)[pair.a], samples.y(r, h)[pair.b]};
        aa += a * a;
        ab += a * b;
        bb += b * b;
        for (std::size_t i = 0; i < 2; ++i) {
          ya[i] += y[i] * a;
          yb[i] += y[i] * b;
          yy[i] += y[i] * y[i];
        }
      }
      const double det = aa * bb - ab * ab;
      if (!(det > 1e-12 * aa * bb)) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        rest += std::max(0.0, yy[i] - (ya[i] * ya[i] * bb - 2 * ya[i] * yb[i] * ab + yb[i] * yb[i] * aa) / det);
      }
    }
    out.push_back(rest / (2.0 * static_cast<double>((samples.heads - 2) * std::ssize(rows))));
  }
  return out;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Judgement {
  double rest = 0.0;
  bool holds = false;
};

// `slip`: null, the rotation itself.
Judgement judged(const Samples& samples, const std::vector<std::int64_t>& rows, const Layout& layout,
                 const Expectation& expected, const Slip* slip, double noise) {
  struct Sums {
    double rest = 0.0, tolerated = 0.0, rounding = 0.0;
  };
  const double of_beside = slip != nullptr ? slip->beside : 1.0;
  const std::vector<Pair>& channels =
      layout.pairs[static_cast<std::size_t>(slip != nullptr ? slip->order : Order::own)];
  std::vector<Sums> pairs(channels.size());
  Sums all;
  for (const std::int64_t r : rows) {
    const auto angle = [&](std::size_t p) {
      return expected.axes[layout.axis[p]][static_cast<std::size_t>(r)] * layout.inv_freq[p];
    };
    for (std::size_t p = 0; p < channels.size(); ++p) {
      const Pair& pair = channels[p];
      const double of_a = angle(pair.angle_a);
      const double of_b = angle(pair.angle_b);
      const Angles x{layout.factor * std::cos(of_a), layout.factor * std::sin(of_a), layout.factor * std::cos(of_b),
                     layout.factor * std::sin(of_b), layout.factor};
      const Matrix m = slip != nullptr ? slip->matrix(x) : Matrix{x.cos_a, -x.sin_a, x.sin_b, x.cos_b};
      const double off =
          angle_tolerance(std::max(std::fabs(of_a), std::fabs(of_b)), layout.base) + 0x1p-23 + samples.after_unit;
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double a = samples.x(r, h)[pair.a];
        const double b = samples.x(r, h)[pair.b];
        const double ya = samples.y(r, h)[pair.a] - (m.aa * a + m.ab * b);
        const double yb = samples.y(r, h)[pair.b] - (m.ba * a + m.bb * b);
        for (Sums* sums : {&pairs[p], &all}) {
          sums->rest += ya * ya + yb * yb;
          // Products of two sines among the entries: three times the error of one, and twice the factor.
          sums->tolerated += 9 * off * off * layout.factor * layout.factor * (a * a + b * b);
          sums->rounding +=
              rounding_variance(samples.after_unit, samples.y(r, h)[pair.a] * samples.y(r, h)[pair.a] +
                                                        samples.y(r, h)[pair.b] * samples.y(r, h)[pair.b]);
        }
      }
    }
    for (const std::size_t c : layout.beside) {
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double change = samples.y(r, h)[c] - of_beside * samples.x(r, h)[c];
        all.rest += change * change;
        all.rounding += rounding_variance(samples.after_unit, samples.y(r, h)[c] * samples.y(r, h)[c]);
      }
    }
  }
  const double t = level_of(static_cast<double>(pairs.size()) + 1);
  const double elements = static_cast<double>(std::ssize(rows) * samples.heads);
  const auto holds = [&](const Sums& sums, double count) {
    Variances variances;
    variances.add(noise, count);
    // A noise that was measured is off by its own error, and varies by four within a power of two where it is rounding.
    const double allowed = std::sqrt(4 * variances.bound(t) + 4 * sums.rounding) + std::sqrt(sums.tolerated);
    return sums.rest <= allowed * allowed;
  };
  // Of two heads the best matrix leaves nothing: then the noise is what is left itself, which has to be alike in all
  // pairs.
  const double own = all.rest / std::max(1.0, elements * static_cast<double>(samples.channels));
  if (samples.heads < 3 && elements >= 4) noise = std::max(noise, own);
  Judgement out{all.rest, holds(all, elements * static_cast<double>(samples.channels))};
  for (const Sums& sums : pairs) out.holds = out.holds && holds(sums, 2 * elements);
  return out;
}

}  // namespace

FoundSlips found_slips(const Samples& samples, const Expectation& expected) {
  FoundSlips out;
  if (!expected.rope || samples.channels != expected.rope->head_dim) return out;
  const Layout layout = layout_of(expected, samples.channels);
  const std::vector<std::int64_t> rows = looked_at(samples);
  double energy = 0.0;
  for (const std::int64_t r : rows) {
    for (std::int64_t i = 0; i < samples.heads * samples.channels; ++i)
      energy += samples.y(r, 0)[i] * samples.y(r, 0)[i];
  }
  if (!(energy > 0)) return out;
  const auto elements = static_cast<double>(rows.size()) * static_cast<double>(samples.heads * samples.channels);
  std::array<double, 3> noise{};
  for (const Order order : {Order::own, Order::other_angles, Order::other_channels}) {
    const auto o = static_cast<std::size_t>(order);
    noise[o] = median_of(measured_noise(samples, rows, layout.pairs[o]));
  }
  // At one position, and at 0, most slips are the same: the rotation itself must be out.
  const Judgement plan = judged(samples, rows, layout, expected, nullptr, noise.front());
  std::vector<std::pair<double, const Slip*>> held;
  for (const Slip& slip : slips()) {
    if (slip.beside != 1.0 && layout.beside.empty()) continue;
    const double of_order = noise[static_cast<std::size_t>(slip.order)];
    const Judgement found = judged(samples, rows, layout, expected, &slip, of_order);
    out.share = std::min(out.share, found.rest / energy);
    // Beyond so much noise a matrix of each token explains what it likes.
    if (std::max(of_order * elements, found.rest) > energy / 16) continue;
    // A quarter of hundreds of squares is no chance.
    if (found.holds && found.rest < plan.rest / (elements >= 256 ? 4 : 16)) held.emplace_back(found.rest, &slip);
  }
  if (held.empty()) return out;
  std::ranges::sort(held, {}, &std::pair<double, const Slip*>::first);
  for (const auto& [rest, slip] : held) {
    if (rest > 4 * held.front().first) break;
    const bool of_factor = slip->fact == PortFact::attention_factor;
    out.named.push_back(
        {slip->fact, slip->found, of_factor ? "on cos and sin" : "(a cos - b sin, b cos + a sin)", slip->mend});
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
