// fp8 or int8 with a scale of the tensor, of each head, channel, token or block of channels (vLLM, TensorRT-LLM,
// SGLang; OCP MX): an element is stored as
//
//   s L,   L of few significant bits (e4m3 four, e5m2 three, e2m1 two: arXiv 2209.05433), or an integer up to 255
//
// and s, which no dump holds, is m / L of the largest element m of what shares it: up to a power of two one of
// 2^(bits-1). A right port's element, as float64 makes it, is then at most half a step from the stored one, and what
// its own rounding does besides. What moves elements by more is no step's doing, and stays a fault.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "diagnose/channel_pairs.h"
#include "diagnose/hypothesis.h"
#include "diagnose/noise.h"
#include "diagnose/planned_rotation.h"
#include "diagnose/precision/stored_levels.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr int kBitsOfIntegers = 53;  // as many as doubles have: integers have one step
constexpr std::array<int, 4> kBits{2, 3, 4, kBitsOfIntegers};
constexpr int kMostInteger = 255;  // eight bits with a zero point at one end
// The largest of what shares a scale, another element, and their quotient: a unit each.
constexpr double kOfQuotient = 3.0;
// Of a table, products and their sum each, of at most |x_a cos| + |x_b sin| <= |x|.
constexpr double kOfRotated = 3.0;
constexpr std::array<std::int64_t, 4> kBlockSizes{128, 64, 32, 16};

// Elements that share a scale: i of group n stands at (i / run) between + n run + i mod run.
struct Groups {
  std::string_view of;
  std::int64_t groups, run, between;

  std::size_t at(std::int64_t n, std::int64_t i) const {
    return static_cast<std::size_t>(i / run * between + n * run + i % run);
  }
};

std::vector<Groups> groups_of(const Samples& samples) {
  const std::int64_t token = samples.heads * samples.channels;
  const std::int64_t all = samples.rows() * token;
  std::vector<Groups> out{{"of all", 1, all, all},
                          {"of each head", samples.heads, samples.channels, token},
                          {"of each channel", token, 1, token},
                          {"of each token", samples.rows(), token, all},
                          {"of each token and head", samples.rows() * samples.heads, samples.channels, all}};
  for (const std::int64_t block : kBlockSizes) {
    if (block >= samples.channels || samples.channels % block != 0) continue;
    out.push_back({"of each block of channels", all / block, block, all});
  }
  return out;
}

struct LevelSteps {
  double scale = 0.0;
  double least = 0.0;  // the last place below which no element has any
  int bits = 0;
  double off = 0.0;  // of a quotient, relative

  // Where x is a power of two, above it.
  double at(double x) const {
    const double place = x == 0 ? 0.0 : std::ldexp(scale, std::ilogb(x / scale * (1 + off)) - bits + 1);
    return std::max(place, least);
  }
};

// Elements of a group, as they were stored.
using Stored = std::vector<double>;

// The steps that all of them lie on with this scale. `sure`: -ln of how often others would by chance; NaN: they do not.
double sure_of(const Stored& stored, LevelSteps& steps) {
  double sure = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (const double y : stored) {
    if (y == 0) continue;
    const double place = steps.bits == kBitsOfIntegers ? steps.scale : steps.at(y);
    const double quotient = std::fabs(y) / place;
    const double whole = std::nearbyint(quotient);
    const double off = steps.off * quotient;
    if (std::fabs(quotient - whole) > off) return std::numeric_limits<double>::quiet_NaN();
    sure -= std::log(std::min(1.0, 2 * off));
    const auto last = static_cast<double>(static_cast<std::int64_t>(whole) & -static_cast<std::int64_t>(whole));
    least = std::min(least, place * last);
  }
  steps.least = steps.bits == kBitsOfIntegers ? steps.scale : least;
  return sure;
}

// Numbers of so many bits, or integers, that the largest may be.
struct Largest {
  int from, to;
};
Largest largest_of(int bits) {
  return bits == kBitsOfIntegers ? Largest{1, kMostInteger} : Largest{1 << (bits - 1), (1 << bits) - 1};
}

enum class Lies { on_steps, on_none, cannot_tell };

Lies steps_of(const Stored& stored, int bits, double unit, LevelSteps& steps) {
  double most = 0.0;
  for (const double y : stored) most = std::max(most, std::fabs(y));
  const auto [from, to] = largest_of(bits);
  const double wanted = level_of(to - from + 1);
  bool open = most == 0;
  for (int number = from; number <= to; ++number) {
    steps = {.scale = most / number, .bits = bits, .off = kOfQuotient * unit};
    const double sure = sure_of(stored, steps);
    if (sure >= wanted) return Lies::on_steps;
    open = open || !std::isnan(sure);
  }
  return open ? Lies::cannot_tell : Lies::on_none;
}

// The plan's elements, and how far a right port's may be from them before they are stored.
struct PlannedElements {
  std::vector<double> values;
  std::vector<double> off;
};

PlannedElements planned_of(const Samples& samples, const Expectation& expected) {
  const Rope& rope = *expected.rope;
  const Frequencies f = frequencies(rope, expected.length);
  const ChannelPairs pairs = channel_pairs(rope.pairing, rope.pairing, rope.first_channel, rope.dim);
  const double unit = std::max(samples.before_unit, 0x1p-24);
  PlannedElements out{rotated_as_planned(samples, samples.before, expected, Way::forth), samples.before};
  for (double& x : out.off) x = unit * std::fabs(x);
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    for (std::size_t p = 0; p < pairs.pairs(); ++p) {
      const auto [a, b] = pairs.from[p];
      const std::size_t axis = rope.axes.of_pair.empty() ? 0 : static_cast<std::size_t>(rope.axes.of_pair[p]);
      const double angle = expected.axes[axis][static_cast<std::size_t>(r)] * f.inv_freq[p];
      const double share = f.attention_factor * (angle_tolerance(angle, rope.base) + kOfRotated * unit);
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const double* const x = samples.x(r, h);
        double* const off = out.off.data() + (r * samples.heads + h) * samples.channels;
        off[a] = off[b] = share * std::hypot(x[a], x[b]);
      }
    }
  }
  return out;
}

enum class InSteps { none, stored_alone, plan_too };

// Whether nine of ten groups lie on steps, none on others, and the plan's elements within half a step of them all.
InSteps how_in_steps(const Samples& samples, const PlannedElements& planned, const Groups& groups, int bits) {
  const std::int64_t size = std::ssize(samples.after) / groups.groups;
  std::int64_t told = 0;
  bool is_plan = true;
  Stored stored(static_cast<std::size_t>(size));
  for (std::int64_t n = 0; n < groups.groups; ++n) {
    for (std::int64_t i = 0; i < size; ++i) stored[static_cast<std::size_t>(i)] = samples.after[groups.at(n, i)];
    LevelSteps steps;
    const Lies lies = steps_of(stored, bits, samples.after_unit, steps);
    if (lies == Lies::on_none) return InSteps::none;
    if (lies == Lies::cannot_tell) continue;
    ++told;
    for (std::int64_t i = 0; i < size && is_plan; ++i) {
      const std::size_t at = groups.at(n, i);
      const double y = samples.after[at];
      const double may = steps.at(y) / 2 + planned.off[at] + samples.after_unit * std::fabs(y);
      is_plan = std::fabs(planned.values[at] - y) <= may;
    }
  }
  if (10 * told < 9 * groups.groups) return InSteps::none;
  return is_plan ? InSteps::plan_too : InSteps::stored_alone;
}

}  // namespace

std::optional<std::string> stored_within_steps(const Samples& samples, const Expectation& expected, bool is_soft) {
  if (!expected.rope) return {};
  const PlannedElements planned = planned_of(samples, expected);
  const std::vector<Groups> all = groups_of(samples);
  const bool by_steps_alone = is_soft && expected.counted && !expected.start_known;
  for (const int bits : kBits) {
    for (const Groups& groups : all) {
      const InSteps in = how_in_steps(samples, planned, groups, bits);
      if (in == InSteps::none || (in == InSteps::stored_alone && !by_steps_alone)) continue;
      const std::string levels =
          bits == kBitsOfIntegers ? "integers" : formatted("numbers of {} significant bits", bits);
      return formatted("elements come out in few levels, {} times a scale {}{}", levels, groups.of,
                       in == InSteps::plan_too ? ", and the plan's are within half a step of them" : "");
    }
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
