// How far the angles of two rotations are apart: the pair whose inv_freq differ most, the first position beyond the
// tolerance, the ratio of attention factors. And the order of rows of W_q and W_k that makes one pairing of the other.
#include <cmath>
#include <cstddef>
#include <numeric>
#include <variant>

#include "math/rope/rotation.h"
#include "plan/compare/compare.h"

namespace posenc::plan {
namespace {

constexpr double kLastPosition = 0x1p53;  // positions are exact doubles up to here

// The smallest position n with n * step > tolerance. The quotient's rounding is mended by the product itself.
std::optional<std::int64_t> first_beyond(double step, double tolerance) {
  if (!(step > 0)) return std::nullopt;
  double position = std::floor(tolerance / step);
  if (position >= kLastPosition) return std::nullopt;
  while (position > 0 && position * step > tolerance) --position;
  while (position * step <= tolerance) ++position;
  return static_cast<std::int64_t>(position);
}

struct ChangesWithLength {
  bool operator()(const std::monostate&) const { return false; }
  bool operator()(const LinearScaling&) const { return false; }
  bool operator()(const NtkScaling&) const { return false; }
  bool operator()(const DynamicScaling&) const { return true; }
  bool operator()(const QwenNtkScaling&) const { return true; }
  bool operator()(const YarnScaling&) const { return false; }
  bool operator()(const LongRopeScaling&) const { return true; }
  bool operator()(const Llama3Scaling&) const { return false; }
  bool operator()(const ProportionalScaling&) const { return false; }
  bool operator()(const FactorListScaling&) const { return false; }
};

struct Effective {
  const Rope& rope;

  Scaling operator()(const LinearScaling& s) const { return s.factor == 1 ? Scaling{} : s; }
  Scaling operator()(const NtkScaling& s) const { return s.alpha == 1 ? Scaling{} : s; }
  // 0 is how an absent beta is read.
  Scaling operator()(YarnScaling s) const {
    s.attention_factor = frequencies(rope).attention_factor;
    s.beta_fast = s.beta_fast.value_or(0) == 0 ? 32 : s.beta_fast;
    s.beta_slow = s.beta_slow.value_or(0) == 0 ? 1 : s.beta_slow;
    s.mscale = s.mscale_all_dim = std::nullopt;
    return s.factor == 1 && s.attention_factor == 1 ? Scaling{} : s;
  }
  // The factor is there for the attention factor alone.
  Scaling operator()(LongRopeScaling s) const {
    const double up_to = frequencies(rope).attention_factor;
    const double beyond = frequencies(rope, s.original_max_position_embeddings + 1).attention_factor;
    s.factor = 1;
    s.attention_factor = up_to == beyond ? std::optional(up_to) : std::nullopt;
    s.short_mscale = up_to == beyond ? std::nullopt : std::optional(up_to);
    s.long_mscale = up_to == beyond ? std::nullopt : std::optional(beyond);
    return s;
  }
  template <typename Other>
  Scaling operator()(const Other& s) const {
    return s;
  }
};

// For a sequence of `length` tokens; at the plan's own length where there is none, or where the rule breaks down there.
Frequencies frequencies_for(const Rope& rope, std::optional<std::int64_t> own_length,
                            std::optional<std::int64_t> length) {
  const bool as_asked = own_length || !length || !depends_on_length(rope.scaling) || check(rope, length);
  return frequencies(rope, as_asked ? own_length : length);
}

}  // namespace

std::optional<AngleChange> angle_change(const Rotate& a, const Rotate& b, const CompareScope& scope) {
  const Rope& of_a = rope(a);
  const Rope& of_b = rope(b);
  if (of_a.pairs() != of_b.pairs()) return std::nullopt;
  const Frequencies in_a = frequencies_for(of_a, scope.length_a, scope.length);
  const Frequencies in_b = frequencies_for(of_b, scope.length_b, scope.length);
  AngleChange change;
  change.role = a.role;
  change.pairs = of_a.pairs();
  for (std::size_t p = 0; p < in_a.inv_freq.size(); ++p) {
    const double apart = std::fabs(in_a.inv_freq[p] - in_b.inv_freq[p]);
    if (apart <= change.inv_freq_difference) continue;
    change.inv_freq_difference = apart;
    change.pair = static_cast<std::int64_t>(p);
  }
  change.first_position = first_beyond(change.inv_freq_difference, scope.tolerance);
  if (scope.length) change.end_difference = static_cast<double>(*scope.length - 1) * change.inv_freq_difference;
  change.attention_factor_ratio =
      in_a.attention_factor == in_b.attention_factor ? 1.0 : in_b.attention_factor / in_a.attention_factor;
  return change;
}

bool angles_hold(const AngleChange& change, const CompareScope& scope) {
  return !change.first_position || (scope.length && *change.first_position >= *scope.length);
}

bool factors_hold(const AngleChange& change, const CompareScope& scope) {
  return std::fabs(change.attention_factor_ratio - 1.0) <= scope.tolerance;
}

Scaling effective_scaling(const Rope& rope) { return std::visit(Effective{rope}, rope.scaling); }

bool depends_on_length(const Scaling& scaling) { return std::visit(ChangesWithLength{}, scaling); }

bool rotate_same_channels(const Rope& a, const Rope& b) {
  return a.head_dim == b.head_dim && a.first_channel == b.first_channel && a.dim == b.dim;
}

std::optional<PairingChange> pairing_change(const Rope& a, const Rope& b) {
  if (a.pairing == b.pairing || !rotate_same_channels(a, b)) return std::nullopt;
  PairingChange change;
  change.a = a.pairing;
  change.b = b.pairing;
  change.first_channel = a.first_channel;
  change.dim = a.dim;
  change.rows.resize(static_cast<std::size_t>(a.head_dim));
  std::iota(change.rows.begin(), change.rows.end(), std::int64_t{0});
  for (std::int64_t p = 0; p < a.pairs(); ++p) {
    const math::PairChannels from = math::channels_of_pair(a.pairing, a.first_channel, a.dim, p);
    const math::PairChannels to = math::channels_of_pair(b.pairing, b.first_channel, b.dim, p);
    change.rows[static_cast<std::size_t>(to.a)] = from.a;
    change.rows[static_cast<std::size_t>(to.b)] = from.b;
  }
  return change;
}

}  // namespace posenc::plan
