// Each value was read in the code named here; code that stands only beside weights was read in copies of it.
//
// baichuan         RotaryEmbedding, models/modeling_baichuan.py of baichuan-inc/Baichuan-7B
// chatglm          vLLM transformers_utils/configs/chatglm.py; rope_ratio: copies of GLM-4's configuration_chatglm.py
// dbrx, ministral3 transformers 5.23.0
// deepseek-native  ModelArgs, inference/model.py of deepseek-ai/DeepSeek-V3
// exaone           vLLM transformers_utils/configs/exaone.py, which calls it rotary_base
// executorch       ModelArgs, examples/models/llama/model_args.py of pytorch/executorch, and apply_scaling beside it
// gptj-native      fixed_pos_embedding, mesh_transformer/layers.py of kingoflolz/mesh-transformer-jax
// hf_olmo          ModelConfig, olmo/config.py of allenai/OLMo
// internlm2        copies of configuration_internlm2.py
// llama-params     precompute_freqs_cis, llama/model.py of meta-llama/llama; apply_scaling, models/llama3/model.py of
//                  meta-llama/llama-models
// minicpm          copies of modeling_minicpm.py and its configuration
// mistral-params   src/mistral_inference/transformer.py of mistralai/mistral-inference
// mixformer-sequential  copies of modeling_mixformer_sequential.py
// nomic_bert       configuration_hf_nomic_bert.py of nomic-ai/contrastors
// qwen             copies of configuration_qwen.py; its first version, which vLLM keeps, has false for both switches:
//                  a warning says so where they are used (rope/draft.cpp)
// transformer      fla/models/transformer/configuration_transformer.py of fla-org/flash-linear-attention
// yuan             modeling_yuan.py in IEIT-Yuan/Yuan-2.0
#include <algorithm>

#include "plan/families/class_defaults.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kBaichuan = "the Baichuan models' published code";
constexpr std::string_view kChatglm = "ChatGLMConfig of its published code";
constexpr std::string_view kDbrx = "DbrxAttentionConfig, transformers 5.23.0";  // of the nested attn_config
constexpr std::string_view kDeepseek = "ModelArgs of DeepSeek-V3's inference code";
constexpr std::string_view kExecutorch = "ModelArgs of ExecuTorch";
constexpr std::string_view kGptj = "fixed_pos_embedding of mesh-transformer-jax";
constexpr std::string_view kLlama2 = "precompute_freqs_cis of Meta's Llama 2 code";  // Llama 3's files give a base
constexpr std::string_view kLlama3 = "apply_scaling of Meta's Llama 3 code";
constexpr std::string_view kMistralInference = "Transformer of mistral-inference";
constexpr std::string_view kExaone = "ExaoneConfig of its published code";
constexpr std::string_view kInternlm2 = "InternLM2Config of its published code";
constexpr std::string_view kFla = "TransformerConfig of flash-linear-attention";
constexpr std::string_view kMinistral = "Ministral3Config, transformers 5.23.0";  // made in its __post_init__
constexpr std::string_view kMixformer = "RotaryEmbedding of Phi-1.5's first published code";
constexpr std::string_view kOlmo = "ModelConfig of OLMo's own code";
constexpr std::string_view kNomic = "NomicBertConfig of its published code";
constexpr std::string_view kAfm7 = "mlx-lm's afm7.py";
constexpr std::string_view kArctic = "ArcticConfig of vLLM";
constexpr std::string_view kBailing = "BailingAttention of vLLM";
constexpr std::string_view kCodeShell = "llama.cpp's conversion/codeshell.py";
constexpr std::string_view kCogVlm = "lmdeploy's cogvlm.py";
constexpr std::string_view kGrok = "SGLang's grok.py";
constexpr std::string_view kInternlm = "InternLMConfig of its published code";
constexpr std::string_view kJais = "JAISConfig of vLLM";
constexpr std::string_view kLlamaCopies = "LlamaConfig, whose class runs it";
constexpr std::string_view kNeoBert = "llama.cpp's conversion/bert.py";
constexpr std::string_view kOuro = "vLLM's ouro.py";
constexpr std::string_view kParam2Moe = "Param2MoEAttention of vLLM";
constexpr std::string_view kPhiMsft = "mlx-lm's phixtral.py";
constexpr std::string_view kRefinedWeb = "RWConfig of vLLM";
constexpr std::string_view kStableLmEpoch = "StableLmConfig, whose class runs it";
constexpr std::string_view kStep3 = "Step3TextConfig of vLLM";
constexpr std::string_view kEngineTowers = "the rotation of the encoder in vLLM";
constexpr std::string_view kKeye = "Qwen3Config, whose class runs its text";
constexpr std::string_view kMoonVit = "MoonViTConfig of vLLM";
constexpr std::string_view kNamedEncoder = "the encoder of that name";
constexpr std::string_view kPhi3V = "the CLIP of vLLM's phi3v.py";
constexpr std::string_view kBagel = "Qwen2Attention of vLLM";
constexpr std::string_view kHunyuan = "mlx-lm's hunyuan.py";
constexpr std::string_view kInternVit = "InternVisionConfig of SGLang";
constexpr std::string_view kLlada = "llama.cpp's conversion/llada.py";
constexpr std::string_view kLlada2 = "LLaDA2MoeAttention of SGLang";
constexpr std::string_view kNew = "NewConfig of its published code";
constexpr std::string_view kYuan = "YuanRotaryEmbedding of its published code";
constexpr std::string_view kMiniCpm = "MiniCPMConfig of its published code";
constexpr std::string_view kQwen = "QWenConfig of its published code";

constexpr std::string_view kAlice = "get_rope of vLLM";
constexpr std::string_view kFunAsr = "vLLM's funasr.py";
constexpr std::string_view kJina = "JinaEmbeddingsV5Model of vLLM";
constexpr std::string_view kKimiK3 = "SGLang's kimi_k3_vl.py";
constexpr std::string_view kMossAudio = "MossAudioEncoderConfig of vLLM";
constexpr std::string_view kParse = "vLLM's nemotron_parse.py";
constexpr std::string_view kRadio = "RadioConfig of vLLM, and the encoder of that name";
constexpr std::string_view kSpark = "Spark2_5Config of SGLang";
constexpr std::string_view kStep5 = "PerceptionEncoderConfig of vLLM";

constexpr std::string_view kGigaChat = "GigaChat35Config of SGLang";
constexpr std::string_view kIsaac = "Qwen3Config, whose class runs its text";
constexpr std::string_view kKimiAudio = "Qwen2Config, whose class runs its text";
constexpr std::string_view kLing3 = "BailingMoeV3TextConfig of vLLM";
constexpr std::string_view kMolmo = "vLLM's molmo.py";
constexpr std::string_view kPhi4mm = "vLLM's phi4mm.py and phi4mm_audio.py";

constexpr std::string_view kDasheng = "DashengConfig of vLLM";
constexpr std::string_view kLid = "vLLM's fireredlid.py";
constexpr std::string_view kMossVl = "SGLang's moss_vl.py";
constexpr std::string_view kPangu = "LlamaConfig, whose default it has";

constexpr std::string_view kDory = "DoryConfig of vLLM";
constexpr std::string_view kTalkie = "llama.cpp, where a file says none";

constexpr std::string_view kPlamo2 = "ModelArgs of its makers' code";

// clang-format off
constexpr PublishedDefault kDefaults[] = {
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448", "hidden_size", "1280", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448", "image_size", "448", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448", "num_attention_heads", "16", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448", "num_hidden_layers", "32", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448", "patch_size", "14", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448", "hidden_size", "1280", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448", "image_size", "448", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448", "num_attention_heads", "16", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448", "num_hidden_layers", "32", kNamedEncoder},
    {"./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448", "patch_size", "14", kNamedEncoder},
    {"afm7", "rope_theta", "50000.0", kAfm7},
    {"alice_ai", "partial_rotary_factor", "1.0", kAlice},
    {"aquila", "rope_theta", "10000.0", kLlamaCopies},
    {"arctic", "rope_theta", "1000000.0", kArctic},
    {"bagel_text", "qk_norm", "false", kBagel},
    {"bagel_text", "rope_theta", "10000.0", kBagel},
    {"baichuan", "rope_theta", "10000.0", kBaichuan},
    {"bailing_moe", "use_qk_norm", "false", kBailing},
    {"bailing_moe_v2", "use_qk_norm", "false", kBailing},
    {"bailing_moe_v3_text", "layer_group_size", "5", kLing3},
    {"bailing_moe_v3_text", "qk_nope_head_dim", "128", kLing3},
    {"bailing_moe_v3_text", "qk_rope_head_dim", "64", kLing3},
    {"bailing_moe_v3_text", "rope_theta", "600000.0", kLing3},
    {"bailing_moe_v3_text", "v_head_dim", "128", kLing3},
    {"chatglm", "multi_query_attention", "false", kChatglm},
    {"chatglm", "multi_query_group_num", "1", kChatglm},
    {"chatglm", "rope_ratio", "1.0", kChatglm},
    {"codeshell", "rope_theta", "10000.0", kCodeShell},
    {"cogvlm", "rope_theta", "10000.0", kCogVlm},
    {"dbrx", "kv_n_heads", "1", kDbrx},
    {"deepseek", "rope_theta", "10000.0", kLlamaCopies},
    {"deepseek-native", "beta_fast", "32.0", kDeepseek},
    {"deepseek-native", "beta_slow", "1.0", kDeepseek},
    {"deepseek-native", "mscale", "1.0", kDeepseek},
    {"deepseek-native", "original_seq_len", "4096", kDeepseek},
    {"deepseek-native", "qk_nope_head_dim", "128", kDeepseek},
    {"deepseek-native", "rope_factor", "40.0", kDeepseek},
    {"deepseek-native", "rope_theta", "10000.0", kDeepseek},
    {"deepseek-native", "v_head_dim", "128", kDeepseek},
    {"dinosiglip-vit-so-224px", "hidden_size", "1024", kNamedEncoder},
    {"dinosiglip-vit-so-224px", "image_size", "224", kNamedEncoder},
    {"dinosiglip-vit-so-224px", "num_attention_heads", "16", kNamedEncoder},
    {"dinosiglip-vit-so-224px", "num_hidden_layers", "24", kNamedEncoder},
    {"dinosiglip-vit-so-224px", "patch_size", "14", kNamedEncoder},
    {"dory", "n_recurrent_loops", "1", kDory},
    {"dory", "rope_theta", "10000.0", kDory},
    {"dory", "sliding_window", "1024", kDory},
    {"dots_vit", "rope_theta", "10000.0", kEngineTowers},
    {"exaone", "rope_theta", "10000.0", kExaone},
    {"executorch", "high_freq_factor", "4.0", kExecutorch},
    {"executorch", "low_freq_factor", "1.0", kExecutorch},
    {"executorch", "original_max_position_embeddings", "8192", kExecutorch},
    {"executorch", "rope_scale_factor", "8.0", kExecutorch},
    {"executorch", "rope_theta", "10000.0", kExecutorch},
    {"executorch", "use_hf_rope", "false", kExecutorch},
    {"fireredlid", "d_model", "1280", kLid},
    {"fireredlid", "n_head", "20", kLid},
    {"fireredlid", "n_layers_enc", "16", kLid},
    {"fireredlid", "n_layers_lid_dec", "6", kLid},
    {"fireredlid", "pe_maxlen", "5000", kLid},
    {"funasr_adaptor", "adaptor_dim", "1024", kFunAsr},
    {"funasr_adaptor", "adaptor_heads", "8", kFunAsr},
    {"funasr_adaptor", "adaptor_layers", "2", kFunAsr},
    {"funasr_encoder", "attention_heads", "4", kFunAsr},
    {"funasr_encoder", "num_blocks", "6", kFunAsr},
    {"funasr_encoder", "output_size", "256", kFunAsr},
    {"gigachat3_5", "rope_interleave", "true", kGigaChat},
    {"gigachat3_5", "rope_theta", "100000.0", kGigaChat},
    {"google/siglip-so400m-patch14-384", "hidden_size", "1152", kNamedEncoder},
    {"google/siglip-so400m-patch14-384", "image_size", "384", kNamedEncoder},
    {"google/siglip-so400m-patch14-384", "num_attention_heads", "16", kNamedEncoder},
    {"google/siglip-so400m-patch14-384", "num_hidden_layers", "27", kNamedEncoder},
    {"google/siglip-so400m-patch14-384", "patch_size", "14", kNamedEncoder},
    {"google/siglip2-so400m-patch16-naflex", "hidden_size", "1152", kNamedEncoder},
    {"google/siglip2-so400m-patch16-naflex", "num_attention_heads", "16", kNamedEncoder},
    {"google/siglip2-so400m-patch16-naflex", "num_hidden_layers", "27", kNamedEncoder},
    {"google/siglip2-so400m-patch16-naflex", "num_patches", "256", kNamedEncoder},
    {"google/siglip2-so400m-patch16-naflex", "patch_size", "16", kNamedEncoder},
    {"gptj-native", "rope_theta", "10000.0", kGptj},
    {"grok", "attn_logit_softcapping", "30.0", kGrok},
    {"grok", "rope_theta", "10000.0", kGrok},
    {"grok-1", "attn_logit_softcapping", "30.0", kGrok},
    {"grok-1", "rope_theta", "10000.0", kGrok},
    {"hf_olmo", "alibi", "false", kOlmo},
    {"hf_olmo", "multi_query_attention", "false", kOlmo},
    {"hf_olmo", "rope", "false", kOlmo},
    {"hf_olmo", "rope_theta", "10000.0", kOlmo},
    {"hunyuan", "use_cla", "false", kHunyuan},
    {"hunyuan", "use_qk_norm", "false", kHunyuan},
    {"intern_vit_6b", "qk_normalization", "true", kInternVit},
    {"internlm", "rope_theta", "10000.0", kInternlm},
    {"internlm2", "rope_theta", "10000.0", kInternlm2},
    {"isaac_text", "rope_theta", "10000.0", kIsaac},
    {"isaac_text", "use_sliding_window", "false", kIsaac},
    {"jais", "mup_scale_qk_dot_by_d", "false", kJais},
    {"jais", "position_embedding_type", "\"learned\"", kJais},
    {"jina_embeddings_v5", "is_decoder", "true", kJina},
    {"jina_embeddings_v5", "rope_theta", "10000.0", kJina},
    {"keye_text", "rope_theta", "10000.0", kKeye},
    {"keye_vision", "rope_theta", "10000.0", kEngineTowers},
    {"kimi_audio", "rope_theta", "10000.0", kKimiAudio},
    {"kimi_audio", "use_sliding_window", "false", kKimiAudio},
    {"kimi_audio_whisper", "hidden_size", "1280", kNamedEncoder},
    {"kimi_audio_whisper", "max_source_positions", "1500", kNamedEncoder},
    {"kimi_audio_whisper", "num_attention_heads", "20", kNamedEncoder},
    {"kimi_audio_whisper", "num_hidden_layers", "32", kNamedEncoder},
    {"kimi_k3_vision", "rope_theta", "10000.0", kKimiK3},
    {"llada", "qk_layernorm", "false", kLlada},
    {"llada", "rope_theta", "10000.0", kLlada},
    {"llada2_moe", "use_qk_norm", "true", kLlada2},
    {"llama-params", "high_freq_factor", "4.0", kLlama3},
    {"llama-params", "low_freq_factor", "1.0", kLlama3},
    {"llama-params", "original_max_position_embeddings", "8192", kLlama3},
    {"llama-params", "rope_scale_factor", "8.0", kLlama3},
    {"llama-params", "rope_theta", "10000.0", kLlama2},
    {"llama_bidirec", "rope_theta", "10000.0", kLlamaCopies},
    {"midashenglm_dasheng_encoder", "depth", "12", kDasheng},
    {"midashenglm_dasheng_encoder", "embed_dim", "768", kDasheng},
    {"midashenglm_dasheng_encoder", "n_mels", "64", kDasheng},
    {"midashenglm_dasheng_encoder", "num_heads", "12", kDasheng},
    {"midashenglm_dasheng_encoder", "patch_stride", "16", kDasheng},
    {"midashenglm_dasheng_encoder", "target_length", "1012", kDasheng},
    {"minicpm", "rope_theta", "10000.0", kMiniCpm},
    {"ministral3", "rope_parameters",
     R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384,
         "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})",
     kMinistral},
    {"mistral-params", "rope_theta", "1000000.0", kMistralInference},
    {"mixformer-sequential", "rope_theta", "10000.0", kMixformer},
    {"molmo", "attention_layer_norm", "false", kMolmo},
    {"molmo", "rope_theta", "10000.0", kMolmo},
    {"molmo_adapter", "image_emb_dim", "1024", kMolmo},
    {"molmo_adapter", "image_num_heads", "16", kMolmo},
    {"molmo_adapter", "image_num_key_value_heads", "16", kMolmo},
    {"molmo_vision", "image_emb_dim", "1024", kMolmo},
    {"molmo_vision", "image_num_heads", "16", kMolmo},
    {"molmo_vision", "image_num_key_value_heads", "16", kMolmo},
    {"molmo_vision", "image_num_layers", "23", kMolmo},
    {"molmo_vision", "image_num_pos", "577", kMolmo},
    {"moonvit", "hidden_size", "1152", kMoonVit},
    {"moonvit", "init_pos_emb_height", "64", kMoonVit},
    {"moonvit", "init_pos_emb_width", "64", kMoonVit},
    {"moonvit", "num_attention_heads", "16", kMoonVit},
    {"moonvit", "num_hidden_layers", "27", kMoonVit},
    {"moonvit", "rope_theta", "10000.0", kMoonVit},
    {"moss_audio_encoder", "d_model", "1280", kMossAudio},
    {"moss_audio_encoder", "encoder_attention_heads", "20", kMossAudio},
    {"moss_audio_encoder", "encoder_layers", "32", kMossAudio},
    {"moss_audio_encoder", "max_source_positions", "1500", kMossAudio},
    {"moss_audio_encoder", "n_window", "200", kMossAudio},
    {"moss_vl_text", "rope_theta", "1000000.0", kMossVl},
    {"nemotron_parse_decoder", "add_cross_attention", "true", kParse},
    {"neobert", "rope_theta", "10000.0", kNeoBert},
    {"new", "rope_theta", "10000.0", kNew},
    {"nomic_bert", "max_trained_positions", "2048", kNomic},
    {"openai/clip-vit-large-patch14", "hidden_size", "1024", kNamedEncoder},
    {"openai/clip-vit-large-patch14", "image_size", "224", kNamedEncoder},
    {"openai/clip-vit-large-patch14", "num_attention_heads", "16", kNamedEncoder},
    {"openai/clip-vit-large-patch14", "num_hidden_layers", "24", kNamedEncoder},
    {"openai/clip-vit-large-patch14", "patch_size", "14", kNamedEncoder},
    {"openai/clip-vit-large-patch14-336", "hidden_size", "1024", kNamedEncoder},
    {"openai/clip-vit-large-patch14-336", "image_size", "336", kNamedEncoder},
    {"openai/clip-vit-large-patch14-336", "num_attention_heads", "16", kNamedEncoder},
    {"openai/clip-vit-large-patch14-336", "num_hidden_layers", "24", kNamedEncoder},
    {"openai/clip-vit-large-patch14-336", "patch_size", "14", kNamedEncoder},
    {"openpangu_vl_text", "rope_theta", "10000.0", kPangu},
    {"orion", "rope_theta", "10000.0", kLlamaCopies},
    {"ouro", "rope_theta", "10000.0", kOuro},
    {"ouro", "total_ut_steps", "4", kOuro},
    {"param2moe", "use_qk_norm", "false", kParam2Moe},
    {"perception_encoder", "heads", "16", kStep5},
    {"perception_encoder", "image_size", "728", kStep5},
    {"perception_encoder", "layers", "47", kStep5},
    {"perception_encoder", "patch_size", "14", kStep5},
    {"perception_encoder", "rope_theta", "10000.0", kEngineTowers},
    {"perception_encoder", "use_abs_posemb", "true", kStep5},
    {"perception_encoder", "width", "1536", kStep5},
    {"phi-msft", "rope_theta", "10000.0", kPhiMsft},
    {"phi3_v_vision", "hidden_size", "1024", kPhi3V},
    {"phi3_v_vision", "image_size", "336", kPhi3V},
    {"phi3_v_vision", "num_attention_heads", "16", kPhi3V},
    {"phi3_v_vision", "num_hidden_layers", "24", kPhi3V},
    {"phi3_v_vision", "patch_size", "14", kPhi3V},
    {"phi4mm_audio", "t5_bias_max_distance", "1000", kPhi4mm},
    {"phi4mm_vision", "hidden_size", "1152", kPhi4mm},
    {"phi4mm_vision", "image_size", "448", kPhi4mm},
    {"phi4mm_vision", "num_attention_heads", "16", kPhi4mm},
    {"phi4mm_vision", "num_hidden_layers", "27", kPhi4mm},
    {"phi4mm_vision", "patch_size", "14", kPhi4mm},
    {"phixtral", "rope_theta", "10000.0", kPhiMsft},
    {"plamo2", "attention_window_size", "2048", kPlamo2},
    {"plamo2", "full_attention_idx", "[]", kPlamo2},
    {"plamo2", "hidden_size_per_head", "128", kPlamo2},
    {"plamo2", "mamba_enabled", "true", kPlamo2},
    {"plamo2", "mamba_step", "2", kPlamo2},
    {"plamo2", "max_position_embeddings", "2048", kPlamo2},
    {"plamo2", "rope_theta", "10000.0", kPlamo2},
    {"qwen", "rotary_emb_base", "10000.0", kQwen},
    {"qwen", "rotary_pct", "1.0", kQwen},
    {"qwen", "use_dynamic_ntk", "true", kQwen},
    {"qwen", "use_logn_attn", "true", kQwen},
    {"radio/vit_base_patch16_224", "cpe_max_size", "2048", kRadio},
    {"radio/vit_base_patch16_224", "hidden_size", "768", kRadio},
    {"radio/vit_base_patch16_224", "num_attention_heads", "12", kRadio},
    {"radio/vit_base_patch16_224", "num_hidden_layers", "12", kRadio},
    {"radio/vit_base_patch16_224", "patch_size", "16", kRadio},
    {"radio/vit_huge_patch16_224", "cpe_max_size", "2048", kRadio},
    {"radio/vit_huge_patch16_224", "hidden_size", "1280", kRadio},
    {"radio/vit_huge_patch16_224", "num_attention_heads", "16", kRadio},
    {"radio/vit_huge_patch16_224", "num_hidden_layers", "32", kRadio},
    {"radio/vit_huge_patch16_224", "patch_size", "16", kRadio},
    {"radio/vit_large_patch16_224", "cpe_max_size", "2048", kRadio},
    {"radio/vit_large_patch16_224", "hidden_size", "1024", kRadio},
    {"radio/vit_large_patch16_224", "num_attention_heads", "16", kRadio},
    {"radio/vit_large_patch16_224", "num_hidden_layers", "24", kRadio},
    {"radio/vit_large_patch16_224", "patch_size", "16", kRadio},
    {"radio/vit_so400m_patch16_224", "cpe_max_size", "2048", kRadio},
    {"radio/vit_so400m_patch16_224", "hidden_size", "1152", kRadio},
    {"radio/vit_so400m_patch16_224", "num_attention_heads", "16", kRadio},
    {"radio/vit_so400m_patch16_224", "num_hidden_layers", "27", kRadio},
    {"radio/vit_so400m_patch16_224", "patch_size", "16", kRadio},
    {"RefinedWeb", "alibi", "false", kRefinedWeb},
    {"RefinedWeb", "rope_theta", "10000.0", kRefinedWeb},
    {"RefinedWebModel", "alibi", "false", kRefinedWeb},
    {"RefinedWebModel", "multi_query", "true", kRefinedWeb},
    {"RefinedWebModel", "new_decoder_architecture", "false", kRefinedWeb},
    {"RefinedWebModel", "rope_theta", "10000.0", kRefinedWeb},
    {"sarvam_moe", "use_qk_norm", "false", kBailing},
    {"siglip2_navit", "rope_theta", "10000.0", kEngineTowers},
    {"siglip_large_patch16_384", "hidden_size", "1024", kNamedEncoder},
    {"siglip_large_patch16_384", "image_size", "384", kNamedEncoder},
    {"siglip_large_patch16_384", "num_attention_heads", "16", kNamedEncoder},
    {"siglip_large_patch16_384", "num_hidden_layers", "24", kNamedEncoder},
    {"siglip_large_patch16_384", "patch_size", "16", kNamedEncoder},
    {"siglip_so400m_patch14_384", "hidden_size", "1152", kNamedEncoder},
    {"siglip_so400m_patch14_384", "image_size", "384", kNamedEncoder},
    {"siglip_so400m_patch14_384", "num_attention_heads", "16", kNamedEncoder},
    {"siglip_so400m_patch14_384", "num_hidden_layers", "27", kNamedEncoder},
    {"siglip_so400m_patch14_384", "patch_size", "14", kNamedEncoder},
    {"solar", "rope_theta", "10000.0", kLlamaCopies},
    {"spark2_5", "head_dim", "256", kSpark},
    {"spark2_5", "rope_parameters",
     R"({"full_attention": {"rope_theta": 5000000, "partial_rotary_factor": 0.25},
         "sliding_attention": {"rope_theta": 10000, "partial_rotary_factor": 1.0}})",
     kSpark},
    {"spark2_5", "sliding_window", "512", kSpark},
    {"stablelm_epoch", "rope_pct", "0.25", kStableLmEpoch},
    {"stablelm_epoch", "rope_theta", "10000.0", kStableLmEpoch},
    {"step3_text", "head_dim", "256", kStep3},
    {"step3_text", "num_attention_groups", "1", kStep3},
    {"step3_text", "rope_theta", "500000.0", kStep3},
    {"talkie", "rope_theta", "10000.0", kTalkie},
    {"TeleFLM", "rope_theta", "10000.0", kLlamaCopies},
    {"transformer", "max_position_embeddings", "2048", kFla},
    {"transformer", "num_heads", "32", kFla},
    {"transformer", "rope_theta", "10000.0", kFla},
    {"vit_so400m_patch14_siglip_224", "hidden_size", "1152", kNamedEncoder},
    {"vit_so400m_patch14_siglip_224", "image_size", "224", kNamedEncoder},
    {"vit_so400m_patch14_siglip_224", "num_attention_heads", "16", kNamedEncoder},
    {"vit_so400m_patch14_siglip_224", "num_hidden_layers", "27", kNamedEncoder},
    {"vit_so400m_patch14_siglip_224", "patch_size", "14", kNamedEncoder},
    {"xverse", "rope_theta", "10000.0", kLlamaCopies},
    {"youtu_vl_vision", "rope_theta", "10000.0", kEngineTowers},
    {"yuan", "rope_theta", "10000.0", kYuan},
};
// clang-format on

}  // namespace

const PublishedDefault* find_published_default(std::string_view model_type, std::string_view key) noexcept {
  const auto row = std::ranges::find_if(
      kDefaults, [&](const PublishedDefault& entry) { return entry.model_type == model_type && entry.key == key; });
  return row == std::ranges::end(kDefaults) ? nullptr : row;
}

}  // namespace posenc::plan
