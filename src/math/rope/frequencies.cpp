// frequencies() of posenc/rope.h: checks a Rope, applies its scaling rule (scaling_rules.h) in double or in Hugging
// Face's float steps, checks the result, and negates it for clockwise rotation.
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/layout.h"
#include "math/rope/scaling_rules.h"
#include "posenc/rope.h"

namespace posenc::inline v0_2 {
namespace {

// Everything that can be said before a frequency is computed.
std::optional<Problem> check_parameters(const Rope& rope) {
  const RotaryLayout layout{rope.pairing, rope.head_dim, rope.first_channel, rope.dim, rope.axes};
  if (auto problem = math::check_layout(layout)) return problem;
  // 0 divides, a negative base is a complex frequency, and below 1 the ladder would climb.
  if (!std::isfinite(rope.base) || rope.base < 1) {
    return Problem{"base", "be a finite number of at least 1", formatted("{}", rope.base)};
  }
  switch (rope.axis_frequencies) {
    case AxisFrequencies::shared: break;
    case AxisFrequencies::per_axis:
    case AxisFrequencies::strided:
      if (auto problem = math::check_shares(layout, rope.axis_frequencies == AxisFrequencies::per_axis)) return problem;
      break;
    default:
      return Problem{"axis_frequencies", "be shared, per_axis or strided",
                     formatted("{}", static_cast<int>(rope.axis_frequencies))};
  }
  switch (rope.rotation_direction) {
    case RotationDirection::counterclockwise:
    case RotationDirection::clockwise: break;
    default:
      return Problem{"rotation_direction", "be counterclockwise or clockwise",
                     formatted("{}", static_cast<int>(rope.rotation_direction))};
  }
  return std::visit([&](const auto& rule) { return math::check_rule(rope, rule); }, rope.scaling);
}

template <typename Real>
Frequencies scaled(const Rope& rope, math::Length length) {
  const auto result = std::visit([&](const auto& rule) { return math::scale<Real>(rope, rule, length); }, rope.scaling);
  return {{result.inv_freq.begin(), result.inv_freq.end()}, result.attention_factor};
}

Frequencies computed(const Rope& rope, math::Length length, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact ? scaled<double>(rope, length) : scaled<float>(rope, length);
}

// Tables and attention take no frequency beyond this: position 1 is then an angle beyond all whole numbers of a double.
constexpr double kLargestFrequency = 0x1p53;

// Parameters that are sound one by one may still overflow together, or in float alone. A frequency of 0 is a pair that
// silently stopped, unless the rule stops it.
std::optional<Problem> check_values(const Rope& rope, const Frequencies& frequencies, Arithmetic arithmetic) {
  const std::string_view in = arithmetic == Arithmetic::exact ? "double" : "float";
  const auto* proportional = std::get_if<ProportionalScaling>(&rope.scaling);
  const std::size_t rotating = proportional == nullptr
                                   ? frequencies.inv_freq.size()
                                   : static_cast<std::size_t>(math::rotated_pairs(rope, *proportional));
  for (std::size_t p = 0; p < rotating; ++p) {
    const double value = frequencies.inv_freq[p];
    if (value > 0 && value <= kLargestFrequency) continue;
    return Problem{formatted("inv_freq[{}]", p), "come out above 0 and at most 2^53",
                   formatted("{} in {} arithmetic with base {} and dim {}", value, in, rope.base, rope.dim)};
  }
  if (auto problem = math::check_not_negative("attention_factor", frequencies.attention_factor)) return problem;
  return math::check_float("attention_factor", frequencies.attention_factor);
}

// One more than a length, where there is one.
std::int64_t longer(std::int64_t length) {
  return length == std::numeric_limits<std::int64_t>::max() ? length : length + 1;
}

}  // namespace

std::optional<Problem> check(const Rope& rope, std::optional<std::int64_t> length) {
  if (length) {
    if (auto problem = math::check_at_least("length", *length, 1)) return problem;
  }
  if (auto problem = check_parameters(rope)) return problem;
  if (auto problem = check_values(rope, computed(rope, {}, Arithmetic::exact), Arithmetic::exact)) return problem;
  // Without a length a rule of two lists takes the first; both have to do.
  if (const auto* lists = std::get_if<LongRopeScaling>(&rope.scaling)) {
    const Frequencies beyond = computed(rope, longer(lists->original_max_position_embeddings), Arithmetic::exact);
    if (auto problem = check_values(rope, beyond, Arithmetic::exact)) return problem;
  }
  return length ? check_values(rope, computed(rope, length, Arithmetic::exact), Arithmetic::exact) : std::nullopt;
}

Frequencies frequencies(const Rope& rope, std::optional<std::int64_t> length, Arithmetic arithmetic) {
  if (auto problem = check(rope, length)) throw Error("frequencies", *problem);
  Frequencies result = computed(rope, length, arithmetic);
  if (auto problem = check_values(rope, result, arithmetic)) throw Error("frequencies", *problem);
  if (rope.rotation_direction == RotationDirection::clockwise) {
    for (double& value : result.inv_freq) value = 0.0 - value;  // a pair that does not rotate has 0 either way, not -0
  }
  return result;
}

}  // namespace posenc::inline v0_2
