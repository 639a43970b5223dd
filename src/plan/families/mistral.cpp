// Mistral. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   mistral-params: mistral-inference's transformer.py; vLLM transformers_utils/configs/mistral.py (yarn, windows).
#include "base/formatted.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/keys.h"

namespace posenc::plan {
namespace {

// ---- {"yarn": {"factor", "original_max_position_embeddings", "beta", "alpha", "apply_scale"}} ----

std::optional<Place> yarn_member(RopeKeys& keys, const Place& object, std::string_view name, std::string_view field) {
  const auto place = keys.reader().look(object.value, name);
  if (!place || place->value.is_null()) return {};
  keys.reader().mark_read(*place);
  keys.note(formatted("scaling/{}", field), *place);
  return place;
}

double required_yarn_member(RopeKeys& keys, const Place& object, std::string_view name, std::string_view field) {
  const auto place = yarn_member(keys, object, name, field);
  if (place) return keys.reader().number(*place).value_or(1.0);
  FileError error = object.value.error(ErrorKind::missing_key, formatted("a value for {}", name));
  error.got = "none";
  keys.reader().fail(std::move(error));
  return 1.0;
}

Scaling mistral_scaling(RopeKeys& keys, std::int64_t) {
  const auto object = keys.scope().find(keys::kYarn);
  if (!object) {
    keys.note("scaling/rule", family_default(keys.scope().family()));
    return {};
  }
  keys.note("scaling/rule", *object);
  if (object->value.kind() != io::JsonKind::object) {
    keys.reader().fail(*object, ErrorKind::type, "an object");
    return {};
  }
  keys.reader().enter(object->value);
  YarnScaling rule;
  rule.factor = required_yarn_member(keys, *object, "factor", "factor");
  constexpr std::string_view kLength = "original_max_position_embeddings";
  const auto length = yarn_member(keys, *object, kLength, kLength);
  if (!length) required_yarn_member(keys, *object, kLength, kLength);
  if (length) rule.original_max_position_embeddings = keys.reader().integer(*length, {1, kMaxPosition}).value_or(1);
  if (const auto beta = yarn_member(keys, *object, "beta", "beta_fast")) rule.beta_fast = keys.reader().number(*beta);
  if (const auto alpha = yarn_member(keys, *object, "alpha", "beta_slow"))
    rule.beta_slow = keys.reader().number(*alpha);
  const auto apply = yarn_member(keys, *object, "apply_scale", "attention_factor");
  if (apply && !keys.reader().boolean(*apply).value_or(true)) rule.attention_factor = 1.0;
  // vLLM's: of latent attention the length enters the softmax scale, and cos and sin stay.
  if (keys.scope().family().latent && !rule.attention_factor) rule.mscale = rule.mscale_all_dim = 1.0;
  return rule;
}

}  // namespace

std::span<const Family> mistral_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "mistral", .class_stems = "Mistral", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "mixtral", .class_stems = "Mixtral", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "ministral", .class_stems = "Ministral", .pairing = kHalf, .windows = Windows::listed_or_every,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "ministral3", .class_stems = "Ministral3", .pairing = kHalf, .windows = Windows::every_layer,
     .query_scaling = QueryScaling::beta, .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "mistral4", .class_stems = "Mistral4", .pairing = kInterleaved, .latent = true, .reads_interleave = true,
     .part_of_whole_head = true, .query_scaling = QueryScaling::beta, .misleading_keys = "partial_rotary_factor"},
    {.name = "mistral_large4_text", .class_stems = "MistralLarge4Text", .pairing = kInterleaved, .latent = true,
     .indexer = IndexerRule{IndexedLayers::shared, kInterleaved}, .rotary_layers = RotaryLayers::listed,
     .misleading_keys = "partial_rotary_factor",
     .undecided = "queries of each head are multiplied by a learned line in ln(i + 1), and frequencies by learned factors"},
    {.name = "mistral-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .windows = Windows::listed, .query_scaling = QueryScaling::beta_object, .own_scaling = mistral_scaling,
     .differing_default = DifferingDefault{"rope_theta", "10000 (Mistral 7B v0.1)"},
     .undecided_keys = "vision_encoder multimodal", .needs_length = false},
    {.name = "mistral-latent-params", .class_stems = "MistralLarge3", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .latent = true, .scales = false, .query_scaling = QueryScaling::beta_object, .own_scaling = mistral_scaling,
     .undecided_keys = "vision_encoder multimodal", .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
