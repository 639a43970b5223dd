// Keys that look as if positions depended on them, and keys that no position depends on, by what they are about.
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
    {"the smallest image that a processor hands on", "min_image_size"},
    {"how a learned grid is made and resized to another image, and how frames share attention: of towers whose code is "
     "not open, or what the class does in any case",
     "pos_emb_type pos_emb_interpolation_mode interpolate_pe_method video_attn_type"},
    {"how positions were dealt out in training", "reset_position_ids use_pos_skipping pos_skipping_range"},
    {"the model that a draft guesses for; the draft's own keys decide", "target_model_type"},
    {"switches that no class at hand reads: the family decides",
     "rotary disable_rope use_mrope causal_mask semi_causal qk_norm_type norm_softmax"},
    {"OLMo: whether cos and sin are computed in float32, which is no part of a plan", "rope_full_precision"},
    {"read by other code than the class that decides, which does the same without it",
     "sparse_init_block yarn_only_types"},
};

constexpr LeftOut kOthers[] = {
    {"sizes outside of attention",
     "vocab_size in_channels in_chans padded_vocab_size vocab_size_per_layer_input intermediate_size "
     "ffn_hidden_size ffn_dim ffn_dim_multiplier ffn_dim_divisor ffn_multipliers ffn_with_glu mlp_ratio "
     "mlp_hidden_size n_inner d_ff d_inner dim_ff inner_hidden_size decoder_ffn_dim "
     "feed_forward_size ff_intermediate_size ff_dim_multiplier hidden_size_per_layer_input intermediate_size_mlp "
     "dense_intermediate_size embedding_size word_embed_proj_dim output_proj_dims "
     "vision_output_dim out_hidden_size pooler_hidden_size input_dim projector_input_dim "
     "projector_output_dim mm_hidden_size text_hidden_size shared_intermediate_size multiple_of moe channel_size "
     "o_groups o_lora_rank kv_lora_rank qkv_multipliers"},
    {"mixtures of experts",
     "num_experts num_experts_per_tok num_experts_per_token num_local_experts moe_intermediate_size "
     "expert_intermediate_size n_routed_experts n_shared_experts num_shared_experts n_group n_groups "
     "num_expert_group topk_group topk_method scoring_func routed_scaling_factor norm_topk_prob "
     "first_k_dense_replace moe_layer_freq router_aux_loss_coef router_jitter_noise output_router_logits "
     "aux_loss_alpha seq_aux ep_size decoder_sparse_step mlp_only_layers shared_expert_intermediate_size "
     "moe_shared_expert_intermediate_size enable_moe_block top_k_experts experts_per_token "
     "interleave_moe_layer_step moe_router_activation_func moe_renormalize use_grouped_topk input_jitter_noise "
     "swiglu_limit swiglu_alpha ffn_config moe_num_experts moe_top_k moe_jitter_eps moe_loss_weight "
     "share_expert_dim use_moe_router_bias moe_router_scaling_factor use_routing_bias routed_expert_hidden_size "
     "latent_moe_use_norm expert_dtype"},
    {"activations, norms outside of attention, biases",
     "hidden_act hidden_activation activation_function activation_func activation_type activation_fn_name "
     "ff_activation feed_forward_proj dense_act_fn is_gated_act ffn_act_fn mlp_hidden_act mlp_type rms_norm_eps "
     "layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_eps norm_epsilon layernorm_eps rmsnorm "
     "use_rms_norm norm_type post_layer_norm normalization_function normalization_layer_name layer_norm_type "
     "layer_norm_with_affine norm_after do_layer_norm_before disable_last_norm "
     "apply_residual_connection_post_layernorm attention_bias mlp_bias bias use_bias no_bias qkv_bias attn_bias "
     "add_bias_linear add_qkv_bias use_qkv_bias conv_bias norm_bias decoder_bias classifier_bias linear_bias "
     "lm_head_bias include_bias bias_dropout_fusion bias_for_layer_norm qkv_proj_bias mlp_fc1_bias mlp_fc2_bias "
     "projector_bias multi_modal_projector_bias residual_in_fp32 fp32_residual_connection parallel_attn "
     "parallel_block parallel_block_tied_norm use_parallel_residual residual_multiplier embedding_multiplier "
     "logits_scaling scale_emb scale_depth dim_model_base prenorm logit_scale attn_output_gate "
     "attention_output_gate mla_use_output_gate sparse_score_type sparse_disable_index_value"},
    {"training and initial values",
     "initializer_range initializer_factor init_std init_method init_device init_config attention_dropout "
     "attention_dropout_prob attn_pdrop attn_dropout_prob hidden_dropout hidden_dropout_prob "
     "attention_probs_dropout_prob embd_pdrop resid_pdrop resid_dropout residual_dropout embedding_dropout "
     "embed_dropout emb_dropout_prob emb_pdrop output_dropout ffn_dropout_prob activation_dropout dropout "
     "dropout_rate layerdrop encoder_layerdrop decoder_layerdrop drop_path_rate classifier_dropout "
     "classifier_dropout_prob pooler_dropout projector_dropout summary_first_dropout summary_last_dropout "
     "gradient_checkpointing pretraining_tp use_loss_mask reset_attention_mask pad_sequence_to_multiple_of_64 "
     "gradient_clipping mask_time_prob apply_spec_augment"},
    {"what the model was made for, and how it is stored",
     "model_type architectures transformers_version torch_dtype dtype auto_map _name_or_path name_or_path "
     "model_dir tokenizer_class tokenizer_type tokenizer_name quantization_config quantization_bit quant_method "
     "_attn_implementation _attn_implementation_autoset attn_implementation attn_impl block_type use_flash_attn "
     "use_flash_attention flash_attention flash_attn attention_softmax_in_fp32 scale_attention_softmax_in_fp32 "
     "reorder_and_upcast_attn masked_softmax_fusion use_cache tie_word_embeddings lm_head rm_head "
     "tie_encoder_decoder weight_tying share_input_output_layers torchscript _commit_hash unsloth_version "
     "unsloth_fixed precision use_bfloat16 bf16 fp16 fp32 onnx_safe cache_implementation pruned_heads "
     "chunk_size_feed_forward id2label label2id problem_type finetuning_task task_specific_params num_labels "
     "pooling is_encoder_decoder cross_attention_hidden_size pad_vocab_size_multiple use_xentropy fused_bias_fc "
     "fused_dropout_add_ln dense_seq_output draft_vocab_size license"},
    {"tokens and generation",
     "bos_token_id eos_token_id eod_token_id sep_token_id cls_token_id mask_token_id unk_token_id "
     "decoder_start_token_id forced_bos_token_id forced_eos_token_id begin_suppress_tokens suppress_tokens "
     "bad_words_ids image_token_id image_token_index video_token_id audio_token_id vision_start_token_id "
     "vision_end_token_id vision_token_id min_length do_sample early_stopping num_beams "
     "num_beam_groups num_return_sequences temperature top_k top_p typical_p repetition_penalty length_penalty "
     "diversity_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size exponential_decay_length_penalty "
     "remove_invalid_values return_dict return_dict_in_generate output_attentions output_hidden_states "
     "output_scores output_past prefix summary_activation summary_type summary_use_proj summary_proj_to_labels "
     "num_logits_to_keep"},
    {"other kinds of layers",
     "mamba_expand mamba_d_state mamba_d_conv mamba_d_head mamba_n_heads mamba_n_groups mamba_chunk_size "
     "mamba_conv_bias mamba_proj_bias mamba_head_dim mamba_num_heads mamba_hidden_act mamba_ssm_dtype "
     "ssm_state_size conv_kernel conv_kernel_size time_step_min time_step_max time_step_floor time_step_limit "
     "use_conv_bias linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads linear_num_value_heads "
     "linear_value_head_dim chunk_size expand expand_k expand_v hidden_ratio use_gk use_gv attn_mode clamp_min"},
    {"layers beside the stack that guess further tokens",
     "use_mtp num_mtp_modules mtp_transformer_layers mtp_num_hidden_layers"},
};

}  // namespace

std::span<const LeftOut> keys_that_mislead() noexcept { return kMisleading; }
std::span<const LeftOut> keys_of_other_things() noexcept { return kOthers; }

}  // namespace posenc::plan
