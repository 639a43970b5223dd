// What a config adds to scores: ALiBi, T5's buckets, terms of XLNet, DeBERTa, Transformer-XL, Shaw (papers: layers.h).
#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kTableSizes{1, kMaxPosition};
constexpr std::size_t kMaxParts = 8;  // there are three; each odd one is a warning

void note(ScoreTerms& terms, std::string_view field, std::string from) {
  terms.sources.push_back({formatted("score/0/{}", field), std::move(from)});
}

// ---- ALiBi ----

ScoreTerms alibi(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  ScoreTerms terms;
  const Sourced<double> bias = read_max_bias(scope);
  terms.terms = {Alibi{.heads = heads.value, .max_bias = bias.value, .form = scope.stack().score.form}};
  note(terms, "heads", heads.from);
  note(terms, "max_bias", bias.from);
  return terms;
}

// ---- T5 ----

// Half of the buckets, and of each direction's where there are two, hold one distance each; the others grow
// logarithmically up to the largest distance, so that there must be room for both.
void require_buckets(ConfigScope& scope, const T5Bias& term) {
  const std::int64_t exact = term.buckets / (term.bidirectional ? 4 : 2);
  const ErrorKind kind = ErrorKind::out_of_range;
  if (exact < 1) scope.fail(keys::kBuckets, kind, term.bidirectional ? "at least 4" : "at least 2");
  if (term.max_distance > exact) return;
  scope.fail(scope.stack().score.fixed_distance > 0 ? keys::kBuckets : keys::kMaxDistance, kind,
             "more distance than there are buckets of one distance each",
             formatted("{} such buckets, largest distance {}", exact, term.max_distance));
}

// Each direction has floor(buckets / 2) of them (num_buckets //= 2), so that an odd table has a row too many.
void warn_of_odd_buckets(ConfigScope& scope, const T5Bias& term) {
  const auto place = scope.peek(keys::kBuckets);
  if (!place || !term.bidirectional || term.buckets % 2 == 0) return;
  scope.reader().warn("odd-buckets",
                      formatted("{} is {}: each direction has {} buckets, and the last row of the table "
                                "is never used.",
                                place->from, term.buckets, term.buckets / 2),
                      {place->from});
}

// Of a decoder's module the buckets have one direction, though is_causal be false: later keys are in the first bucket.
ScoreTerms t5(ConfigScope& scope) {
  const ScoreRule& rule = scope.stack().score;
  ScoreTerms terms;
  T5Bias term{.bidirectional = scope.stack().mask.kind != MaskKind::causal,
              .table_per_layer = rule.table_per_layer,
              .gated = rule.gated};
  const Sourced<std::int64_t> buckets = scope.required_integer(keys::kBuckets, kTableSizes);
  const Sourced<std::int64_t> distance =
      rule.fixed_distance > 0 ? Sourced<std::int64_t>{rule.fixed_distance, family_default(scope.family())}
                              : scope.required_integer(keys::kMaxDistance, kTableSizes);
  term.buckets = buckets.value;
  term.max_distance = distance.value;
  require_buckets(scope, term);
  warn_of_odd_buckets(scope, term);
  note(terms, "buckets", buckets.from);
  note(terms, "max_distance", distance.from);
  note(terms, "bidirectional", family_default(scope.family()));
  terms.terms = {term};
  return terms;
}

// Each divided by sqrt(head_dim), as the content's scores are.
ScoreTerms t5_page(ConfigScope& scope) {
  const Setting<bool> in_text = scope.flag(keys::kTextDistances);
  const Setting<bool> on_page = scope.flag(keys::kPageDistances);
  ScoreTerms terms;
  if (!in_text.value.value_or(false)) return terms;
  const auto add = [&](const Key& rows, const Key& far, std::int64_t axis) {
    const Sourced<std::int64_t> buckets = scope.required_integer(rows, kTableSizes);
    const Sourced<std::int64_t> distance = scope.required_integer(far, kTableSizes);
    const T5Bias term{
        .buckets = buckets.value, .max_distance = distance.value, .bidirectional = true, .axis = axis, .scaled = true};
    require_buckets(scope, term);
    terms.sources.push_back({formatted("score/{}/buckets", axis), buckets.from});
    terms.sources.push_back({formatted("score/{}/max_distance", axis), distance.from});
    terms.terms.emplace_back(term);
  };
  add(keys::kTextBuckets, keys::kTextReach, 0);
  for (const std::int64_t axis : {1, 2}) {
    if (on_page.value.value_or(false)) add(keys::kPageBuckets, keys::kPageReach, axis);
  }
  return terms;
}

// ---- Transformer-XL, Shaw ----

// Sines of the paper's layout for every distance, past and future.
ScoreTerms conformer_terms(ConfigScope& scope) {
  ScoreTerms terms{.terms = {TransformerXl{.sinusoid = SinusoidConvention::paper}}, .sources = {}};
  note(terms, "sinusoid", family_default(scope.family()));
  return terms;
}

ScoreTerms shaw_keys(ConfigScope& scope) {
  constexpr Bounds kDistances{0, kMaxPosition};
  const Sourced<std::int64_t> left = scope.required_integer(keys::kLeftMost, kDistances);
  const Sourced<std::int64_t> right = scope.required_integer(keys::kRightMost, kDistances);
  ScoreTerms terms{.terms = {ShawKeys{left.value, right.value}}, .sources = {}};
  note(terms, "left", left.from);
  note(terms, "right", right.from);
  return terms;
}

// Rows for i - j from -r to r - 1; j - i, by which Shaw counts, goes from -(r - 1) to r.
ScoreTerms shaw_rows(ConfigScope& scope) {
  const Sourced<std::int64_t> reach = scope.required_integer(keys::kMaxRelativeRows, kTableSizes);
  ScoreTerms terms{.terms = {ShawKeys{.left = reach.value - 1, .right = reach.value}}, .sources = {}};
  note(terms, "left", reach.from);
  note(terms, "right", reach.from);
  return terms;
}

ScoreTerms shaw_both_ways(ConfigScope& scope) {
  const Sourced<std::int64_t> reach = scope.required_integer(keys::kReach, kTableSizes);
  ScoreTerms terms{.terms = {ShawKeys{.left = reach.value, .right = reach.value}}, .sources = {}};
  note(terms, "left", reach.from);
  note(terms, "right", reach.from);
  return terms;
}

// Rows for j - i from -r to r - 1.
ScoreTerms clipped_bias(ConfigScope& scope) {
  const Sourced<std::int64_t> reach = scope.required_integer(keys::kBiasReach, kTableSizes);
  ScoreTerms terms{.terms = {ClippedBias{.past = reach.value, .future = reach.value - 1}}, .sources = {}};
  note(terms, "past", reach.from);
  note(terms, "future", reach.from);
  return terms;
}

// Inkling: layers with a window have logits for all of its distances, the others for the first rel_extent.
ScoreTerms distance_logits(ConfigScope& scope) {
  const Sourced<std::int64_t> channels = scope.required_integer(keys::kLogitChannels, {1, kMaxHeadDim});
  const Sourced<std::int64_t> extent = scope.required_integer(keys::kLogitExtent, kTableSizes);
  const Sourced<std::int64_t> window = scope.required_integer(keys::kWindow, kTableSizes);
  ScoreTerms terms{.terms = {DistanceLogits{.extent = extent.value, .channels = channels.value}}, .sources = {}};
  note(terms, "extent", extent.from);
  note(terms, "channels", channels.from);
  terms.sliding = {DistanceLogits{.extent = window.value, .channels = channels.value}};
  terms.sliding_sources = {{"score/0/extent", window.from}, {"score/0/channels", channels.from}};
  return terms;
}

// ---- XLNet ----

ScoreTerms xlnet(ConfigScope& scope) {
  ScoreTerms terms;
  XlNet term;
  const Setting<std::int64_t> clamp = scope.integer(keys::kClampLength, {-1, kMaxPosition});
  if (clamp.value.value_or(0) > 0) term.clamp_length = *clamp.value;  // 0 too is "not clamped" to the class
  const Setting<bool> both = scope.flag(keys::kBothWaysData);
  term.bidirectional_data = both.value.value_or(false);
  note(terms, "clamp_length", clamp.from);
  note(terms, "bidirectional_data", both.from);
  terms.terms = {term};
  return terms;
}

// ---- DeBERTa ----

struct AttentionParts {
  bool content_to_position = false;
  bool position_to_content = false;
  std::int64_t named = 0;
  std::string from;
};

std::string trimmed_lower(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void add_part(ConfigScope& scope, const Place& place, std::string_view text, AttentionParts& parts) {
  const std::string name = trimmed_lower(text);
  if (name == "c2p") {
    parts.content_to_position = true;
  } else if (name == "p2c") {
    parts.position_to_content = true;
  } else if (name == "p2p") {
    scope.reader().warn("misleading-key", formatted("{} names p2p, which the class leaves out.", place.from),
                        {place.from});
  } else {
    scope.reader().fail(place, ErrorKind::out_of_range, "c2p and p2c");
    return;
  }
  ++parts.named;
}

// A list, or a text whose parts are separated by bars.
AttentionParts read_parts(ConfigScope& scope) {
  AttentionParts parts;
  const auto place = scope.find(keys::kPositionParts);
  if (!place) return parts;
  parts.from = place->from;
  if (place->value.kind() == io::JsonKind::string) {
    std::string_view text = place->value.text();
    for (std::size_t bar = 0; bar != std::string_view::npos; text.remove_prefix(std::min(text.size(), bar + 1))) {
      bar = text.find('|');
      add_part(scope, *place, text.substr(0, bar), parts);
    }
  } else if (const auto entries = scope.reader().list(*place)) {
    if (entries->size() > kMaxParts) {
      scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("at most {} parts", kMaxParts));
      return parts;
    }
    for (const io::JsonValue& entry : *entries) {
      const Place name{entry, entry.pointer()};
      add_part(scope, name, scope.reader().string(name).value_or("c2p"), parts);
    }
  }
  return parts;
}

// Buckets are logarithmic beyond their half, mid = B / 2: sign * ceil(ln(r / mid) / ln((M - 1) / mid) * (mid - 1)) +
// mid.
void require_logarithm(ConfigScope& scope, const Deberta& term) {
  if (term.buckets == 0) return;
  const std::int64_t mid = term.buckets / 2;
  if (mid >= 1 && term.max_distance - 1 > mid) return;
  scope.fail(keys::kPositionBuckets, ErrorKind::out_of_range,
             "at least 2, and half of it less than the largest distance - 1",
             formatted("the largest distance is {}", term.max_distance));
}

Sourced<std::int64_t> largest_distance(ConfigScope& scope, const Sourced<std::int64_t>& trained_length) {
  const Setting<std::int64_t> given = scope.integer(keys::kMaxRelative, {-kMaxPosition, kMaxPosition});
  return given.value.value_or(0) >= 1 ? Sourced<std::int64_t>{*given.value, given.from} : trained_length;
}

ScoreTerms deberta(ConfigScope& scope, const Sourced<std::int64_t>& trained_length) {
  const bool v2 = scope.stack().score.buckets;
  ScoreTerms terms;
  const AttentionParts parts = read_parts(scope);
  // v2 counts the two that it knows, v1 every name that is listed.
  const std::int64_t known = (parts.content_to_position ? 1 : 0) + (parts.position_to_content ? 1 : 0);
  terms.parts = {1 + (v2 ? known : parts.named), parts.from};
  const Setting<bool> relative = scope.flag(keys::kRelativeAttention);
  if (!relative.value.value_or(false)) return terms;

  Deberta term{.content_to_position = parts.content_to_position, .position_to_content = parts.position_to_content};
  const Sourced<std::int64_t> distance = largest_distance(scope, trained_length);
  term.max_distance = distance.value;
  note(terms, "max_distance", distance.from);
  if (v2) {
    const Setting<std::int64_t> buckets = scope.integer(keys::kPositionBuckets, {-1, kMaxPosition});
    const Setting<bool> shared = scope.flag(keys::kSharedProjection);
    term.buckets = std::max<std::int64_t>(buckets.value.value_or(0), 0);
    term.shared_projection = shared.value.value_or(false);
    note(terms, "buckets", buckets.value ? buckets.from : family_default(scope.family()));
    note(terms, "shared_projection", shared.value ? shared.from : family_default(scope.family()));
  }
  require_logarithm(scope, term);
  const std::string parts_from = parts.from.empty() ? family_default(scope.family()) : parts.from;
  note(terms, "content_to_position", parts_from);
  note(terms, "position_to_content", parts_from);
  terms.terms = {term};
  return terms;
}

}  // namespace

ScoreTerms read_score_terms(ConfigScope& scope, ScoreKind kind, const Sourced<std::int64_t>& heads,
                            const Sourced<std::int64_t>& trained_length) {
  switch (kind) {
    case ScoreKind::none: break;
    case ScoreKind::alibi: return alibi(scope, heads);
    case ScoreKind::t5: return t5(scope);
    case ScoreKind::t5_page: return t5_page(scope);
    case ScoreKind::xlnet: return xlnet(scope);
    case ScoreKind::deberta: return deberta(scope, trained_length);
    case ScoreKind::transformer_xl: return conformer_terms(scope);
    case ScoreKind::shaw: return shaw_keys(scope);
    case ScoreKind::shaw_blocks: return shaw_both_ways(scope);
    case ScoreKind::clipped: return clipped_bias(scope);
    case ScoreKind::shaw_rows: return shaw_rows(scope);
    case ScoreKind::distance_logits: return distance_logits(scope);
  }
  return {};
}

}  // namespace posenc::plan
