#include "plan/rope/native_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

// A key beside the others, noted as a field of the rule.
double scaling_number(RopeKeys& keys, const Key& key, std::string_view field) {
  const auto place = keys.scope().find(key);
  if (!place) {
    keys.fail_missing(key.name());
    return 1.0;
  }
  keys.note(formatted("scaling/{}", field), *place);
  return keys.reader().number(*place).value_or(1.0);
}

std::int64_t original_length(RopeKeys& keys, const Key& key) {
  const auto place = keys.scope().find(key);
  if (!place) {
    keys.fail_missing(key.name());
    return 1;
  }
  keys.note("scaling/original_max_position_embeddings", *place);
  return keys.reader().integer(*place, {1, kMaxPosition}).value_or(1);
}

// ---- Meta, ExecuTorch ----

// Channels of the published models whose factor is not the class's 8: Llama 3.2's 1B and 3B. The others of Llama 3.1 to
// 3.3, from 4096 channels on, have 8.
constexpr std::int64_t kOtherFactorWidths[] = {2048, 3072};

void warn_of_factor(RopeKeys& keys) {
  const auto place = keys.scope().peek(keys::kScaledFactor);
  if (place && place->in_file) return;
  const auto width = keys.scope().peek(keys::kHidden);
  if (!width) return;
  const auto channels = keys.reader().integer(*width, {1, kMaxHiddenSize});
  if (std::ranges::find(kOtherFactorWidths, channels) == std::ranges::end(kOtherFactorWidths)) return;
  keys.reader().warn("default-differs",
                     formatted("use_scaled_rope has no factor beside it; the class says 8, Llama 3.2's "
                               "1B and 3B carry 32, and one of them has {} channels too.",
                               *channels),
                     {});
}

Scaling llama3_rule(RopeKeys& keys) {
  Llama3Scaling rule;
  rule.factor = scaling_number(keys, keys::kScaledFactor, "factor");
  rule.low_freq_factor = scaling_number(keys, keys::kLowFactor, "low_freq_factor");
  rule.high_freq_factor = scaling_number(keys, keys::kHighFactor, "high_freq_factor");
  rule.original_max_position_embeddings = original_length(keys, keys::kOriginalLength);
  warn_of_factor(keys);
  return rule;
}

// A list of numbers beside the others, under another name than the rule's.
Scaling longrope_rule(RopeKeys& keys, std::int64_t pairs) {
  LongRopeScaling rule;
  rule.original_max_position_embeddings = original_length(keys, keys::kOriginalLength);
  rule.short_factor = keys.divisors_beside(keys::kShortFactors, "short_factor", pairs);
  rule.long_factor = keys.divisors_beside(keys::kLongFactors, "long_factor", pairs);
  if (!keys.has_trained_length()) keys.fail_missing(keys::kLength.name());
  rule.factor =
      static_cast<double>(keys.trained_length().value) / static_cast<double>(rule.original_max_position_embeddings);
  keys.note("scaling/factor",
            formatted("default: {} / {}", keys.trained_length().value, rule.original_max_position_embeddings));
  return rule;
}

Scaling scaled_switch(RopeKeys& keys, std::int64_t dim) {
  if (keys.scope().peek(keys::kShortFactors)) return longrope_rule(keys, dim / 2);
  const Setting<bool> on = keys.scope().flag(keys::kScaledRope);
  keys.note("scaling/rule", on.from.empty() ? family_default(keys.scope().family()) : on.from);
  if (!on.value.value_or(false)) return {};
  return llama3_rule(keys);
}

// ---- Mistral: {"yarn": {"factor", "original_max_position_embeddings", "beta", "alpha", "apply_scale"}} ----

std::optional<Place> member(RopeKeys& keys, const Place& object, std::string_view name, std::string_view field) {
  const auto place = keys.reader().look(object.value, name);
  if (!place || place->value.is_null()) return {};
  keys.reader().mark_read(*place);
  keys.note(formatted("scaling/{}", field), *place);
  return place;
}

double required_member(RopeKeys& keys, const Place& object, std::string_view name, std::string_view field) {
  const auto place = member(keys, object, name, field);
  if (place) return keys.reader().number(*place).value_or(1.0);
  FileError error = object.value.error(ErrorKind::missing_key, formatted("a value for {}", name));
  error.got = "none";
  keys.reader().fail(std::move(error));
  return 1.0;
}

Scaling yarn_object(RopeKeys& keys) {
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
  rule.factor = required_member(keys, *object, "factor", "factor");
  constexpr std::string_view kLength = "original_max_position_embeddings";
  const auto length = member(keys, *object, kLength, kLength);
  if (!length) required_member(keys, *object, kLength, kLength);
  if (length) rule.original_max_position_embeddings = keys.reader().integer(*length, {1, kMaxPosition}).value_or(1);
  if (const auto beta = member(keys, *object, "beta", "beta_fast")) rule.beta_fast = keys.reader().number(*beta);
  if (const auto alpha = member(keys, *object, "alpha", "beta_slow")) rule.beta_slow = keys.reader().number(*alpha);
  const auto apply = member(keys, *object, "apply_scale", "attention_factor");
  if (apply && !keys.reader().boolean(*apply).value_or(true)) rule.attention_factor = 1.0;
  return rule;
}

// ---- DeepSeek: YaRN beyond original_seq_len; one mscale for both places leaves cos and sin alone ----

Scaling rope_factor(RopeKeys& keys) {
  YarnScaling rule;
  rule.factor = scaling_number(keys, keys::kRopeFactor, "factor");
  rule.original_max_position_embeddings = original_length(keys, keys::kOriginalSeqLen);
  rule.beta_fast = scaling_number(keys, keys::kBetaFast, "beta_fast");
  rule.beta_slow = scaling_number(keys, keys::kBetaSlow, "beta_slow");
  rule.mscale = rule.mscale_all_dim = scaling_number(keys, keys::kMscale, "mscale");
  if (const auto place = keys.scope().peek(keys::kMscale)) keys.note("scaling/mscale_all_dim", *place);
  return rule;
}

}  // namespace

Scaling read_native_scaling(RopeKeys& keys, std::int64_t dim) {
  switch (keys.scope().family().native) {
    case NativeRule::none: break;
    case NativeRule::scaled_switch: return scaled_switch(keys, dim);
    case NativeRule::yarn_object: return yarn_object(keys);
    case NativeRule::rope_factor: return rope_factor(keys);
  }
  return {};
}

}  // namespace posenc::plan
