// The keys that bear on positions, each with the names under which model files carry it, best first.
//
// The first name is Hugging Face's. A family may read one of the others before it (Family::own_names). Keys that stand
// in the rope dictionaries are with their rules (rope_rules.cpp).
#pragma once

#include "plan/keys/key.h"

namespace posenc::plan {

namespace key_names {
inline constexpr std::string_view kHeads[] = {"num_attention_heads",
                                              "n_head",
                                              "n_heads",
                                              "num_heads",
                                              "num_query_heads",
                                              "encoder_attention_heads",
                                              "attention_heads",
                                              "decoder_attention_heads"};
inline constexpr std::string_view kLayers[] = {"num_hidden_layers",
                                               "n_layer",
                                               "n_layers",
                                               "num_layers",
                                               "depth",
                                               "encoder_layers",
                                               "decoder_layers",
                                               "num_decoder_layers",
                                               "num_transformer_layers",
                                               "layers"};
inline constexpr std::string_view kHidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", "dim", "model_dim"};
inline constexpr std::string_view kKvHeads[] = {"num_key_value_heads", "num_kv_heads",        "kv_n_heads",
                                                "n_kv_heads",          "n_head_kv",           "multi_query_group_num",
                                                "num_gqa_groups",      "num_attention_groups"};
inline constexpr std::string_view kHeadDim[] = {
    "head_dim", "d_kv", "d_head", "kv_channels", "attention_head_size", "qk_head_dim", "attention_head_dim"};
inline constexpr std::string_view kLength[] = {"max_position_embeddings",
                                               "n_positions",
                                               "n_ctx",
                                               "seq_length",
                                               "max_seq_len",
                                               "max_sequence_length",
                                               "max_context_length",
                                               "model_max_length",
                                               "training_seqlen",
                                               "max_source_positions",
                                               "max_target_positions",
                                               "max_encoder_position_embeddings",
                                               "max_decoder_position_embeddings",
                                               "seq"};
inline constexpr std::string_view kBase[] = {"rope_theta",         "rotary_emb_base", "rope_embedding_base",
                                             "rope_freq_constant", "rope_freq_base",  "global_rope_theta"};
inline constexpr std::string_view kLocalBase[] = {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"};
inline constexpr std::string_view kPartialFactor[] = {
    "partial_rotary_factor", "rotary_pct", "rope_pct", "rope_percent", "rotary_percentage", "rotary_emb_fraction"};
inline constexpr std::string_view kRotaryDim[] = {"rotary_dim", "pe_rotary_dims"};
inline constexpr std::string_view kRopeRatio[] = {"rope_ratio"};
inline constexpr std::string_view kOriginalRope[] = {"original_rope"};
inline constexpr std::string_view kOriginalLength[] = {"original_max_position_embeddings"};
inline constexpr std::string_view kRopeParameters[] = {"rope_parameters"};

inline constexpr std::string_view kWindow[] = {"sliding_window", "sliding_window_size", "sliding_window_attention_size",
                                               "window_size", "_sliding_window"};
inline constexpr std::string_view kLocalRadius[] = {"local_radius"};
inline constexpr std::string_view kPattern[] = {"attention_type", "encoder_attention_type"};
inline constexpr std::string_view kUseWindow[] = {"use_sliding_window"};
inline constexpr std::string_view kMaxWindowLayers[] = {"max_window_layers"};
inline constexpr std::string_view kLayerTypes[] = {"layer_types", "layers_block_type"};
inline constexpr std::string_view kBlockTypes[] = {"block_types"};
inline constexpr std::string_view kAttendingLayers[] = {"full_attn_idxs", "attn_layer_indices"};
inline constexpr std::string_view kAttentionPeriod[] = {"attn_layer_period"};
inline constexpr std::string_view kAttentionOffset[] = {"attn_layer_offset"};
inline constexpr std::string_view kKindLetters[] = {"hybrid_override_pattern"};
inline constexpr std::string_view kAttentionInterval[] = {"full_attention_interval"};
inline constexpr std::string_view kLinearAttention[] = {"linear_attn_config"};
inline constexpr std::string_view kFullLayers[] = {"full_attn_layers"};
inline constexpr std::string_view kLinearLayers[] = {"kda_layers"};
inline constexpr std::string_view kBlocks[] = {"block_configs"};
inline constexpr std::string_view kGroupSize[] = {"n_heads_in_group"};
inline constexpr std::string_view kNoOp[] = {"no_op"};
inline constexpr std::string_view kReplacedByLinear[] = {"replace_with_linear"};
inline constexpr std::string_view kCrossLayers[] = {"cross_attention_layers"};
inline constexpr std::string_view kPredictionLayers[] = {"num_nextn_predict_layers", "num_mtp_layers"};
inline constexpr std::string_view kWindowPattern[] = {"sliding_window_pattern", "global_local_attention_pattern"};
inline constexpr std::string_view kChunk[] = {"attention_chunk_size"};
inline constexpr std::string_view kDualChunk[] = {"dual_chunk_attention_config"};
inline constexpr std::string_view kRotatingLayers[] = {"no_rope_layers"};
inline constexpr std::string_view kNopeInterval[] = {"no_rope_layer_interval", "nope_layer_interval"};
inline constexpr std::string_view kBidirectional[] = {"use_bidirectional_attention"};
inline constexpr std::string_view kIsCausal[] = {"is_causal"};
inline constexpr std::string_view kCausalAttn[] = {"causal_attn"};

inline constexpr std::string_view kQueryScalar[] = {"query_pre_attn_scalar"};
inline constexpr std::string_view kAttentionMultiplier[] = {"attention_multiplier"};
inline constexpr std::string_view kKeyMultiplier[] = {"key_multiplier"};
inline constexpr std::string_view kNormSwitch[] = {"qk_layernorm", "use_qk_norm", "qk_ln", "qk_norm",
                                                   "normalize_qk_projections"};  // a class reads one of them
inline constexpr std::string_view kSoftCap[] = {"attn_logit_softcapping"};
inline constexpr std::string_view kTemperature[] = {"attn_temperature_tuning"};
inline constexpr std::string_view kTemperatureScale[] = {"attn_scale"};
inline constexpr std::string_view kTemperatureFloor[] = {"floor_scale"};

inline constexpr std::string_view kGlobalHeadDim[] = {"global_head_dim"};
inline constexpr std::string_view kGlobalKvHeads[] = {"num_global_key_value_heads"};
inline constexpr std::string_view kKeysAreValues[] = {"attention_k_eq_v"};
inline constexpr std::string_view kSlidingHeads[] = {"num_sliding_attention_heads"};
inline constexpr std::string_view kOtherAttention[] = {"attention_other_setting"};
inline constexpr std::string_view kSharedKv[] = {"num_kv_shared_layers"};

inline constexpr std::string_view kCompressedBase[] = {"compress_rope_theta"};
inline constexpr std::string_view kLayerBases[] = {"layer_rope_theta"};
inline constexpr std::string_view kPartialFactors[] = {"partial_rotary_factors"};
inline constexpr std::string_view kCompressRatios[] = {"compress_ratios"};
inline constexpr std::string_view kCompressRates[] = {"compress_rates"};
inline constexpr std::string_view kSparseRate[] = {"compress_rate_csa"};
inline constexpr std::string_view kHeavyRate[] = {"compress_rate_hca"};

inline constexpr std::string_view kSparseAttention[] = {"sparse_attention_config"};
inline constexpr std::string_view kUseSparse[] = {"use_sparse_attention"};
inline constexpr std::string_view kSparseLayers[] = {"sparse_attention_freq"};
inline constexpr std::string_view kIndexHeads[] = {"index_n_heads", "sparse_num_index_heads"};
inline constexpr std::string_view kIndexHeadDim[] = {"index_head_dim", "sparse_index_dim"};
inline constexpr std::string_view kIndexKept[] = {"index_topk"};
inline constexpr std::string_view kIndexBlocks[] = {"index_topk_blocks", "sparse_topk_blocks"};
inline constexpr std::string_view kIndexBlockSize[] = {"index_block_size", "sparse_block_size"};
inline constexpr std::string_view kIndexOwnBlocks[] = {"index_local_blocks", "sparse_local_block"};
inline constexpr std::string_view kIndexInterleave[] = {"indexer_rope_interleave"};
inline constexpr std::string_view kIndexerTypes[] = {"indexer_types"};
inline constexpr std::string_view kIndexPattern[] = {"index_topk_pattern"};
inline constexpr std::string_view kIndexFrequency[] = {"index_topk_freq"};
inline constexpr std::string_view kIndexOffset[] = {"index_skip_topk_offset"};

inline constexpr std::string_view kUseMla[] = {"use_mla"};
inline constexpr std::string_view kNopeDim[] = {"qk_nope_head_dim"};
inline constexpr std::string_view kRopeDim[] = {"qk_rope_head_dim"};
inline constexpr std::string_view kValueDim[] = {"v_head_dim"};

inline constexpr std::string_view kImageSize[] = {"image_size"};
inline constexpr std::string_view kPatchSize[] = {"patch_size"};
inline constexpr std::string_view kPositionRows[] = {"num_position_embeddings"};
inline constexpr std::string_view kPatchRows[] = {"num_patches"};
inline constexpr std::string_view kSourceRows[] = {"max_source_positions"};
inline constexpr std::string_view kAxisRows[] = {"position_embedding_size"};
inline constexpr std::string_view kGridHeight[] = {"pos_emb_height", "init_pos_emb_height"};
inline constexpr std::string_view kGridWidth[] = {"pos_emb_width", "init_pos_emb_width"};
inline constexpr std::string_view kGridTime[] = {"pos_emb_time", "init_pos_emb_time"};
inline constexpr std::string_view kAspectRatios[] = {"supported_aspect_ratios"};
inline constexpr std::string_view kMaxTiles[] = {"max_num_tiles"};
inline constexpr std::string_view kAbsoluteTable[] = {"use_absolute_position_embeddings", "use_abs_pos"};
inline constexpr std::string_view kRelativeTables[] = {"use_rel_pos"};
inline constexpr std::string_view kPatchWindow[] = {"window_size"};
inline constexpr std::string_view kFullBlocks[] = {"fullatt_block_indexes", "global_attn_indexes"};
inline constexpr std::string_view kMergeSize[] = {"spatial_merge_size"};
inline constexpr std::string_view kWindowKernel[] = {"window_kernel_size"};
inline constexpr std::string_view kInsertLayer[] = {"insert_layer_id"};
inline constexpr std::string_view kGlobalLayers[] = {"num_global_layers"};
inline constexpr std::string_view kTowerLayers[] = {"num_hidden_layers", "vt_num_hidden_layers", "layers"};
inline constexpr std::string_view kTowerHeads[] = {"num_attention_heads", "vt_num_attention_heads", "heads"};
inline constexpr std::string_view kTowerWidth[] = {"hidden_size", "vt_hidden_size", "width"};
inline constexpr std::string_view kEmbedDim[] = {"embed_dim"};
inline constexpr std::string_view kContextLeft[] = {"attention_context_left"};
inline constexpr std::string_view kContextRight[] = {"attention_context_right"};
inline constexpr std::string_view kLogitCap[] = {"attention_logit_cap"};
inline constexpr std::string_view kDepths[] = {"depths", "encoder_depths"};
inline constexpr std::string_view kDecoderDepths[] = {"decoder_depths"};
inline constexpr std::string_view kInterleave[] = {"rope_interleave", "rotary_emb_interleaved"};

// ---- of encoders and learned tables ----
inline constexpr std::string_view kPadding[] = {"pad_token_id"};
inline constexpr std::string_view kTokenTypes[] = {"type_vocab_size"};
inline constexpr std::string_view kScaleEmbedding[] = {"scale_embedding", "rescale_embeddings"};
inline constexpr std::string_view kBiasedInput[] = {"position_biased_input"};
inline constexpr std::string_view kSines[] = {"sinusoidal_pos_embds"};
inline constexpr std::string_view kAxial[] = {"axial_pos_embds"};
inline constexpr std::string_view kAxialShape[] = {"axial_pos_shape"};
inline constexpr std::string_view kAxialDims[] = {"axial_pos_embds_dim"};
inline constexpr std::string_view kLearnedInput[] = {"learned_pos_emb"};

inline constexpr std::string_view kBuckets[] = {"relative_attention_num_buckets"};
inline constexpr std::string_view kMaxDistance[] = {"relative_attention_max_distance"};
inline constexpr std::string_view kClampLength[] = {"clamp_len"};
inline constexpr std::string_view kBothWaysData[] = {"bi_data"};
inline constexpr std::string_view kRelativeAttention[] = {"relative_attention"};
inline constexpr std::string_view kPositionParts[] = {"pos_att_type"};
inline constexpr std::string_view kMaxRelative[] = {"max_relative_positions"};
inline constexpr std::string_view kPositionBuckets[] = {"position_buckets"};
inline constexpr std::string_view kSharedProjection[] = {"share_att_key"};
inline constexpr std::string_view kScaleScores[] = {"scale_attn_weights"};
inline constexpr std::string_view kScaleByLayer[] = {"scale_attn_by_inverse_layer_idx"};
inline constexpr std::string_view kSoftmaxScale[] = {"softmax_scale"};

inline constexpr std::string_view kIsDecoder[] = {"is_decoder"};
inline constexpr std::string_view kCausal[] = {"causal"};
inline constexpr std::string_view kAttentionKind[] = {"attn_type"};
inline constexpr std::string_view kSameLength[] = {"same_length"};
inline constexpr std::string_view kPrefix[] = {"prefix_lm"};
inline constexpr std::string_view kAddCross[] = {"add_cross_attention"};
inline constexpr std::string_view kGlobalInterval[] = {"global_attn_every_n_layers"};
inline constexpr std::string_view kAttentionTypes[] = {"attention_types"};
inline constexpr std::string_view kAttentionLayers[] = {"attention_layers"};
inline constexpr std::string_view kTwoSidedWindow[] = {"attention_window"};
inline constexpr std::string_view kChunkTypes[] = {"attn_layers"};
inline constexpr std::string_view kLocalChunk[] = {"local_attn_chunk_length"};
inline constexpr std::string_view kLocalBefore[] = {"local_num_chunks_before"};
inline constexpr std::string_view kLocalAfter[] = {"local_num_chunks_after"};
inline constexpr std::string_view kHashChunk[] = {"lsh_attn_chunk_length"};
inline constexpr std::string_view kHashBefore[] = {"lsh_num_chunks_before"};
inline constexpr std::string_view kHashAfter[] = {"lsh_num_chunks_after"};
inline constexpr std::string_view kHashes[] = {"num_hashes"};
inline constexpr std::string_view kHashBuckets[] = {"num_buckets"};
inline constexpr std::string_view kWindowSize[] = {"window_size"};
inline constexpr std::string_view kLocalAttention[] = {"local_attention"};
inline constexpr std::string_view kScaleBase[] = {"rotary_emb_scale_base"};
inline constexpr std::string_view kGrouped[] = {"multi_query_attention"};
inline constexpr std::string_view kMultiQuery[] = {"multi_query"};
inline constexpr std::string_view kNewDecoder[] = {"new_decoder_architecture"};

inline constexpr std::string_view kPositionType[] = {"position_embedding_type", "pe"};
inline constexpr std::string_view kRopeFlag[] = {"rope"};
inline constexpr std::string_view kMemoryRope[] = {"use_mem_rope"};
inline constexpr std::string_view kRopeCode[] = {"rope_impl"};
inline constexpr std::string_view kDailRope[] = {"rope_dail_config"};
inline constexpr std::string_view kHfRules[] = {"rope_hf_config"};
inline constexpr std::string_view kAlibi[] = {"alibi"};
inline constexpr std::string_view kMaxBias[] = {"alibi_bias_max"};
inline constexpr std::string_view kDynamicNtk[] = {"use_dynamic_ntk"};
inline constexpr std::string_view kLogn[] = {"use_logn_attn"};
inline constexpr std::string_view kPositionScale[] = {"rope_position_scale"};
inline constexpr std::string_view kNtkFactor[] = {"rotary_scaling_factor"};
inline constexpr std::string_view kNtkLength[] = {"max_trained_positions"};
inline constexpr std::string_view kMupScaling[] = {"mup_use_scaling"};
inline constexpr std::string_view kMupMultiplier[] = {"mup_attn_multiplier"};
inline constexpr std::string_view kBlockSize[] = {"blocksparse_block_size", "sparse_block_size"};
inline constexpr std::string_view kLocalBlocks[] = {"blocksparse_num_local_blocks", "sparse_num_local_blocks"};
inline constexpr std::string_view kBlockStride[] = {"blocksparse_vert_stride"};
inline constexpr std::string_view kDenseInterval[] = {"dense_attention_every_n_layers"};
inline constexpr std::string_view kSparseMode[] = {"sparse_mode"};
inline constexpr std::string_view kGlobalBlocks[] = {"sparse_num_global_blocks"};
inline constexpr std::string_view kHfRope[] = {"use_hf_rope"};
inline constexpr std::string_view kScaledRope[] = {"use_scaled_rope"};
inline constexpr std::string_view kScaledFactor[] = {"rope_scale_factor", "rope_scaling_factor"};
inline constexpr std::string_view kLowFactor[] = {"low_freq_factor"};
inline constexpr std::string_view kHighFactor[] = {"high_freq_factor", "rope_high_freq_factor"};
inline constexpr std::string_view kShortFactors[] = {"rope_scaling_short_factor"};
inline constexpr std::string_view kLongFactors[] = {"rope_scaling_long_factor"};
inline constexpr std::string_view kYarn[] = {"yarn"};
inline constexpr std::string_view kRopeFactor[] = {"rope_factor"};
inline constexpr std::string_view kOriginalSeqLen[] = {"original_seq_len"};
inline constexpr std::string_view kBetaFast[] = {"beta_fast"};
inline constexpr std::string_view kBetaSlow[] = {"beta_slow"};
inline constexpr std::string_view kMscale[] = {"mscale"};
inline constexpr std::string_view kLlama4Scaling[] = {"llama_4_scaling"};
inline constexpr std::string_view kBeta[] = {"llama_4_scaling_beta"};
}  // namespace key_names

namespace keys {
// ---- sizes ----
inline constexpr Key kHeads{key_names::kHeads, "attention heads"};
inline constexpr Key kLayers{key_names::kLayers, "layers of the stack"};
inline constexpr Key kHidden{key_names::kHidden,
                             "channels of the model; over heads, the channels of a head where no key gives them"};
inline constexpr Key kKvHeads{key_names::kKvHeads, "heads of keys and values; absent or null: as many as heads", true};
inline constexpr Key kHeadDim{key_names::kHeadDim, "channels of a head of queries and keys", true};
inline constexpr Key kLength{key_names::kLength, "tokens that the model is for: the trained length"};
inline constexpr Key kUseMla{key_names::kUseMla, "false: a DeepSeek model without latent attention, built like Llama"};
inline constexpr Key kNopeDim{key_names::kNopeDim,
                              "latent attention: channels of a head that do not turn, before those that do"};
inline constexpr Key kRopeDim{key_names::kRopeDim,
                              "latent attention: channels of a head that turn; DeepSeek V4: the last ones"};
inline constexpr Key kValueDim{key_names::kValueDim, "latent attention: channels of a head of values"};
inline constexpr Key kGrouped{key_names::kGrouped,
                              "whether keys and values have heads of their own number; OLMo: whether they have one"};
inline constexpr Key kMultiQuery{key_names::kMultiQuery, "one head of keys and values, where true"};
inline constexpr Key kNewDecoder{key_names::kNewDecoder, "Falcon: num_kv_heads counts, whatever multi_query says"};

// ---- which scheme ----
inline constexpr Key kPositionType{
    key_names::kPositionType,
    "ESM: \"rotary\" or \"absolute\"; Granite 4: \"rope\" turns, all else does not; Nemotron-NAS: \"mistral_yarn\" and "
    "\"rope_llama4\" pair neighbours; unknown families: \"absolute\" is a learned table"};
inline constexpr Key kRopeFlag{key_names::kRopeFlag, "MPT, OLMo's first files: whether the model turns"};
inline constexpr Key kMemoryRope{key_names::kMemoryRope, "Zamba 2: whether queries and keys turn"};
inline constexpr Key kRopeCode{
    key_names::kRopeCode, "MPT: whose code turns, \"dail\" or \"hf\"; both pair halves, and each has its dictionary"};
inline constexpr Key kDailRope{key_names::kDailRope,
                               "MPT, for \"dail\": in it type, \"original\", or \"xpos\", which is not read"};
inline constexpr Key kHfRules{key_names::kHfRules,
                              "MPT, for \"hf\": in it type, \"no_scaling\", or a rule, which is not read"};
inline constexpr Key kAlibi{key_names::kAlibi, "whether the scores have ALiBi instead of a rotation"};
inline constexpr Key kMaxBias{key_names::kMaxBias, "ALiBi: slopes are powers of 2^(-this / heads)"};

inline constexpr Key kGlobalHeadDim{key_names::kGlobalHeadDim, "channels of a head in full layers (Gemma 4)"};
inline constexpr Key kGlobalKvHeads{
    key_names::kGlobalKvHeads, "heads of keys and values in full layers, where attention_k_eq_v is true (Gemma 4)"};
inline constexpr Key kKeysAreValues{key_names::kKeysAreValues,
                                    "whether full layers take their values from the keys (Gemma 4)"};
inline constexpr Key kSlidingHeads{key_names::kSlidingHeads, "attention heads of layers with a window (Step 3.5)"};
inline constexpr Key kOtherAttention{key_names::kOtherAttention,
                                     "a dictionary: heads, groups and channels of layers with a window (Step 3.5)"};
inline constexpr Key kSharedKv{key_names::kSharedKv,
                               "so many last layers reuse the keys and values of an earlier layer of their type"};

// ---- rotation ----
inline constexpr Key kCompressedBase{key_names::kCompressedBase,
                                     "the base of layers that have keys made of several tokens (DeepSeek V4)"};
inline constexpr Key kLayerBases{key_names::kLayerBases,
                                 "Granite SWA: a base for each layer; 0: the layer does not turn"};
inline constexpr Key kPartialFactors{key_names::kPartialFactors,
                                     "the part of a head that turns, a number a layer (Step 3.5)"};
inline constexpr Key kBase{key_names::kBase, "the base, theta, of the rotation"};
inline constexpr Key kLocalBase{key_names::kLocalBase, "the base of layers with a window"};
inline constexpr Key kPartialFactor{key_names::kPartialFactor,
                                    "the part of a head that turns: trunc(head_dim x factor) channels"};
inline constexpr Key kRotaryDim{key_names::kRotaryDim, "channels of a head that turn; null: all", true};
inline constexpr Key kDynamicNtk{key_names::kDynamicNtk, "Qwen 1: dynamic NTK beyond seq_length"};
inline constexpr Key kRopeRatio{key_names::kRopeRatio, "ChatGLM: the base is 10000 times this"};
inline constexpr Key kOriginalRope{key_names::kOriginalRope,
                                   "ChatGLM: false means another pairing, of which the sources disagree"};
inline constexpr Key kOriginalLength{key_names::kOriginalLength,
                                     "YaRN, LongRoPE, Llama 3: tokens of the training before the rule was applied; "
                                     "absent: the trained length, with a warning"};
inline constexpr Key kRopeParameters{key_names::kRopeParameters,
                                     "the dictionary of the rotation, flat or one per layer type; beats rope_scaling"};
inline constexpr Key kInterleave{key_names::kInterleave, "whether neighbours pair (true) or halves"};

inline constexpr Key kPositionScale{key_names::kPositionScale, "Phi-3-small: positions are divided by this"};
inline constexpr Key kNtkFactor{key_names::kNtkFactor, "Nomic BERT: dynamic NTK by this factor; null or 0: no rule"};
inline constexpr Key kNtkLength{key_names::kNtkLength, "Nomic BERT: from this length on it stretches; absent: 2048"};

// ---- blocks of keys ----
inline constexpr Key kBlockSize{key_names::kBlockSize, "keys of a block, where layers see blocks by a fixed pattern"};
inline constexpr Key kLocalBlocks{key_names::kLocalBlocks, "nearest blocks that such a layer sees"};
inline constexpr Key kBlockStride{key_names::kBlockStride, "Phi-3-small: each n-th block besides"};
inline constexpr Key kDenseInterval{key_names::kDenseInterval, "Phi-3-small: each n-th layer sees every key"};
inline constexpr Key kSparseMode{key_names::kSparseMode, "ruGPT-3 XL: \"alternating\" is blocks in even layers"};
inline constexpr Key kGlobalBlocks{key_names::kGlobalBlocks, "ruGPT-3 XL: blocks of each group that all later see"};

// ---- rotation in native files (params.json and the like) ----
inline constexpr Key kHfRope{key_names::kHfRope, "ExecuTorch: halves pair (true) or neighbours"};
inline constexpr Key kScaledRope{key_names::kScaledRope, "Meta, ExecuTorch: the Llama 3 rule"};
inline constexpr Key kScaledFactor{key_names::kScaledFactor, "its factor; absent: 8"};
inline constexpr Key kLowFactor{key_names::kLowFactor, "its lower border; absent: 1"};
inline constexpr Key kHighFactor{key_names::kHighFactor, "its upper border; absent: 4"};
inline constexpr Key kShortFactors{key_names::kShortFactors,
                                   "ExecuTorch: LongRoPE's divisors up to the original length"};
inline constexpr Key kLongFactors{key_names::kLongFactors, "ExecuTorch: LongRoPE's divisors beyond it"};
inline constexpr Key kYarn{key_names::kYarn,
                           "Mistral: YaRN; in it factor, original_max_position_embeddings, beta (its beta_fast), alpha "
                           "(its beta_slow), apply_scale (false: attention factor 1)"};
inline constexpr Key kRopeFactor{key_names::kRopeFactor, "DeepSeek: YaRN's factor; absent: 40"};
inline constexpr Key kOriginalSeqLen{key_names::kOriginalSeqLen, "DeepSeek: YaRN's original length; absent: 4096"};
inline constexpr Key kBetaFast{key_names::kBetaFast, "DeepSeek: YaRN's beta_fast; absent: 32"};
inline constexpr Key kBetaSlow{key_names::kBetaSlow, "DeepSeek: YaRN's beta_slow; absent: 1"};
inline constexpr Key kMscale{key_names::kMscale, "DeepSeek: YaRN's mscale, in the softmax scale; absent: 1"};

// ---- which layers, and what they see ----
inline constexpr Key kWindow{
    key_names::kWindow, "w: a token sees itself and w - 1 before it; null: all. At or above the trained length: none",
    true};
inline constexpr Key kLocalRadius{key_names::kLocalRadius, "LongT5: how far its encoder's tokens see, to each side"};
inline constexpr Key kPattern{
    key_names::kPattern, "BigBird: \"block_sparse\" or \"original_full\"; LongT5: \"local\" or \"transient-global\""};
inline constexpr Key kUseWindow{key_names::kUseWindow, "false switches windows off"};
inline constexpr Key kMaxWindowLayers{key_names::kMaxWindowLayers,
                                      "layers from this one on have the window; Qwen2-MoE: even layers below it"};
inline constexpr Key kLayerTypes{key_names::kLayerTypes,
                                 "what each layer sees, or is; one entry more than layers is allowed"};
inline constexpr Key kBlockTypes{key_names::kBlockTypes,
                                 "\"recurrent\" or \"attention\", over and over until there is one a layer"};
inline constexpr Key kAttendingLayers{key_names::kAttendingLayers,
                                      "layers that attend, counted from 0; where there is no layer_types"};
inline constexpr Key kAttentionPeriod{key_names::kAttentionPeriod,
                                      "layers i attend where i mod this is attn_layer_offset"};
inline constexpr Key kAttentionOffset{key_names::kAttentionOffset, "see attn_layer_period"};
inline constexpr Key kKindLetters{key_names::kKindLetters,
                                  "a letter a layer: M state space, * attention, E and - none"};
inline constexpr Key kAttentionInterval{key_names::kAttentionInterval,
                                        "each n-th layer attends, the others are linear"};
inline constexpr Key kLinearAttention{key_names::kLinearAttention, "a dictionary with lists of layers, counted from 1"};
inline constexpr Key kFullLayers{key_names::kFullLayers,
                                 "in linear_attn_config: the layers that attend, counted from 1"};
inline constexpr Key kLinearLayers{key_names::kLinearLayers,
                                   "in linear_attn_config: the linear layers, counted from 1"};
inline constexpr Key kBlocks{key_names::kBlocks,
                             "a list of blocks: whether each attends, and how its heads are grouped"};
inline constexpr Key kGroupSize{key_names::kGroupSize, "in block_configs: queries that share a key"};
inline constexpr Key kNoOp{key_names::kNoOp, "in block_configs: true leaves the block without attention"};
inline constexpr Key kReplacedByLinear{key_names::kReplacedByLinear,
                                       "in block_configs: true puts one linear map in the place of attention"};
inline constexpr Key kCrossLayers{key_names::kCrossLayers, "layers that attend to another stack's output"};
inline constexpr Key kPredictionLayers{key_names::kPredictionLayers,
                                       "layers of multi-token prediction, which lists may count too"};
inline constexpr Key kWindowPattern{
    key_names::kWindowPattern,
    "n: each n-th layer is full. Letters (\"LLLG\") or a list: repeated; with letters the last layer is full"};
inline constexpr Key kChunk{key_names::kChunk, "tokens of a chunk: keys of the own chunk only; null: none", true};
inline constexpr Key kDualChunk{
    key_names::kDualChunk,
    "Qwen2.5-1M: dual chunk attention; in it chunk_size, local_size, original_max_position_embeddings and "
    "sparse_attention_enabled"};
inline constexpr Key kRotatingLayers{key_names::kRotatingLayers,
                                     "1: this layer turns, 0: it does not. Empty is absent; one entry more is allowed"};
inline constexpr Key kNopeInterval{key_names::kNopeInterval, "each n-th layer does not turn"};
inline constexpr Key kBidirectional{key_names::kBidirectional, "both directions; Gemma 3 halves its window then"};
inline constexpr Key kIsCausal{key_names::kIsCausal, "false: both directions, and a window of w is |i - j| <= w"};
inline constexpr Key kCausalAttn{key_names::kCausalAttn,
                                 "LocateAnything: false is a mask by blocks, which is not known"};

// ---- keys that are chosen, and keys made of several tokens ----
inline constexpr Key kCompressRatios{
    key_names::kCompressRatios,
    "tokens of a key in each layer: 0 none, 4 chosen by an indexer, 128 all of them (DeepSeek V4)"};
inline constexpr Key kCompressRates{key_names::kCompressRates,
                                    "a dictionary: tokens of a key, by layer type (DeepSeek V4)"};
inline constexpr Key kSparseRate{key_names::kSparseRate, "the same for compressed_sparse_attention, in older files"};
inline constexpr Key kHeavyRate{key_names::kHeavyRate, "the same for heavily_compressed_attention, in older files"};
inline constexpr Key kSparseAttention{key_names::kSparseAttention, "a dictionary of an indexer's keys (MiniMax M3)"};
inline constexpr Key kUseSparse{key_names::kUseSparse, "false switches the indexer off"};
inline constexpr Key kSparseLayers{key_names::kSparseLayers, "1: this layer has an indexer, 0: it sees all"};
inline constexpr Key kIndexHeads{key_names::kIndexHeads, "query heads of the indexer"};
inline constexpr Key kIndexHeadDim{key_names::kIndexHeadDim, "channels of a head of the indexer"};
inline constexpr Key kIndexKept{key_names::kIndexKept, "keys that the indexer lets a query see"};
inline constexpr Key kIndexBlocks{key_names::kIndexBlocks, "blocks of keys that the indexer lets a query see"};
inline constexpr Key kIndexBlockSize{key_names::kIndexBlockSize, "keys of such a block"};
inline constexpr Key kIndexOwnBlocks{key_names::kIndexOwnBlocks, "blocks up to the query's own that it always sees"};
inline constexpr Key kIndexInterleave{key_names::kIndexInterleave,
                                      "whether neighbours pair in the indexer (true) or halves"};
inline constexpr Key kIndexerTypes{key_names::kIndexerTypes,
                                   "full: this layer has an indexer, shared: it takes the choice of an earlier one"};
inline constexpr Key kIndexPattern{key_names::kIndexPattern, "the same in letters, F and S"};
inline constexpr Key kIndexFrequency{key_names::kIndexFrequency, "each n-th layer has an indexer"};
inline constexpr Key kIndexOffset{key_names::kIndexOffset,
                                  "layers up to this one all have an indexer; then index_topk_freq counts"};

// ---- scores ----
inline constexpr Key kQueryScalar{key_names::kQueryScalar, "the softmax scale is 1 / sqrt of it"};
inline constexpr Key kAttentionMultiplier{key_names::kAttentionMultiplier, "the softmax scale"};
inline constexpr Key kKeyMultiplier{key_names::kKeyMultiplier,
                                    "Falcon H1: a factor on keys, and thereby on the softmax scale"};
inline constexpr Key kNormSwitch{key_names::kNormSwitch, "whether queries and keys are normalised"};
inline constexpr Key kSoftCap{key_names::kSoftCap, "the cap of the scores; null: none", true};
inline constexpr Key kTemperature{key_names::kTemperature, "whether queries are scaled by position (Llama 4)"};
inline constexpr Key kTemperatureScale{key_names::kTemperatureScale, "the factor of that scale"};
inline constexpr Key kTemperatureFloor{key_names::kTemperatureFloor, "tokens from which that scale grows"};
inline constexpr Key kMupScaling{key_names::kMupScaling,
                                 "Phi-3-small: the softmax scale is mup_attn_multiplier / head_dim"};
inline constexpr Key kMupMultiplier{key_names::kMupMultiplier, "Phi-3-small: see mup_use_scaling"};
inline constexpr Key kBeta{key_names::kBeta, "Ministral 3: queries times 1 + this ln(1 + floor(i / original length))"};
inline constexpr Key kLlama4Scaling{key_names::kLlama4Scaling,
                                    "Mistral: the same, by beta and original_max_position_embeddings in it"};
inline constexpr Key kLogn{key_names::kLogn, "Qwen 1: queries times max(1, ln(i + 1) / ln(seq_length))"};

// ---- input ----
inline constexpr Key kPadding{key_names::kPadding,
                              "RoBERTa, M2M-100: token i takes row i + pad_token_id + 1 of the table"};
inline constexpr Key kTokenTypes{key_names::kTokenTypes, "rows of a second table, by segment; 0: there is none"};
inline constexpr Key kScaleEmbedding{
    key_names::kScaleEmbedding, "whether the embedding is multiplied by sqrt(hidden size) before positions are added"};
inline constexpr Key kBiasedInput{key_names::kBiasedInput, "DeBERTa: false means no table of positions"};
inline constexpr Key kSines{key_names::kSines, "DistilBERT: sines in place of the learned table"};
inline constexpr Key kAxial{key_names::kAxial, "Reformer: false means one learned table in place of one for each axis"};
inline constexpr Key kAxialShape{key_names::kAxialShape, "rows of each axis' table"};
inline constexpr Key kAxialDims{
    key_names::kAxialDims, "channels of each axis' rows, which stand side by side: they add up to the hidden size"};
inline constexpr Key kLearnedInput{key_names::kLearnedInput,
                                   "MPT: whether there is a learned table; it means nothing beside ALiBi"};

// ---- score terms ----
inline constexpr Key kBuckets{key_names::kBuckets, "T5, MPNet: buckets of distances, of both directions together"};
inline constexpr Key kMaxDistance{key_names::kMaxDistance, "T5: from this distance on all fall into the last bucket"};
inline constexpr Key kClampLength{key_names::kClampLength,
                                  "XLNet: distances are clamped to it; -1 and 0: they are not"};
inline constexpr Key kBothWaysData{key_names::kBothWaysData, "XLNet: half of the batch is read backwards"};
inline constexpr Key kRelativeAttention{key_names::kRelativeAttention,
                                        "DeBERTa: whether scores have terms of position"};
inline constexpr Key kPositionParts{
    key_names::kPositionParts,
    "DeBERTa: which terms, c2p and p2c, as a list or with bars between; they share the scale"};
inline constexpr Key kMaxRelative{key_names::kMaxRelative,
                                  "DeBERTa: the largest distance; below 1: max_position_embeddings"};
inline constexpr Key kPositionBuckets{
    key_names::kPositionBuckets,
    "DeBERTa v2: buckets of distances, logarithmic beyond their half; absent or below 1: none"};
inline constexpr Key kSharedProjection{key_names::kSharedProjection,
                                       "DeBERTa v2: positions are projected with the weights of the content"};
inline constexpr Key kScaleScores{key_names::kScaleScores, "GPT-2: false means a softmax scale of 1"};
inline constexpr Key kScaleByLayer{key_names::kScaleByLayer, "GPT-2: the softmax scale of layer i is divided by i + 1"};
inline constexpr Key kSoftmaxScale{key_names::kSoftmaxScale, "MPT: the softmax scale; null: 1 / sqrt(head_dim)"};

// ---- encoders and decoders ----
inline constexpr Key kIsDecoder{key_names::kIsDecoder, "true makes the stack causal"};
inline constexpr Key kCausal{key_names::kCausal, "true makes the stack causal"};
inline constexpr Key kAttentionKind{
    key_names::kAttentionKind,
    "XLNet: \"bi\" sees both ways, \"uni\" is causal; MPT: \"multihead_attention\", "
    "\"multiquery_attention\" (one head of keys), \"grouped_query_attention\" (kv_n_heads)"};
inline constexpr Key kSameLength{key_names::kSameLength,
                                 "XLNet, where causal: every token sees as many keys as the others"};
inline constexpr Key kPrefix{key_names::kPrefix, "MPT: the prompt sees itself both ways"};
inline constexpr Key kAddCross{key_names::kAddCross, "a second attention in each block, to another stack's output"};
inline constexpr Key kGlobalInterval{key_names::kGlobalInterval, "each n-th layer, from the first on, has no window"};
inline constexpr Key kAttentionTypes{
    key_names::kAttentionTypes, "groups of \"global\" and \"local\" with a count each: which layers have the window"};
inline constexpr Key kAttentionLayers{key_names::kAttentionLayers,
                                      "the same, a word a layer; attention_types beats it"};
inline constexpr Key kTwoSidedWindow{key_names::kTwoSidedWindow,
                                     "a number or one a layer: tokens of the window, half to each side"};
inline constexpr Key kWindowSize{key_names::kWindowSize, "GPT-Neo: tokens that local layers see, itself included"};
inline constexpr Key kLocalAttention{key_names::kLocalAttention, "ModernBERT: tokens of the window, half to each side"};
inline constexpr Key kChunkTypes{key_names::kChunkTypes,
                                 "Reformer: \"local\" or \"lsh\" for each layer, and thereby how many there are"};
inline constexpr Key kLocalChunk{key_names::kLocalChunk, "Reformer: tokens of a chunk of local layers"};
inline constexpr Key kLocalBefore{key_names::kLocalBefore, "and how many chunks before it are seen"};
inline constexpr Key kLocalAfter{key_names::kLocalAfter, "and how many after it"};
inline constexpr Key kHashChunk{key_names::kHashChunk, "Reformer: tokens of a chunk of the sequence sorted by hash"};
inline constexpr Key kHashBefore{key_names::kHashBefore, "and how many chunks before it are seen"};
inline constexpr Key kHashAfter{key_names::kHashAfter, "and how many after it"};
inline constexpr Key kHashes{key_names::kHashes, "Reformer: rounds of hashing"};
inline constexpr Key kHashBuckets{key_names::kHashBuckets,
                                  "Reformer: buckets of a hash, or factors of their number; null: by length. WavLM: "
                                  "buckets of distances, of both directions together"};
inline constexpr Key kScaleBase{key_names::kScaleBase, "xPos: tokens over which a pair decays once; null: no decay"};

// ---- vision and audio ----
inline constexpr Key kImageSize{key_names::kImageSize, "pixels of a side of the trained image, or [height, width]"};
inline constexpr Key kPatchSize{key_names::kPatchSize, "pixels of a side of a patch, or [height, width]"};
inline constexpr Key kPositionRows{key_names::kPositionRows, "rows of the learned table of patches"};
inline constexpr Key kPatchRows{key_names::kPatchRows, "SigLIP 2: rows of the learned table of patches"};
inline constexpr Key kSourceRows{key_names::kSourceRows, "rows of the table of audio frames"};
inline constexpr Key kAxisRows{key_names::kAxisRows, "Gemma 4: rows of the learned table of each axis"};
inline constexpr Key kGridHeight{key_names::kGridHeight, "rows of patches in the learned grid"};
inline constexpr Key kGridWidth{key_names::kGridWidth, "patches in a row of the learned grid"};
inline constexpr Key kGridTime{key_names::kGridTime, "frames in the table of sines over time"};
inline constexpr Key kAspectRatios{key_names::kAspectRatios,
                                   "Mllama: the list of aspect ratios; one more row is for none"};
inline constexpr Key kMaxTiles{key_names::kMaxTiles, "Mllama: tiles of an image, at most"};
inline constexpr Key kAbsoluteTable{key_names::kAbsoluteTable, "false: patches have no learned table"};
inline constexpr Key kRelativeTables{key_names::kRelativeTables, "SAM: false: no tables of distances"};
inline constexpr Key kPatchWindow{key_names::kPatchWindow,
                                  "side of a window: in pixels (Qwen2.5-VL), in patches (SAM); 0 there: none"};
inline constexpr Key kFullBlocks{key_names::kFullBlocks, "layers that see the whole image; the others see a window"};
inline constexpr Key kMergeSize{key_names::kMergeSize,
                                "patches of a side that become one token; windows are cut along them"};
inline constexpr Key kWindowKernel{key_names::kWindowKernel, "MiniCPM-V: sides in patches of the merger's windows"};
inline constexpr Key kInsertLayer{key_names::kInsertLayer, "MiniCPM-V: the vision layer after which the merger runs"};
inline constexpr Key kGlobalLayers{key_names::kGlobalLayers, "Mllama: layers of the second, global encoder"};
inline constexpr Key kTowerLayers{key_names::kTowerLayers, "layers of a vision stack"};
inline constexpr Key kTowerHeads{key_names::kTowerHeads, "heads of a vision stack"};
inline constexpr Key kTowerWidth{key_names::kTowerWidth, "channels of a vision stack"};
inline constexpr Key kEmbedDim{key_names::kEmbedDim,
                               "Qwen2-VL: channels of the vision stack, whose hidden_size is what it hands on"};
inline constexpr Key kContextLeft{key_names::kContextLeft, "Gemma 4 audio: a frame sees this less 2 frames back"};
inline constexpr Key kContextRight{key_names::kContextRight, "Gemma 4 audio: and this less 1 ahead"};
inline constexpr Key kLogitCap{key_names::kLogitCap, "Gemma 4 audio: the cap of the scores"};
inline constexpr Key kDepths{key_names::kDepths, "blocks of each stage of a convolutional encoder: [3, 8] or \"3-8\""};
inline constexpr Key kDecoderDepths{key_names::kDecoderDepths,
                                    "blocks of each stage of its decoder; null: the encoder's, turned round"};
}  // namespace keys

}  // namespace posenc::plan
