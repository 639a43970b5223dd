// What rows of several makers have in common, by name.
#pragma once

#include "plan/families/family.h"

namespace posenc::plan {

inline constexpr Pairing kHalf = Pairing::half;
inline constexpr Pairing kInterleaved = Pairing::interleaved;
inline constexpr RotaryLayers kNoRotaryLayer = RotaryLayers::no_layer;

// ---- norms of q and k ----
inline constexpr QkNorm kRmsPerHead{.kind = QkNorm::Kind::rms};
inline constexpr QkNorm kRmsAcrossHeads{.kind = QkNorm::Kind::rms, .over = QkNorm::Over::all_heads};
inline constexpr QkNorm kLayerNormPerHead{.kind = QkNorm::Kind::layer};
inline constexpr QkNorm kLayerNormAcrossHeads{.kind = QkNorm::Kind::layer, .over = QkNorm::Over::all_heads};
// Llama 4 calls it an L2 norm; it divides by the root of the mean square, and has no weight.
inline constexpr QkNorm kRmsAfterRotation{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false};

// ---- keys that a class does not read, or reads under fewer names ----
inline constexpr Names kNoDictionaries{"rope_scaling rope_parameters rope_theta partial_rotary_factor"};
inline constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
inline constexpr OwnKey kUnboundKeys[] = {{&keys::kLength}};
inline constexpr OwnKey kNoLengthKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}};
inline constexpr OwnKey kEncoderKeys[] = {{&keys::kLayers, "encoder_layers num_hidden_layers"},
                                          {&keys::kHeads, "encoder_attention_heads num_attention_heads"},
                                          {&keys::kKvHeads},
                                          {&keys::kHeadDim}};
inline constexpr OwnKey kDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                          {&keys::kHeads, "decoder_attention_heads"},
                                          {&keys::kKvHeads},
                                          {&keys::kHeadDim}};

// ---- what is added to embeddings, what is seen, what is added to scores ----
inline constexpr InputRule kTable{.kind = InputKind::learned};
inline constexpr InputRule kScaledTable{.kind = InputKind::learned, .scaled = true};
// The classes count a padding row and have two rows more than that; the table grows with the text.
inline constexpr InputRule kPaddedSines{.kind = InputKind::sinusoidal,
                                        .convention = SinusoidConvention::tensor2tensor,
                                        .offset_after_padding = true,
                                        .rows = Rows::unlimited,
                                        .scaled = true};
inline constexpr InputRule kConvolution{.kind = InputKind::convolution, .kernel = &keys::kConvPositions};
inline constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
inline constexpr CrossAttention kEach = CrossAttention::every_block;
inline constexpr ScoreRule kSharedT5{.kind = ScoreKind::t5};
inline constexpr ScoreRule kSinesOfDistances{.kind = ScoreKind::transformer_xl};
inline constexpr RelativeTypes kRotatesOrSines{.rotary = true, .relative = true};

// ---- axes: where a file has no mrope_section, the class deals out these pairs of t, h and w ----
inline constexpr AxesRule kQwen2Axes{.layout = AxisLayout::chunked, .sections = {16, 24, 24}};
inline constexpr AxesRule kQwen3Axes{.layout = AxisLayout::interleaved, .sections = {24, 20, 20}};
inline constexpr AxesRule kGlmAxes{.layout = AxisLayout::chunked, .sections = {8, 12, 12}};

// ---- of more than one maker ----
inline constexpr LayerKind kStateSpace = LayerKind::state_space;
inline constexpr OwnKey kSizedHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim, "attention_head_size"}};
inline constexpr InputRule kPaddedTypedTable{
    .kind = InputKind::learned, .offset_after_padding = true, .token_types = true};
inline constexpr MaskRule kCausalIfDecoder{.kind = MaskKind::bidirectional, .causal_if = &keys::kIsDecoder};
inline constexpr InputRule kScaledTableFrom2{
    .kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .scaled = true};
// A decoder that was trained further to see both ways: embeddings of texts, or tokens that are unmasked in any order.
inline constexpr StackRule kUnmaskedStack{.mask = kBothWays};
// One that writes block after block, the tokens of a block in any order; how long they are is said per call.
inline constexpr MaskRule kBlockByBlock{
    .kind = MaskKind::sparse,
    .detail = {"blocks of as many tokens as the call says: all of the own block and of those before", Sees::by_blocks}};
inline constexpr StackRule kBlockwiseStack{.mask = kBlockByBlock};
inline constexpr const StackRule* kSeesBothWays[] = {&kUnmaskedStack};
inline constexpr Names kQwenMisleads{"rope_scaling rope_parameters partial_rotary_factor"};

}  // namespace posenc::plan
