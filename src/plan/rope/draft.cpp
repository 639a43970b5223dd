// The RoPE of a layer: channels, base (find_local_base: of sliding layers in families with a rope per layer type),
// scaling rule, axes; checked as a whole, and what breaks a rule is an error at its key.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/rope/rope.h"

namespace posenc::plan {
namespace {

constexpr double kChatglmBase = 10000.0;  // the constant of its remote code, times rope_ratio

// ---- how many channels rotate ----

constexpr std::string_view kPart = "partial_rotary_factor";

// The number beside the dictionaries that transformers' classes put into one which has none, though no class says so
// (standardize_rope_params).
std::optional<Place> find_factor_beside(RopeKeys& keys) {
  auto place = keys.scope().look(kPart);
  if (!place || place->value.is_null()) return {};
  keys.reader().mark_read(*place);
  return place;
}

// The factor of a list with one for each layer comes before the one of all.
std::optional<Place> find_factor(RopeKeys& keys, const LayerTraits& layer) {
  const bool has_lists = keys.scope().family().rope_lists;
  const auto listed = has_lists ? keys.scope().find(keys::kPartialFactors) : std::nullopt;
  if (listed) return entry_of_layer(keys.scope(), *listed, layer.list_entry, keys.layers());
  auto place = keys.find(kPart, keys::kPartialFactor);
  // Step 3.5's class makes its list without it.
  return place || has_lists || !keys.scope().has_class() ? place : find_factor_beside(keys);
}

Sourced<std::int64_t> whole_head(const AttentionShape& shape) {
  return {shape.rotary_width.value, "default: the whole head"};
}

Sourced<std::int64_t> part_of_head(RopeKeys& keys, const LayerTraits& layer, const AttentionShape& shape) {
  const auto place = find_factor(keys, layer);
  if (!place) return whole_head(shape);
  keys.note("dim", *place);
  const double factor = keys.reader().number(*place).value_or(1.0);
  const std::int64_t width = shape.rotary_width.value;
  const double channels = std::trunc(static_cast<double>(width) * factor);
  const std::string arithmetic = formatted("trunc({} x {}) = {} channels", width, factor, channels);
  if (factor < 0 || channels > static_cast<double>(width)) {
    keys.reader().fail(*place, ErrorKind::out_of_range, "a number from 0 to 1", arithmetic);
  } else if (std::fmod(channels, 2.0) != 0) {
    keys.reader().fail(*place, ErrorKind::out_of_range, "a part of the head with an even number of channels",
                       arithmetic);
  }
  if (keys.reader().failed()) return {};
  return {static_cast<std::int64_t>(channels), place->from};
}

Sourced<std::int64_t> listed_channels(RopeKeys& keys, const AttentionShape& shape) {
  const auto place = keys.scope().find(keys::kRotaryDim);
  if (!place) {
    keys.fail_missing(keys::kRotaryDim.name());
    return {};
  }
  if (place->value.is_null()) return {shape.rotary_width.value, place->from};
  keys.note("dim", *place);
  const std::int64_t dim = keys.reader().integer(*place, {0, shape.rotary_width.value}).value_or(0);
  if (dim % 2 != 0) keys.reader().fail(*place, ErrorKind::out_of_range, "an even number of channels");
  return {dim, place->from};
}

Sourced<std::int64_t> part_or_listed(RopeKeys& keys, const LayerTraits& layer, const AttentionShape& shape) {
  const bool by_dim = !keys.peek("partial_rotary_factor") && !keys.scope().peek(keys::kPartialFactor);
  return by_dim && keys.scope().peek(keys::kRotaryDim) ? listed_channels(keys, shape)
                                                       : part_of_head(keys, layer, shape);
}

Sourced<std::int64_t> half_of_projection(RopeKeys& keys, const AttentionShape& shape) {
  const Sourced<std::int64_t> channels = keys.scope().required_integer(keys::kProjection, {1, kMaxHiddenSize});
  if (const auto place = keys.scope().peek(keys::kProjection)) keys.note("dim", *place);
  constexpr std::int64_t kLeast = 32;
  const std::int64_t width = std::max(channels.value / (2 * shape.heads.value), kLeast);
  if (width % 2 != 0 || width > shape.head_dim.value) {
    keys.scope().fail(keys::kProjection, ErrorKind::out_of_range, "an even number of channels, at most a head's",
                      formatted("{} of {} channels", width, shape.head_dim.value));
  }
  return {width, channels.from};
}

// An even number of channels, or an error.
Sourced<std::int64_t> read_dim(RopeKeys& keys, const LayerTraits& layer, const AttentionShape& shape,
                               std::string_view rope_type) {
  const Family& family = keys.scope().family();
  const bool is_whole = rope_type == "proportional" || (family.parts_in_own_code && keys.scope().has_class());
  const Width rule = is_whole ? Width::whole_head : family.width;
  switch (rule) {
    case Width::partial_factor: return part_of_head(keys, layer, shape);
    case Width::rotary_dim: return listed_channels(keys, shape);
    case Width::factor_or_dim: return part_or_listed(keys, layer, shape);
    case Width::half_projection: return half_of_projection(keys, shape);
    case Width::whole_head:
    case Width::half_head: break;
  }
  const std::int64_t width = shape.rotary_width.value / (rule == Width::half_head ? 2 : 1);
  if (!shape.width_place) return {};
  keys.note("dim", *shape.width_place);
  if (width % 2 != 0) {
    keys.reader().fail(*shape.width_place, ErrorKind::out_of_range, "an even number of channels that rotate",
                       formatted("{} of {} channels", width, shape.head_dim.value));
  }
  return {width, shape.rotary_width.from};
}

// Of a rule with parameters transformers' functions make the frequencies of that part of a head, whether or not the
// class reads the key where there is none. One that rotates another number of channels has no use for them.
void check_part(RopeKeys& keys, const AttentionShape& shape, std::string_view rope_type, std::int64_t dim) {
  const Family& family = keys.scope().family();
  const bool is_own = family.width != Width::whole_head && !family.parts_in_own_code;
  const bool is_made = family.compressed_keys && !keys.dicts().are_by_name();  // with the factor of the class
  if (!keys.scope().has_class() || !family.scales || is_own || is_made || rope_type == "default" ||
      rope_type == "proportional") {
    return;
  }
  auto place = keys.find(kPart);
  if (!place) place = find_factor_beside(keys);
  // Mistral 4's class puts the part that rotates into its own dictionary, and not into the old one.
  const bool is_whole = !place && family.part_of_whole_head && keys.dicts().is_legacy();
  if (!place && !is_whole) return;
  const double factor = place ? keys.reader().number(*place).value_or(1.0) : 1.0;
  const bool is_of_head = family.part_of_whole_head || family.last_channels;
  const std::int64_t width = is_of_head ? shape.head_dim.value : shape.rotary_width.value;
  const double made = std::trunc(static_cast<double>(width) * factor);
  if (made == static_cast<double>(dim)) return;
  const std::string what = place ? formatted("{} is {}", place->from, shown(place->value)) : formatted("no {}", kPart);
  keys.reader().undecided(
      formatted("{}: under the rule {} transformers makes the frequencies of {} channels, and its class rotates {}.",
                what, rope_type, made, dim),
      place ? std::vector<std::string>{place->from} : std::vector<std::string>{});
}

// ---- base ----

double read_ratio_base(RopeKeys& keys) {
  const Sourced<double> ratio = keys.scope().required_number(keys::kRopeRatio);
  if (const auto place = keys.scope().peek(keys::kRopeRatio)) keys.note("base", *place);
  return kChatglmBase * ratio.value;
}

// Layers with a window may have a key of their own; else what a dictionary says of them beats the key of all.
std::optional<Place> find_local_base(RopeKeys& keys) {
  if (keys.scope().peek(keys::kLocalBase)) return keys.find("rope_theta", keys::kLocalBase);
  auto own = keys.find("rope_theta");
  if (own) return own;
  return keys.scope().family().flat_base_is_full ? keys.scope().class_default(keys::kBase)
                                                 : keys.scope().find(keys::kBase);
}

std::optional<Place> find_base(RopeKeys& keys, const LayerTraits& layer) {
  const Family& family = keys.scope().family();
  if (family.base == BaseRule::class_own) return keys.scope().class_default(keys::kBase);
  if (layer.compression > 0) {
    // A dictionary for all layers has the base of those that are not compressed.
    return keys.dicts().are_by_name() ? keys.find("rope_theta", keys::kCompressedBase)
                                      : keys.scope().find(keys::kCompressedBase);
  }
  if (family.ropes_per_type && layer.type != LayerType::full) return find_local_base(keys);
  return keys.find("rope_theta", keys::kBase);
}

double read_base(RopeKeys& keys, const LayerTraits& layer, std::int64_t dim) {
  const Family& family = keys.scope().family();
  if (family.base == BaseRule::ratio) return read_ratio_base(keys);
  const auto own = family.layer_bases ? keys.scope().find(keys::kLayerBases) : std::nullopt;
  auto place = own ? own : find_base(keys, layer);
  if (place && (own || family.rope_lists))
    place = entry_of_layer(keys.scope(), *place, layer.list_entry, keys.layers());
  if (!place) {
    keys.reader().undecided(formatted("{} is not given, and no class says what it is then.", keys::kBase.name()), {});
    return kChatglmBase;
  }
  keys.note("base", *place);
  if (!place->in_file && family.differing_default && family.differing_default->key == keys::kBase.name()) {
    keys.reader().warn("default-differs",
                       formatted("{} is not given; the class says {}, published checkpoints carry {}.",
                                 keys::kBase.name(), shown(place->value), family.differing_default->published),
                       {});
  }
  const double base = keys.reader().number(*place).value_or(kChatglmBase);
  if (family.base != BaseRule::narrower) return base;
  // base^(-2p/n) are the exponents of a head of n channels: (base^(dim/n))^(-2p/dim).
  const Setting<std::int64_t> narrow = keys.scope().integer(keys::kNarrowHead, {2, dim});
  return std::pow(base, static_cast<double>(dim) / static_cast<double>(narrow.value.value_or(dim)));
}

// ---- rule ----

// A class with a rule of its own alone has no dictionary to read.
bool has_dictionaries(const Family& family) { return family.scales || family.own_scaling == nullptr; }

Scaling read_rule(RopeKeys& keys, std::string_view rope_type, std::int64_t dim) {
  const Family& family = keys.scope().family();
  return family.own_scaling != nullptr && rope_type == "default" ? family.own_scaling(keys, dim)
                                                                 : read_scaling(keys, rope_type, dim);
}

void warn_no_rotation(RopeKeys& keys, const Sourced<std::int64_t>& dim) {
  keys.reader().warn("no-rotation", formatted("{} leaves no channel that rotates.", dim.from), {dim.from});
}

}  // namespace

RopeDraft read_rope(RopeDicts& dicts, const LayerTraits& layer, const AttentionShape& shape,
                    const Sourced<std::int64_t>& trained_length, std::int64_t layers) {
  RopeKeys keys(dicts, layer, trained_length, layers);
  const auto rope_type =
      has_dictionaries(keys.scope().family()) ? read_rope_type(keys) : std::optional<std::string_view>("default");
  if (!rope_type) return {};
  const Sourced<std::int64_t> dim = read_dim(keys, layer, shape, *rope_type);
  check_part(keys, shape, *rope_type, dim.value);
  if (keys.reader().failed()) return {};
  if (dim.value == 0) {
    warn_no_rotation(keys, dim);
    return {.rope = {}, .sources = {}, .still_from = dim.from};
  }
  Rope rope{.pairing = shape.pairing.value,
            .head_dim = shape.head_dim.value,
            .first_channel = shape.first_channel.value,
            .dim = dim.value,
            .base = read_base(keys, layer, dim.value),
            .scaling = read_rule(keys, *rope_type, dim.value),
            .axes = read_axes(keys, dim.value),
            .rotation_direction = keys.scope().family().rotation_direction};
  keys.note("pairing", shape.pairing.from);
  keys.note("first_channel", shape.first_channel.from);
  if (rope.rotation_direction != RotationDirection::counterclockwise)
    keys.note("rotation_direction", family_default(keys.scope().family()));
  if (keys.reader().failed()) return {};
  if (const auto problem = check(rope)) {
    keys.blame(*problem);
    return {};
  }
  return {std::move(rope), keys.take_sources(), {}};
}

}  // namespace posenc::plan
