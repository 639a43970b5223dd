#include "reuse/layer_traits.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "reuse/scheme_traits.h"

namespace posenc::reuse {
namespace {

// Beyond it a window or a period is as good as none.
constexpr std::int64_t kMost = std::int64_t{1} << 53U;

std::int64_t common_period(std::int64_t a, std::int64_t b) {
  if (a < 1 || b < 1) return 0;
  const std::int64_t step = a / std::gcd(a, b);
  return step > kMost / b ? 0 : step * b;
}

Keeps keeps(LayerKind kind) {
  switch (kind) {
    case LayerKind::attention: return Keeps::keys;
    case LayerKind::cross_attention: return Keeps::encoder_keys;
    case LayerKind::linear_attention:
    case LayerKind::state_space:
    case LayerKind::convolution: return Keeps::state;
    case LayerKind::deformable_attention:
    case LayerKind::none: return Keeps::nothing;
  }
  return Keeps::nothing;
}

bool sees_after(const Mask& mask) {
  const bool is_cut = mask.window && mask.window->future <= 0;
  switch (mask.kind) {
    case MaskKind::causal: return false;
    case MaskKind::bidirectional:
    case MaskKind::prefix: return !is_cut;
    case MaskKind::sparse: return false;  // a decoder's indexer picks among the past
  }
  return false;
}

// Of a sparse mask keys outside a window are seen, whichever.
bool ends_with_window(const Mask& mask) { return mask.kind != MaskKind::sparse && !mask.beyond_window; }

// A window whose tokens leave the cache. Of a sparse one they do where other keys are entries made of several tokens
// (DeepSeek V4).
bool is_kept(const LayerPlan& layer) {
  return layer.mask.window && !sees_after(layer.mask) &&
         (layer.mask.kind != MaskKind::sparse || layer.compression.has_value());
}

std::optional<std::int64_t> reach_of(const LayerPlan& layer) {
  std::optional<std::int64_t> reach;
  const Mixing& mixing = layer.mixing;
  if (layer.compression || !ends_with_window(layer.mask) || !mixing.tokens_before) return reach;
  if (mixing.outputs || mixing.beside) return reach;
  if (layer.mask.window) reach = std::clamp(std::max(layer.mask.window->past, layer.mask.window->future), {}, kMost);
  if (layer.mask.chunk) reach = std::min(reach.value_or(kMost), std::clamp(*layer.mask.chunk - 1, {}, kMost));
  if (reach && *reach >= kMost - *mixing.tokens_before) reach.reset();
  if (reach) *reach += *mixing.tokens_before;
  return reach;
}

// Cross attention holds moved queries against keys that stay.
Relative relative(const LayerPlan& layer, bool rotates) {
  Relative out;
  const bool is_cross = layer.kind == LayerKind::cross_attention;
  if (is_cross && (rotates || !layer.score.empty())) return {.period = 0};
  out.period = std::visit([](const auto& s) { return region_traits(s).period; }, layer.regions);
  for (const ScoreTerm& term : layer.score) {
    if (!std::visit([](const auto& s) { return term_traits(s).relative; }, term)) out.period = 0;
  }
  if (!std::visit([](const auto& s) { return value_traits(s).relative; }, layer.value)) out.period = 0;
  const QueryTraits query = std::visit([](const auto& s) { return query_traits(s); }, layer.query_scale);
  if (query.relative) return out;
  const bool is_all = out.period == 1;  // nothing else of the layer holds a position
  return {.period = 0, .exact_below = is_all && query.one_below > 0 ? std::optional(query.one_below) : std::nullopt};
}

void add_rotations(const LayerPlan& layer, LayerTraits& to) {
  for (const Rotate& one : layer.rotate) {
    const std::optional<std::int64_t> same =
        std::visit([](const auto& rule) { return same_up_to(rule); }, rope(one).scaling);
    if (same) {
      to.by_length = true;
      to.by_each_length |= by_each_length(rope(one).scaling);
      to.same_up_to = std::min(to.same_up_to.value_or(*same), *same);
    }
    switch (one.role) {
      case RotateRole::main: to.rotates = true; break;
      case RotateRole::before_projection: to.rotated_before_projection = true; break;
      case RotateRole::indexer: to.by_index = true; break;
    }
  }
}

void add_added(const LayerPlan& layer, LayerTraits& to) {
  for (const Added& one : layer.added) {
    const InputTraits traits = std::visit([](const auto& s) { return input_traits(s); }, one.scheme);
    if (traits.neighbours > 0) {  // on both sides, and in every layer again
      to.made_of.reset();
      to.reach.reset();
    }
    if (!traits.holds_place) continue;
    switch (one.to) {
      case AddedTo::queries: break;
      case AddedTo::keys:
      case AddedTo::queries_and_keys:
      case AddedTo::keys_and_values: to.adds_to_keys = true; break;
      case AddedTo::hidden_states: to.adds_place = true; break;
    }
    to.by_position = {.period = 0};
  }
}

// A length is kept by every rotation; a weighted one, and a mean, are not.
std::optional<bool> norm_commutes(const LayerPlan& layer) {
  if (!layer.qk_norm || layer.qk_norm->order == QkNorm::Order::before) return {};
  return !layer.qk_norm->weighted && layer.qk_norm->kind != QkNorm::Kind::layer;
}

}  // namespace

Relative both(const Relative& a, const Relative& b) {
  Relative out{.period = common_period(a.period, b.period)};
  if (out.period != 0) return out;
  // Each that is of no period must be the same below a number, and each other must be the same everywhere.
  const bool a_holds = a.period == 1 || a.exact_below;
  const bool b_holds = b.period == 1 || b.exact_below;
  if (a_holds && b_holds) out.exact_below = std::min(a.exact_below.value_or(kMost), b.exact_below.value_or(kMost));
  return out;
}

LayerTraits traits_of(const LayerPlan& layer) {
  LayerTraits out{.keeps = keeps(layer.kind)};
  if (out.keeps == Keeps::nothing && layer.kind != LayerKind::deformable_attention) return out;
  if (out.keeps == Keeps::state || out.keeps == Keeps::nothing) {
    out.reach.reset();
    out.begins_apart = out.keeps == Keeps::state && layer.begins_apart;
    return out;
  }
  add_rotations(layer, out);
  out.by_position = relative(layer, out.rotates);
  if (out.rotated_before_projection) out.by_position = {.period = 0};
  // Where tokens move, the length that the last of them gives changes.
  if (out.by_each_length) out.by_position = both(out.by_position, {.period = 0, .exact_below = out.same_up_to});
  if (out.keeps == Keeps::keys) {
    out.reach = reach_of(layer);
    out.made_of = layer.mixing.tokens_before;
    out.state_beside = layer.mixing.beside.has_value();
    out.by_index |= layer.mask.by_indexer;
    if (layer.mask.by_blocks) out.by_position = {.period = 0};
    out.sees_after = sees_after(layer.mask);
    out.group = std::max(layer.compression.value_or(1), std::int64_t{1});
    out.order_period = common_period(std::max(layer.mask.chunk.value_or(1), std::int64_t{1}), out.group);
    if (is_kept(layer)) out.window = std::clamp(layer.mask.window->past, {}, kMost) + 1;
  }
  add_added(layer, out);
  out.one_rotation = std::visit([](const auto& s) { return region_traits(s).one_rotation; }, layer.regions);
  out.norm_commutes = norm_commutes(layer);
  for (const ScoreTerm& term : layer.score) {
    const TermTraits traits = std::visit([](const auto& s) { return term_traits(s); }, term);
    out.gates |= traits.gates;
    out.terms_read_keys |= traits.reads_keys;
  }
  return out;
}

}  // namespace posenc::reuse
