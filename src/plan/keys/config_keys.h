// The keys that bear on positions, each with the names under which model files carry it, best first.
//
// The first name is Hugging Face's. A family may read one of the others before it (Family::own_names). Keys that stand
// in the rope dictionaries are with their rules (rope_rules.cpp).
#pragma once

#include "plan/keys/key.h"

namespace posenc::plan {

namespace keys {
// ---- sizes ----
inline constexpr Key kHeads{
    "num_attention_heads n_head n_heads num_heads num_query_heads encoder_attention_heads attention_heads "
    "decoder_attention_heads",
    "attention heads"};
inline constexpr Key kLayers{
    "num_hidden_layers n_layer n_layers num_layers depth encoder_layers decoder_layers num_decoder_layers "
    "num_transformer_layers layers",
    "layers of the stack"};
inline constexpr Key kHidden{"hidden_size n_embd n_embed d_model dim model_dim",
                             "channels of the model; over heads, the channels of a head where no key gives them"};
inline constexpr Key kKvHeads{
    "num_key_value_heads num_kv_heads kv_n_heads n_kv_heads n_head_kv multi_query_group_num num_gqa_groups "
    "num_attention_groups",
    "heads of keys and values; absent or null: as many as heads", true};
inline constexpr Key kHeadDim{"head_dim d_kv d_head kv_channels attention_head_size qk_head_dim attention_head_dim",
                              "channels of a head of queries and keys", true};
inline constexpr Key kLength{
    "max_position_embeddings n_positions n_ctx seq_length max_seq_len max_sequence_length max_context_length "
    "model_max_length training_seqlen max_source_positions max_target_positions "
    "max_encoder_position_embeddings max_decoder_position_embeddings seq",
    "tokens that the model is for: the trained length"};
inline constexpr Key kUseMla{"use_mla", "false: a DeepSeek model without latent attention, built like Llama"};
inline constexpr Key kNopeDim{"qk_nope_head_dim",
                              "latent attention: channels of a head that do not turn, before those that do"};
inline constexpr Key kRopeDim{"qk_rope_head_dim",
                              "latent attention: channels of a head that turn; DeepSeek V4: the last ones"};
inline constexpr Key kValueDim{"v_head_dim", "latent attention: channels of a head of values"};
inline constexpr Key kGrouped{"multi_query_attention",
                              "whether keys and values have heads of their own number; OLMo: whether they have one"};
inline constexpr Key kMultiQuery{"multi_query", "one head of keys and values, where true"};
inline constexpr Key kNewDecoder{"new_decoder_architecture", "Falcon: num_kv_heads counts, whatever multi_query says"};

// ---- which scheme ----
inline constexpr Key kPositionType{
    "position_embedding_type pe",
    "ESM: \"rotary\" or \"absolute\"; Granite 4: \"rope\" turns, all else does not; Nemotron-NAS: \"mistral_yarn\" and "
    "\"rope_llama4\" pair neighbours; unknown families: \"absolute\" is a learned table"};
inline constexpr Key kRopeFlag{"rope", "MPT, OLMo's first files: whether the model turns"};
inline constexpr Key kMemoryRope{"use_mem_rope", "Zamba 2: whether queries and keys turn"};
inline constexpr Key kRopeCode{
    "rope_impl", "MPT: whose code turns, \"dail\" or \"hf\"; both pair halves, and each has its dictionary"};
inline constexpr Key kDailRope{"rope_dail_config",
                               "MPT, for \"dail\": in it type, \"original\", or \"xpos\", which is not read"};
inline constexpr Key kHfRules{"rope_hf_config",
                              "MPT, for \"hf\": in it type, \"no_scaling\", or a rule, which is not read"};
inline constexpr Key kAlibi{"alibi", "whether the scores have ALiBi instead of a rotation"};
inline constexpr Key kMaxBias{"alibi_bias_max", "ALiBi: slopes are powers of 2^(-this / heads)"};

inline constexpr Key kGlobalHeadDim{"global_head_dim", "channels of a head in full layers (Gemma 4)"};
inline constexpr Key kGlobalKvHeads{
    "num_global_key_value_heads", "heads of keys and values in full layers, where attention_k_eq_v is true (Gemma 4)"};
inline constexpr Key kKeysAreValues{"attention_k_eq_v",
                                    "whether full layers take their values from the keys (Gemma 4)"};
inline constexpr Key kSlidingHeads{"num_sliding_attention_heads", "attention heads of layers with a window (Step 3.5)"};
inline constexpr Key kOtherAttention{"attention_other_setting",
                                     "a dictionary: heads, groups and channels of layers with a window (Step 3.5)"};
inline constexpr Key kSharedKv{"num_kv_shared_layers",
                               "so many last layers reuse the keys and values of an earlier layer of their type"};

// ---- rotation ----
inline constexpr Key kCompressedBase{"compress_rope_theta",
                                     "the base of layers that have keys made of several tokens (DeepSeek V4)"};
inline constexpr Key kLayerBases{"layer_rope_theta", "Granite SWA: a base for each layer; 0: the layer does not turn"};
inline constexpr Key kPartialFactors{"partial_rotary_factors",
                                     "the part of a head that turns, a number a layer (Step 3.5)"};
inline constexpr Key kBase{
    "rope_theta rotary_emb_base rope_embedding_base rope_freq_constant rope_freq_base global_rope_theta",
    "the base, theta, of the rotation"};
inline constexpr Key kLocalBase{"rope_local_base_freq local_rope_theta swa_rope_theta",
                                "the base of layers with a window"};
inline constexpr Key kPartialFactor{
    "partial_rotary_factor rotary_pct rope_pct rope_percent rotary_percentage rotary_emb_fraction",
    "the part of a head that turns: trunc(head_dim x factor) channels"};
inline constexpr Key kRotaryDim{"rotary_dim pe_rotary_dims", "channels of a head that turn; null: all", true};
inline constexpr Key kDynamicNtk{"use_dynamic_ntk", "Qwen 1: dynamic NTK beyond seq_length"};
inline constexpr Key kRopeRatio{"rope_ratio", "ChatGLM: the base is 10000 times this"};
inline constexpr Key kOriginalRope{"original_rope",
                                   "ChatGLM: false means another pairing, of which the sources disagree"};
inline constexpr Key kOriginalLength{"original_max_position_embeddings",
                                     "YaRN, LongRoPE, Llama 3: tokens of the training before the rule was applied; "
                                     "absent: the trained length, with a warning"};
inline constexpr Key kRopeParameters{"rope_parameters",
                                     "the dictionary of the rotation, flat or one per layer type; beats rope_scaling"};
inline constexpr Key kInterleave{"rope_interleave rotary_emb_interleaved", "whether neighbours pair (true) or halves"};

inline constexpr Key kPositionScale{"rope_position_scale", "Phi-3-small: positions are divided by this"};
inline constexpr Key kNtkFactor{"rotary_scaling_factor", "Nomic BERT: dynamic NTK by this factor; null or 0: no rule"};
inline constexpr Key kNtkLength{"max_trained_positions", "Nomic BERT: from this length on it stretches; absent: 2048"};

// ---- blocks of keys ----
inline constexpr Key kBlockSize{"blocksparse_block_size sparse_block_size",
                                "keys of a block, where layers see blocks by a fixed pattern"};
inline constexpr Key kLocalBlocks{"blocksparse_num_local_blocks sparse_num_local_blocks",
                                  "nearest blocks that such a layer sees"};
inline constexpr Key kBlockStride{"blocksparse_vert_stride", "Phi-3-small: each n-th block besides"};
inline constexpr Key kDenseInterval{"dense_attention_every_n_layers", "Phi-3-small: each n-th layer sees every key"};
inline constexpr Key kSparseMode{"sparse_mode", "ruGPT-3 XL: \"alternating\" is blocks in even layers"};
inline constexpr Key kGlobalBlocks{"sparse_num_global_blocks", "ruGPT-3 XL: blocks of each group that all later see"};

// ---- rotation in native files (params.json and the like) ----
inline constexpr Key kHfRope{"use_hf_rope", "ExecuTorch: halves pair (true) or neighbours"};
inline constexpr Key kScaledRope{"use_scaled_rope", "Meta, ExecuTorch: the Llama 3 rule"};
inline constexpr Key kScaledFactor{"rope_scale_factor rope_scaling_factor", "its factor; absent: 8"};
inline constexpr Key kLowFactor{"low_freq_factor", "its lower border; absent: 1"};
inline constexpr Key kHighFactor{"high_freq_factor rope_high_freq_factor", "its upper border; absent: 4"};
inline constexpr Key kShortFactors{"rope_scaling_short_factor",
                                   "ExecuTorch: LongRoPE's divisors up to the original length"};
inline constexpr Key kLongFactors{"rope_scaling_long_factor", "ExecuTorch: LongRoPE's divisors beyond it"};
inline constexpr Key kYarn{"yarn",
                           "Mistral: YaRN; in it factor, original_max_position_embeddings, beta (its beta_fast), alpha "
                           "(its beta_slow), apply_scale (false: attention factor 1)"};
inline constexpr Key kRopeFactor{"rope_factor", "DeepSeek: YaRN's factor; absent: 40"};
inline constexpr Key kOriginalSeqLen{"original_seq_len", "DeepSeek: YaRN's original length; absent: 4096"};
inline constexpr Key kBetaFast{"beta_fast", "DeepSeek: YaRN's beta_fast; absent: 32"};
inline constexpr Key kBetaSlow{"beta_slow", "DeepSeek: YaRN's beta_slow; absent: 1"};
inline constexpr Key kMscale{"mscale", "DeepSeek: YaRN's mscale, in the logit scale; absent: 1"};

// ---- which layers, and what they see ----
inline constexpr Key kWindow{
    "sliding_window sliding_window_size sliding_window_attention_size window_size _sliding_window",
    "w: a token sees itself and w - 1 before it; null: all. At or above the trained length: none", true};
inline constexpr Key kLocalRadius{"local_radius", "LongT5: how far its encoder's tokens see, to each side"};
inline constexpr Key kPattern{
    "attention_type encoder_attention_type",
    "BigBird: \"block_sparse\" or \"original_full\"; LongT5: \"local\" or \"transient-global\""};
inline constexpr Key kUseWindow{"use_sliding_window", "false switches windows off"};
inline constexpr Key kMaxWindowLayers{"max_window_layers",
                                      "layers from this one on have the window; Qwen2-MoE: even layers below it"};
inline constexpr Key kLayerTypes{"layer_types layers_block_type",
                                 "what each layer sees, or is; one entry more than layers is allowed"};
inline constexpr Key kBlockTypes{"block_types",
                                 "\"recurrent\" or \"attention\", over and over until there is one a layer"};
inline constexpr Key kAttendingLayers{"full_attn_idxs attn_layer_indices",
                                      "layers that attend, counted from 0; where there is no layer_types"};
inline constexpr Key kAttentionPeriod{"attn_layer_period", "layers i attend where i mod this is attn_layer_offset"};
inline constexpr Key kAttentionOffset{"attn_layer_offset", "see attn_layer_period"};
inline constexpr Key kKindLetters{"hybrid_override_pattern",
                                  "a letter a layer: M state space, * attention, E and - none"};
inline constexpr Key kAttentionInterval{"full_attention_interval", "each n-th layer attends, the others are linear"};
inline constexpr Key kLinearAttention{"linear_attn_config", "a dictionary with lists of layers, counted from 1"};
inline constexpr Key kFullLayers{"full_attn_layers", "in linear_attn_config: the layers that attend, counted from 1"};
inline constexpr Key kLinearLayers{"kda_layers", "in linear_attn_config: the linear layers, counted from 1"};
inline constexpr Key kBlocks{"block_configs", "a list of blocks: whether each attends, and how its heads are grouped"};
inline constexpr Key kGroupSize{"n_heads_in_group", "in block_configs: queries that share a key"};
inline constexpr Key kNoOp{"no_op", "in block_configs: true leaves the block without attention"};
inline constexpr Key kReplacedByLinear{"replace_with_linear",
                                       "in block_configs: true puts one linear map in the place of attention"};
inline constexpr Key kCrossLayers{"cross_attention_layers", "layers that attend to another stack's output"};
inline constexpr Key kPredictionLayers{"num_nextn_predict_layers num_mtp_layers",
                                       "layers of multi-token prediction, which lists may count too"};
inline constexpr Key kWindowPattern{
    "sliding_window_pattern global_local_attention_pattern",
    "n: each n-th layer is full. Letters (\"LLLG\") or a list: repeated; with letters the last layer is full"};
inline constexpr Key kChunk{"attention_chunk_size", "tokens of a chunk: keys of the own chunk only; null: none", true};
inline constexpr Key kDualChunk{
    "dual_chunk_attention_config",
    "Qwen2.5-1M: dual chunk attention; in it chunk_size, local_size, original_max_position_embeddings and "
    "sparse_attention_enabled"};
inline constexpr Key kRotatingLayers{"no_rope_layers",
                                     "1: this layer turns, 0: it does not. Empty is absent; one entry more is allowed"};
inline constexpr Key kNopeInterval{"no_rope_layer_interval nope_layer_interval", "each n-th layer does not turn"};
inline constexpr Key kBidirectional{"use_bidirectional_attention", "both directions; Gemma 3 halves its window then"};
inline constexpr Key kIsCausal{"is_causal", "false: both directions, and a window of w is |i - j| <= w"};
inline constexpr Key kCausalAttn{"causal_attn", "LocateAnything: false is a mask by blocks, which is not known"};

// ---- keys that are chosen, and keys made of several tokens ----
inline constexpr Key kCompressRatios{
    "compress_ratios", "tokens of a key in each layer: 0 none, 4 chosen by an indexer, 128 all of them (DeepSeek V4)"};
inline constexpr Key kCompressRates{"compress_rates", "a dictionary: tokens of a key, by layer type (DeepSeek V4)"};
inline constexpr Key kSparseRate{"compress_rate_csa", "the same for compressed_sparse_attention, in older files"};
inline constexpr Key kHeavyRate{"compress_rate_hca", "the same for heavily_compressed_attention, in older files"};
inline constexpr Key kSparseAttention{"sparse_attention_config", "a dictionary of an indexer's keys (MiniMax M3)"};
inline constexpr Key kUseSparse{"use_sparse_attention", "false switches the indexer off"};
inline constexpr Key kSparseLayers{"sparse_attention_freq", "1: this layer has an indexer, 0: it sees all"};
inline constexpr Key kIndexHeads{"index_n_heads sparse_num_index_heads", "query heads of the indexer"};
inline constexpr Key kIndexHeadDim{"index_head_dim sparse_index_dim", "channels of a head of the indexer"};
inline constexpr Key kIndexKept{"index_topk", "keys that the indexer lets a query see"};
inline constexpr Key kIndexBlocks{"index_topk_blocks sparse_topk_blocks",
                                  "blocks of keys that the indexer lets a query see"};
inline constexpr Key kIndexBlockSize{"index_block_size sparse_block_size", "keys of such a block"};
inline constexpr Key kIndexOwnBlocks{"index_local_blocks sparse_local_block",
                                     "blocks up to the query's own that it always sees"};
inline constexpr Key kIndexInterleave{"indexer_rope_interleave",
                                      "whether neighbours pair in the indexer (true) or halves"};
inline constexpr Key kIndexerTypes{"indexer_types",
                                   "full: this layer has an indexer, shared: it takes the choice of an earlier one"};
inline constexpr Key kIndexPattern{"index_topk_pattern", "the same in letters, F and S"};
inline constexpr Key kIndexFrequency{"index_topk_freq", "each n-th layer has an indexer"};
inline constexpr Key kIndexOffset{"index_skip_topk_offset",
                                  "layers up to this one all have an indexer; then index_topk_freq counts"};

// ---- scores ----
inline constexpr Key kQueryScalar{"query_pre_attn_scalar", "the logit scale is 1 / sqrt of it"};
inline constexpr Key kAttentionMultiplier{"attention_multiplier", "the logit scale"};
inline constexpr Key kKeyMultiplier{"key_multiplier", "Falcon H1: a factor on keys, and thereby on the logit scale"};
inline constexpr Key kNormSwitch{"qk_layernorm use_qk_norm qk_ln qk_norm normalize_qk_projections",
                                 "whether queries and keys are normalised"};
inline constexpr Key kSoftCap{"attn_logit_softcapping", "the cap of the scores; null: none", true};
inline constexpr Key kTemperature{"attn_temperature_tuning", "whether queries are scaled by position (Llama 4)"};
inline constexpr Key kTemperatureScale{"attn_scale", "the factor of that scale"};
inline constexpr Key kTemperatureFloor{"floor_scale", "tokens from which that scale grows"};
inline constexpr Key kMupScaling{"mup_use_scaling", "Phi-3-small: the logit scale is mup_attn_multiplier / head_dim"};
inline constexpr Key kMupMultiplier{"mup_attn_multiplier", "Phi-3-small: see mup_use_scaling"};
inline constexpr Key kBeta{"llama_4_scaling_beta",
                           "Ministral 3: queries times 1 + this ln(1 + floor(i / original length))"};
inline constexpr Key kLlama4Scaling{"llama_4_scaling",
                                    "Mistral: the same, by beta and original_max_position_embeddings in it"};
inline constexpr Key kLogn{"use_logn_attn", "Qwen 1: queries times max(1, ln(i + 1) / ln(seq_length))"};

// ---- input ----
inline constexpr Key kPadding{"pad_token_id", "RoBERTa, M2M-100: token i takes row i + pad_token_id + 1 of the table"};
inline constexpr Key kTokenTypes{"type_vocab_size", "rows of a second table, by segment; 0: there is none"};
inline constexpr Key kScaleEmbedding{
    "scale_embedding rescale_embeddings",
    "whether the embedding is multiplied by sqrt(hidden size) before positions are added"};
inline constexpr Key kBiasedInput{"position_biased_input", "DeBERTa: false means no table of positions"};
inline constexpr Key kSines{"sinusoidal_pos_embds", "DistilBERT: sines in place of the learned table"};
inline constexpr Key kAxial{"axial_pos_embds", "Reformer: false means one learned table in place of one for each axis"};
inline constexpr Key kAxialShape{"axial_pos_shape", "rows of each axis' table"};
inline constexpr Key kAxialDims{
    "axial_pos_embds_dim", "channels of each axis' rows, which stand side by side: they add up to the hidden size"};
inline constexpr Key kLearnedInput{"learned_pos_emb",
                                   "MPT: whether there is a learned table; it means nothing beside ALiBi"};

// ---- score terms ----
inline constexpr Key kBuckets{"relative_attention_num_buckets",
                              "T5, MPNet: buckets of distances, of both directions together"};
inline constexpr Key kMaxDistance{"relative_attention_max_distance",
                                  "T5: from this distance on all fall into the last bucket"};
inline constexpr Key kClampLength{"clamp_len", "XLNet: distances are clamped to it; -1 and 0: they are not"};
inline constexpr Key kBothWaysData{"bi_data", "XLNet: half of the batch is read backwards"};
inline constexpr Key kRelativeAttention{"relative_attention", "DeBERTa: whether scores have terms of position"};
inline constexpr Key kPositionParts{
    "pos_att_type", "DeBERTa: which terms, c2p and p2c, as a list or with bars between; they share the scale"};
inline constexpr Key kMaxRelative{"max_relative_positions",
                                  "DeBERTa: the largest distance; below 1: max_position_embeddings"};
inline constexpr Key kPositionBuckets{
    "position_buckets", "DeBERTa v2: buckets of distances, logarithmic beyond their half; absent or below 1: none"};
inline constexpr Key kSharedProjection{"share_att_key",
                                       "DeBERTa v2: positions are projected with the weights of the content"};
inline constexpr Key kScaleScores{"scale_attn_weights", "GPT-2: false means a logit scale of 1"};
inline constexpr Key kScaleByLayer{"scale_attn_by_inverse_layer_idx",
                                   "GPT-2: the logit scale of layer i is divided by i + 1"};
inline constexpr Key kSoftmaxScale{"softmax_scale", "MPT: the logit scale; null: 1 / sqrt(head_dim)"};

// ---- encoders and decoders ----
inline constexpr Key kIsDecoder{"is_decoder", "true makes the stack causal"};
inline constexpr Key kCausal{"causal", "true makes the stack causal"};
inline constexpr Key kAttentionKind{
    "attn_type",
    "XLNet: \"bi\" sees both ways, \"uni\" is causal; MPT: \"multihead_attention\", "
    "\"multiquery_attention\" (one head of keys), \"grouped_query_attention\" (kv_n_heads)"};
inline constexpr Key kSameLength{"same_length", "XLNet, where causal: every token sees as many keys as the others"};
inline constexpr Key kPrefix{"prefix_lm", "MPT: the prompt sees itself both ways"};
inline constexpr Key kAddCross{"add_cross_attention", "a second attention in each block, to another stack's output"};
inline constexpr Key kGlobalInterval{"global_attn_every_n_layers", "each n-th layer, from the first on, has no window"};
inline constexpr Key kAttentionTypes{
    "attention_types", "groups of \"global\" and \"local\" with a count each: which layers have the window"};
inline constexpr Key kAttentionLayers{"attention_layers", "the same, a word a layer; attention_types beats it"};
inline constexpr Key kTwoSidedWindow{"attention_window",
                                     "a number or one a layer: tokens of the window, half to each side"};
inline constexpr Key kWindowSize{"window_size", "GPT-Neo: tokens that local layers see, itself included"};
inline constexpr Key kLocalAttention{"local_attention", "ModernBERT: tokens of the window, half to each side"};
inline constexpr Key kChunkTypes{"attn_layers",
                                 "Reformer: \"local\" or \"lsh\" for each layer, and thereby how many there are"};
inline constexpr Key kLocalChunk{"local_attn_chunk_length", "Reformer: tokens of a chunk of local layers"};
inline constexpr Key kLocalBefore{"local_num_chunks_before", "and how many chunks before it are seen"};
inline constexpr Key kLocalAfter{"local_num_chunks_after", "and how many after it"};
inline constexpr Key kHashChunk{"lsh_attn_chunk_length", "Reformer: tokens of a chunk of the sequence sorted by hash"};
inline constexpr Key kHashBefore{"lsh_num_chunks_before", "and how many chunks before it are seen"};
inline constexpr Key kHashAfter{"lsh_num_chunks_after", "and how many after it"};
inline constexpr Key kHashes{"num_hashes", "Reformer: rounds of hashing"};
inline constexpr Key kHashBuckets{"num_buckets",
                                  "Reformer: buckets of a hash, or factors of their number; null: by length. WavLM: "
                                  "buckets of distances, of both directions together"};
inline constexpr Key kScaleBase{"rotary_emb_scale_base", "xPos: tokens over which a pair decays once; null: no decay"};

// ---- vision and audio ----
inline constexpr Key kImageSize{"image_size", "pixels of a side of the trained image, or [height, width]"};
inline constexpr Key kPatchSize{"patch_size", "pixels of a side of a patch, or [height, width]"};
inline constexpr Key kPositionRows{"num_position_embeddings", "rows of the learned table of patches"};
inline constexpr Key kPatchRows{"num_patches", "SigLIP 2: rows of the learned table of patches"};
inline constexpr Key kSourceRows{"max_source_positions", "rows of the table of audio frames"};
inline constexpr Key kAxisRows{"position_embedding_size", "Gemma 4: rows of the learned table of each axis"};
inline constexpr Key kGridHeight{"pos_emb_height init_pos_emb_height", "rows of patches in the learned grid"};
inline constexpr Key kGridWidth{"pos_emb_width init_pos_emb_width", "patches in a row of the learned grid"};
inline constexpr Key kGridTime{"pos_emb_time init_pos_emb_time", "frames in the table of sines over time"};
inline constexpr Key kAspectRatios{"supported_aspect_ratios",
                                   "Mllama: the list of aspect ratios; one more row is for none"};
inline constexpr Key kMaxTiles{"max_num_tiles", "Mllama: tiles of an image, at most"};
inline constexpr Key kAbsoluteTable{"use_absolute_position_embeddings use_abs_pos",
                                    "false: patches have no learned table"};
inline constexpr Key kRelativeTables{"use_rel_pos", "SAM: false: no tables of distances"};
inline constexpr Key kPatchWindow{"window_size",
                                  "side of a window: in pixels (Qwen2.5-VL), in patches (SAM); 0 there: none"};
inline constexpr Key kFullBlocks{"fullatt_block_indexes global_attn_indexes",
                                 "layers that see the whole image; the others see a window"};
inline constexpr Key kMergeSize{"spatial_merge_size",
                                "patches of a side that become one token; windows are cut along them"};
inline constexpr Key kWindowKernel{"window_kernel_size", "MiniCPM-V: sides in patches of the merger's windows"};
inline constexpr Key kInsertLayer{"insert_layer_id", "MiniCPM-V: the vision layer after which the merger runs"};
inline constexpr Key kGlobalLayers{"num_global_layers", "Mllama: layers of the second, global encoder"};
inline constexpr Key kTowerLayers{"num_hidden_layers vt_num_hidden_layers layers", "layers of a vision stack"};
inline constexpr Key kTowerHeads{"num_attention_heads vt_num_attention_heads heads", "heads of a vision stack"};
inline constexpr Key kTowerWidth{"hidden_size vt_hidden_size width", "channels of a vision stack"};
inline constexpr Key kEmbedDim{"embed_dim",
                               "Qwen2-VL: channels of the vision stack, whose hidden_size is what it hands on"};
inline constexpr Key kContextLeft{"attention_context_left", "Gemma 4 audio: a frame sees this less 2 frames back"};
inline constexpr Key kContextRight{"attention_context_right", "Gemma 4 audio: and this less 1 ahead"};
inline constexpr Key kLogitCap{"attention_logit_cap", "Gemma 4 audio: the cap of the scores"};
inline constexpr Key kDepths{"depths encoder_depths",
                             "blocks of each stage of a convolutional encoder: [3, 8] or \"3-8\""};
inline constexpr Key kDecoderDepths{"decoder_depths",
                                    "blocks of each stage of its decoder; null: the encoder's, turned round"};
}  // namespace keys

}  // namespace posenc::plan
