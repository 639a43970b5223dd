#include "report/reach.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <variant>

namespace posenc::report {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
// Of a length where a file says none.
constexpr std::int64_t kUsualLength = 4096;
// Angles are compared, not computed to the last bit: equal lengths give equal angles.
constexpr double kSlack = 1e-9;

// The longest that the rule says it stretches to; 0: it says none.
std::int64_t stretched_length(const Rope& rope) {
  const auto* const yarn = std::get_if<YarnScaling>(&rope.scaling);
  if (yarn == nullptr) return 0;
  const double length = yarn->factor * static_cast<double>(yarn->original_max_position_embeddings);
  return length < 0x1p53 ? std::llround(length) : 0;
}

struct Before {
  std::optional<std::int64_t> trained;

  std::optional<std::int64_t> operator()(const DynamicScaling& s) const { return s.max_position_embeddings; }
  std::optional<std::int64_t> operator()(const QwenNtkScaling& s) const { return s.seq_length; }
  std::optional<std::int64_t> operator()(const YarnScaling& s) const { return s.original_max_position_embeddings; }
  std::optional<std::int64_t> operator()(const LongRopeScaling& s) const { return s.original_max_position_embeddings; }
  std::optional<std::int64_t> operator()(const Llama3Scaling& s) const { return s.original_max_position_embeddings; }
  std::optional<std::int64_t> operator()(const LinearScaling&) const { return {}; }
  std::optional<std::int64_t> operator()(const NtkScaling&) const { return {}; }
  std::optional<std::int64_t> operator()(const ProportionalScaling& s) const {
    return s.factor == 1.0 ? trained : std::nullopt;
  }
  std::optional<std::int64_t> operator()(const FactorListScaling&) const { return {}; }
  std::optional<std::int64_t> operator()(std::monostate) const { return trained; }
};

}  // namespace

Frequencies frequencies_at(const Rope& rope, std::int64_t length) {
  return check(rope, length) ? frequencies(rope) : frequencies(rope, length);
}

std::vector<std::int32_t> pairs_beyond(const std::vector<double>& inv_freq, double length,
                                       const std::vector<double>& trained_inv_freq, double before) {
  std::vector<std::int32_t> out;
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    const double seen = before * std::abs(trained_inv_freq[p]);
    if (seen < kTurn && length * std::abs(inv_freq[p]) > seen * (1.0 + kSlack)) {
      out.push_back(static_cast<std::int32_t>(p));
    }
  }
  return out;
}

Lengths lengths_of(const Plan& plan, std::optional<std::int64_t> asked) {
  Lengths out;
  out.trained = plan.trained_length;
  if (!asked) asked = plan.length;
  out.is_asked = asked.has_value();
  out.target = plan.trained_length.value_or(0);
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) out.target = std::max(out.target, stretched_length(rope(rotate)));
    }
  }
  if (out.target == 0) out.target = kUsualLength;
  if (asked) out.target = *asked;
  return out;
}

std::optional<std::int64_t> length_before_scaling(const Rope& rope, std::optional<std::int64_t> trained) {
  return std::visit(Before{trained}, rope.scaling);
}

std::int64_t span_of(const LayerPlan& layer, std::int64_t length) {
  // What it sees beside its window may be as far as the text is long.
  if (layer.mask.kind == MaskKind::sparse || layer.compression) return length;
  if (layer.mask.window) length = std::min(length, std::max(layer.mask.window->past, layer.mask.window->future) + 1);
  if (layer.mask.chunk) length = std::min(length, *layer.mask.chunk);
  return length;
}

bool is_stretched(const Rope& rope) {
  const auto* const proportional = std::get_if<ProportionalScaling>(&rope.scaling);
  return proportional != nullptr ? proportional->factor != 1.0 : !std::holds_alternative<std::monostate>(rope.scaling);
}

bool turn_alike(double a, double b) {
  constexpr double kAlike = 1e-3;
  return std::abs(a - b) <= kAlike * std::max(std::abs(a), std::abs(b));
}

Slowing slowing(const Frequencies& was, const Frequencies& is) {
  Slowing out;
  double fastest = 0.0;
  for (std::size_t p = 0; p < was.inv_freq.size(); ++p) {
    const double before = std::abs(was.inv_freq[p]);
    const double now = std::abs(is.inv_freq[p]);
    if (before == 0.0 || now == 0.0) continue;
    const bool alike = turn_alike(before, now);
    const double ratio = alike ? 1.0 : before / now;
    ++out.pairs;
    if (alike) ++out.alike;
    out.most = std::max(out.most, ratio);
    out.least = std::min(out.least, ratio);
    if (before > fastest) {
      fastest = before;
      out.fastest = ratio;
    }
  }
  const double factor = is.attention_factor / was.attention_factor;
  if (std::abs(factor - 1.0) > 1e-9) out.of_scores = factor * factor;
  return out;
}

Reach reach_of(const Rope& rope, const Lengths& lengths, const LayerPlan& layer) {
  Reach out;
  out.length = lengths.target;
  out.span = span_of(layer, lengths.target);
  Rope plain = rope;
  // Without p-RoPE other pairs would rotate.
  if (!std::holds_alternative<ProportionalScaling>(rope.scaling)) plain.scaling = std::monostate{};
  out.now = frequencies_at(rope, lengths.target);
  out.plain = frequencies_at(plain, lengths.target);
  out.before = length_before_scaling(rope, lengths.trained);
  if (out.before && is_rotated_by_time(rope)) {
    const auto span = static_cast<double>(out.span);
    const auto before = static_cast<double>(*out.before);
    out.unseen = pairs_beyond(out.now.inv_freq, span, out.plain.inv_freq, before);
    out.unseen_if_plain = pairs_beyond(out.plain.inv_freq, span, out.plain.inv_freq, before);
  }
  return out;
}

std::vector<double> wavelengths_of(const std::vector<double>& inv_freq) {
  std::vector<double> out;
  out.reserve(inv_freq.size());
  for (const double w : inv_freq) {
    out.push_back(w == 0.0 ? std::numeric_limits<double>::infinity() : kTurn / std::abs(w));
  }
  return out;
}

bool is_rotated_by_time(const Rope& rope) { return std::ranges::find(rope.axes.names, "t") != rope.axes.names.end(); }

}  // namespace posenc::report
