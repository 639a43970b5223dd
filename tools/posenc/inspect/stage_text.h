// What a layer does with positions, in words: one phrase per fact. Used for whole stacks and for one layer alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "posenc/plan.h"

namespace posenc::tool {

std::string kind_text(LayerKind kind);
std::string pairing_text(Pairing pairing);    // "half"
std::string long_pairing(Pairing pairing);    // "half-split (NeoX, rotate_half)"
std::string channels_text(const Rope& rope);  // "128-191": the rotated channels
std::string input_text(const InputScheme& input);
std::string added_text(const Added& added);  // "to keys, before their projection: ..."

// "all 128 channels, half-split (NeoX, rotate_half): channel p with p+64; base 500000; ...; attention factor 1"
std::string rotate_text(const Rotate& rotate, std::optional<std::int64_t> length);
std::string score_text(const ScoreTerm& term);
std::string regions_text(const Regions& regions);  // empty: none
std::string value_text(const ValueScheme& value);
std::string query_scale_text(const QueryScale& scale);  // empty: none
// Softmax scale, query scale, softcap, sinks.
std::string logits_text(const LayerPlan& layer);
std::string norm_text(const QkNorm& norm);
// What the KV cache holds, where it is not the keys and values of each token of the layer itself; may be empty.
std::string cache_text(const LayerPlan& layer);
std::string mask_text(const Mask& mask);

// For tables: "window 4096", "1/sqrt(d)".
std::string short_mask(const Mask& mask);
std::string short_scale(const LayerPlan& layer);
std::string short_norm(const LayerPlan& layer);
std::string short_rule(const Scaling& scaling);     // "yarn x40"
std::string short_input(const InputScheme& input);  // "sines"
std::string short_score(const ScoreTerm& term);     // "alibi"

}  // namespace posenc::tool
