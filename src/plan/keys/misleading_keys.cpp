// Keys that look as if positions depended on them.
#include "plan/keys/key_notes.h"

namespace posenc::plan {
namespace {

constexpr LeftOut kMisleading[] = {
    {"BLOOM, Longformer, BERT, XLNet, Reformer, DeBERTa, MPT: the class reads them nowhere, or for a whole batch",
     "offset_alibi attention_mode ignore_attention_mask directionality untie_r num_chunks_before num_chunks_after "
     "padding_idx n_special attn_uses_sequence_id"},
    {"how a table is normalised or filled at first", "norm_rel_ebd axial_norm_std emb_layer_norm_before token_dropout"},
    {"how much of earlier text a call keeps; hashing's random numbers", "mem_len reuse_len hash_seed"},
    {"GIT: a learned row for each frame, added to the image's features before the text stack sees them",
     "num_image_with_embedding"},
    {"a length that decides nothing: tables and rotations go by the trained length",
     "initial_context_length rope_max_length tokenizer_model_max_length bert_model_max_length"},
    {"pixels and frames that become one patch; positions count patches", "spatial_patch_size temporal_patch_size"},
    {"how a learned grid is made and resized to another image, and how frames share attention: of towers whose code is "
     "not open, or what the class does in any case",
     "pos_emb_type pos_emb_interpolation_mode interpolate_pe_method preserve_original_pe video_attn_type"},
    {"how positions were dealt out in training", "reset_position_ids use_pos_skipping pos_skipping_range"},
    {"the model that a draft guesses for; the draft's own keys decide", "target_model_type"},
    {"switches that no class at hand reads: the family decides",
     "rotary disable_rope causal_mask semi_causal qk_norm_type qk_normalization norm_softmax"},
    {"OLMo: whether cos and sin are computed in float32, which is no part of a plan", "rope_full_precision"},
    {"read by other code than the class that decides, which does the same without it",
     "sparse_init_block yarn_only_types"},
};

}  // namespace

std::span<const LeftOut> keys_that_mislead() noexcept { return kMisleading; }

}  // namespace posenc::plan
