// Llama and Code World Model, of Meta. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   llama-params: Meta's params.json: model.py of meta-llama/llama, models/llama3 of meta-llama/llama-models.
//   aquila, deepseek, orion, telechat3, TeleFLM, xverse: run by Llama's class, or by a copy of it: vLLM llama.py,
//     orion.py and teleflm.py (registry.py names the others); SGLang deepseek.py, xverse.py, xverse_moe.py.
//   LlamaBidirectional: vLLM llama.py (its attention is an encoder's).
//   executorch: examples/models/llama/model_args.py and rope.py of pytorch/executorch.
#include <algorithm>

#include "base/formatted.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/keys.h"

namespace posenc::plan {
namespace {

constexpr ClassStacks kLlamaStacks[] = {
    {"LlamaBidirectionalModel LlamaBidirectionalForSequenceClassification", kSeesBothWays}};

constexpr Names kLlamaUndecided{"vision_chunk_size vision_num_cross_attention_layers vision_model fusion_interval"};

// ---- Llama 3.1's rule without a dictionary: a switch, or two lists of divisors (Meta, ExecuTorch) ----

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
  rule.factor = keys.number_beside(keys::kScaledFactor, "factor");
  rule.low_freq_factor = keys.number_beside(keys::kLowFactor, "low_freq_factor");
  rule.high_freq_factor = keys.number_beside(keys::kHighFactor, "high_freq_factor");
  rule.original_max_position_embeddings = keys.original_length_beside(keys::kOriginalLength);
  warn_of_factor(keys);
  return rule;
}

// A list of numbers beside the others, under another name than the rule's.
Scaling longrope_rule(RopeKeys& keys, std::int64_t pairs) {
  LongRopeScaling rule;
  rule.original_max_position_embeddings = keys.original_length_beside(keys::kOriginalLength);
  rule.short_factor = keys.divisors_beside(keys::kShortFactors, "short_factor", pairs);
  rule.long_factor = keys.divisors_beside(keys::kLongFactors, "long_factor", pairs);
  if (!keys.has_trained_length()) keys.fail_missing(keys::kLength.name());
  rule.factor =
      static_cast<double>(keys.trained_length().value) / static_cast<double>(rule.original_max_position_embeddings);
  keys.note("scaling/factor",
            formatted("default: {} / {}", keys.trained_length().value, rule.original_max_position_embeddings));
  return rule;
}

Scaling llama_scaling(RopeKeys& keys, std::int64_t dim) {
  if (keys.scope().peek(keys::kShortFactors)) return longrope_rule(keys, dim / 2);
  const Setting<bool> on = keys.scope().flag(keys::kScaledRope);
  keys.note("scaling/rule", on.from.empty() ? family_default(keys.scope().family()) : on.from);
  if (!on.value.value_or(false)) return {};
  return llama3_rule(keys);
}

}  // namespace

std::span<const Family> llama_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "llama", .model_types = "llama aquila deepseek deepseek_ocr2_text emu3_text_model orion telechat3 TeleFLM xverse",
     .class_stems = "Llama VLlama3 Aquila Deepseek DeepseekOcr2Text Emu3Text LlamaBidirectional Orion TeleChat3 TeleFLM Xverse XverseMoe", .pairing = kHalf,
     .class_stacks = kLlamaStacks, .misleading_keys = "partial_rotary_factor"},
    {.name = "llama_bidirec", .class_stems = "LlamaBidirectional", .pairing = kHalf, .main = kUnmaskedStack,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "llama4", .model_types = "llama4 llama4_text", .class_stems = "Llama4 Llama4Text", .pairing = kInterleaved,
     .rotary_layers = RotaryLayers::listed, .windows = Windows::chunked_rotary, .query_scaling = QueryScaling::nope_layers,
     .qk_norm = QkNormRule{kRmsAfterRotation, "use_qk_norm", true}, .misleading_keys = "partial_rotary_factor"},
    {.name = "mllama", .model_types = "mllama mllama_text_model", .class_stems = "Mllama MllamaText", .pairing = kHalf,
     .kinds = Kinds::crossing, .qk_norm = QkNormRule{.norm = kRmsPerHead, .cross_layers_only = true},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "cwm", .class_stems = "Cwm", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 4,
     .first_of_pattern = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "llama-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .own_scaling = llama_scaling, .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "executorch", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .pairing_by_switch = true, .width = Width::partial_factor, .scales = false, .ropes_per_type = true,
     .kinds = Kinds::named, .rotary_layers = RotaryLayers::listed, .windows = Windows::patterned,
     .scale = Scale::multiplier_or_dim,
     .qk_norm = QkNormRule{.norm = kRmsPerHead, .switch_key = "use_qk_norm", .before_key = "qk_norm_before_rope"},
     .own_scaling = llama_scaling, .undecided_keys = kLlamaUndecided, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
