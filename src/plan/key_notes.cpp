#include "plan/key_notes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "plan/nearest_names.h"

namespace posenc::plan {
namespace {

// In the order of config_keys.h; a test counts them.
constexpr const Key* kPositionKeys[] = {
    &keys::kHeads,
    &keys::kLayers,
    &keys::kHidden,
    &keys::kKvHeads,
    &keys::kHeadDim,
    &keys::kLength,
    &keys::kUseMla,
    &keys::kNopeDim,
    &keys::kRopeDim,
    &keys::kValueDim,
    &keys::kGrouped,
    &keys::kMultiQuery,
    &keys::kNewDecoder,
    &keys::kPositionType,
    &keys::kRopeFlag,
    &keys::kAlibi,
    &keys::kMaxBias,
    &keys::kGlobalHeadDim,
    &keys::kGlobalKvHeads,
    &keys::kKeysAreValues,
    &keys::kSlidingHeads,
    &keys::kOtherAttention,
    &keys::kSharedKv,
    &keys::kCompressedBase,
    &keys::kPartialFactors,
    &keys::kBase,
    &keys::kLocalBase,
    &keys::kPartialFactor,
    &keys::kRotaryDim,
    &keys::kDynamicNtk,
    &keys::kRopeRatio,
    &keys::kOriginalRope,
    &keys::kOriginalLength,
    &keys::kRopeParameters,
    &keys::kInterleave,
    &keys::kHfRope,
    &keys::kScaledRope,
    &keys::kScaledFactor,
    &keys::kLowFactor,
    &keys::kHighFactor,
    &keys::kShortFactors,
    &keys::kLongFactors,
    &keys::kYarn,
    &keys::kRopeFactor,
    &keys::kOriginalSeqLen,
    &keys::kBetaFast,
    &keys::kBetaSlow,
    &keys::kMscale,
    &keys::kWindow,
    &keys::kUseWindow,
    &keys::kMaxWindowLayers,
    &keys::kLayerTypes,
    &keys::kKindLetters,
    &keys::kAttentionInterval,
    &keys::kLinearAttention,
    &keys::kFullLayers,
    &keys::kLinearLayers,
    &keys::kBlocks,
    &keys::kGroupSize,
    &keys::kNoOp,
    &keys::kReplacedByLinear,
    &keys::kCrossLayers,
    &keys::kPredictionLayers,
    &keys::kWindowPattern,
    &keys::kChunk,
    &keys::kRotatingLayers,
    &keys::kNopeInterval,
    &keys::kBidirectional,
    &keys::kIsCausal,
    &keys::kCompressRatios,
    &keys::kCompressRates,
    &keys::kSparseRate,
    &keys::kHeavyRate,
    &keys::kSparseAttention,
    &keys::kUseSparse,
    &keys::kSparseLayers,
    &keys::kIndexHeads,
    &keys::kIndexHeadDim,
    &keys::kIndexKept,
    &keys::kIndexBlocks,
    &keys::kIndexBlockSize,
    &keys::kIndexOwnBlocks,
    &keys::kIndexInterleave,
    &keys::kIndexerTypes,
    &keys::kIndexPattern,
    &keys::kIndexFrequency,
    &keys::kIndexOffset,
    &keys::kQueryScalar,
    &keys::kAttentionMultiplier,
    &keys::kNormSwitch,
    &keys::kSoftCap,
    &keys::kTemperature,
    &keys::kTemperatureScale,
    &keys::kTemperatureFloor,
    &keys::kBeta,
    &keys::kLlama4Scaling,
    &keys::kLogn,
    &keys::kPadding,
    &keys::kTokenTypes,
    &keys::kScaleEmbedding,
    &keys::kBiasedInput,
    &keys::kSines,
    &keys::kAxial,
    &keys::kAxialShape,
    &keys::kAxialDims,
    &keys::kLearnedInput,
    &keys::kBuckets,
    &keys::kMaxDistance,
    &keys::kClampLength,
    &keys::kBothWaysData,
    &keys::kRelativeAttention,
    &keys::kPositionParts,
    &keys::kMaxRelative,
    &keys::kPositionBuckets,
    &keys::kSharedProjection,
    &keys::kScaleScores,
    &keys::kScaleByLayer,
    &keys::kSoftmaxScale,
    &keys::kIsDecoder,
    &keys::kCausal,
    &keys::kDirection,
    &keys::kSameLength,
    &keys::kPrefix,
    &keys::kAddCross,
    &keys::kGlobalInterval,
    &keys::kAttentionTypes,
    &keys::kAttentionLayers,
    &keys::kTwoSidedWindow,
    &keys::kWindowSize,
    &keys::kLocalAttention,
    &keys::kChunkTypes,
    &keys::kLocalChunk,
    &keys::kLocalBefore,
    &keys::kLocalAfter,
    &keys::kHashChunk,
    &keys::kHashBefore,
    &keys::kHashAfter,
    &keys::kHashes,
    &keys::kHashBuckets,
    &keys::kScaleBase,
};

constexpr KeyNote kDictionaryKeys[] = {
    {"rope_type", "the scaling rule: default, linear, dynamic, yarn, longrope, llama3, proportional, ntk"},
    {"type", "the same, in older files; rope_type beats it. su is longrope, mrope the default rule"},
    {"rope_theta", "the base; beats the key beside the dictionary"},
    {"factor", "by how much the rule stretches; YaRN and LongRoPE without one: trained length over original length"},
    {"original_max_position_embeddings", "tokens before the rule was applied"},
    {"partial_rotary_factor", "the part of a head that turns; in the proportional rule, the part of its pairs"},
    {"attention_factor", "YaRN, LongRoPE: the factor on cos and sin, in place of the rule's own"},
    {"beta_fast", "YaRN: turns in the original length from which a pair stays; 0 or absent: 32"},
    {"beta_slow", "YaRN: turns up to which a pair is divided; 0 or absent: 1"},
    {"mscale", "YaRN: the attention factor is g(factor, mscale) / g(factor, mscale_all_dim)"},
    {"mscale_all_dim", "the same; with latent attention also the logit scale, times its square"},
    {"truncate", "YaRN: whether the borders between pairs are rounded; absent: yes"},
    {"short_factor", "LongRoPE: a divisor for each pair, up to the original length"},
    {"long_factor", "LongRoPE: a divisor for each pair, beyond the original length"},
    {"short_mscale", "PhiMoE: the attention factor up to the original length"},
    {"long_mscale", "PhiMoE: the attention factor beyond it"},
    {"low_freq_factor", "Llama 3: pairs with wavelengths above original length / this are divided"},
    {"high_freq_factor", "Llama 3: pairs with wavelengths below original length / this stay"},
    {"mrope_section", "pairs that each of the axes t, h, w turns"},
    {"mrope_interleaved", "whether axes take pairs in turn (true) or in blocks"},
};

template <typename Holds>
bool any_left_out(std::span<const LeftOut> groups, Holds holds) {
  return std::ranges::any_of(groups, [&](const LeftOut& group) { return std::ranges::any_of(group.names, holds); });
}

// Every name that is read.
std::vector<std::string_view> read_names() {
  std::vector<std::string_view> names;
  for (const Key* key : kPositionKeys) names.insert(names.end(), key->names.begin(), key->names.end());
  for (const KeyNote& note : kDictionaryKeys) names.push_back(note.name);
  return names;
}

}  // namespace

std::span<const Key* const> position_keys() noexcept { return kPositionKeys; }
std::span<const KeyNote> dictionary_keys() noexcept { return kDictionaryKeys; }

bool is_known_key(std::string_view name) noexcept {
  const auto same = [&](std::string_view other) { return other == name; };
  return std::ranges::any_of(kPositionKeys, [&](const Key* key) { return std::ranges::any_of(key->names, same); }) ||
         std::ranges::any_of(kDictionaryKeys, same, &KeyNote::name) || any_left_out(keys_that_mislead(), same) ||
         any_left_out(keys_of_other_things(), same);
}

std::string_view misspelled_key(std::string_view name) {
  constexpr std::size_t kShortest = 6;  // below it, two letters make another word
  constexpr std::size_t kLetters = 2;
  if (name.size() < kShortest || is_known_key(name)) return {};
  std::string_view nearest;
  std::size_t fewest = kLetters + 1;
  for (std::string_view known : read_names()) {
    const std::size_t longer = std::max(name.size(), known.size());
    if (known.size() < kShortest || longer - std::min(name.size(), known.size()) > kLetters) continue;
    const std::size_t distance = edits(name, known);
    if (distance < fewest) {
      fewest = distance;
      nearest = known;
    }
  }
  return nearest;
}

}  // namespace posenc::plan
