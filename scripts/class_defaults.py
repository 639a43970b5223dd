#!/usr/bin/env python3
"""Writes src/plan/families/class_defaults.cpp: what a config key means when the file leaves it out, a row for each
configuration class.

The values are read from the configuration classes of the installed transformers: the declared field
defaults, the fallbacks written into a class's __post_init__ and convert_rope_params_to_dict, and the
class's default base. Values that a class derives from other keys are not defaults and stay out
(num_key_value_heads from num_attention_heads, layer_types from a pattern). Needs no torch.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
from pathlib import Path

import transformers

OUT = Path(__file__).resolve().parent.parent / "src/plan/families/class_defaults.cpp"

# Model type in the file -> the class that decides. A composite model gives its text decoder.
CLASSES = {
    "afmoe": "AfmoeConfig",
    "albert": "AlbertConfig",
    "altclip_text_model": "AltCLIPTextConfig",
    "altclip_vision_model": "AltCLIPVisionConfig",
    "apertus": "ApertusConfig",
    "arcee": "ArceeConfig",
    "aria_text": "AriaTextConfig",
    "audio-spectrogram-transformer": "ASTConfig",
    "audioflamingo3_encoder": "AudioFlamingo3EncoderConfig",
    "autoformer": "AutoformerConfig",
    "bamba": "BambaConfig",
    "bart": "BartConfig",
    "beit": "BeitConfig",
    "bert": "BertConfig",
    "bert-generation": "BertGenerationConfig",
    "big_bird": "BigBirdConfig",
    "bigbird_pegasus": "BigBirdPegasusConfig",
    "biogpt": "BioGptConfig",
    "bitnet": "BitNetConfig",
    "blenderbot": "BlenderbotConfig",
    "blenderbot-small": "BlenderbotSmallConfig",
    "blip_2_vision_model": "Blip2VisionConfig",
    "blip_vision_model": "BlipVisionConfig",
    "bloom": "BloomConfig",
    "bridgetower_text_model": "BridgeTowerTextConfig",
    "camembert": "CamembertConfig",
    "canary_decoder": "CanaryDecoderConfig",
    "chinese_clip_text_model": "ChineseCLIPTextConfig",
    "chinese_clip_vision_model": "ChineseCLIPVisionConfig",
    "clap_text_model": "ClapTextConfig",
    "clip_text_model": "CLIPTextConfig",
    "clip_vision_model": "CLIPVisionConfig",
    "clipseg_text_model": "CLIPSegTextConfig",
    "clipseg_vision_model": "CLIPSegVisionConfig",
    "clvp_decoder": "ClvpDecoderConfig",
    "clvp_encoder": "ClvpEncoderConfig",
    "coarse_acoustics": "BarkCoarseConfig",
    "codegen": "CodeGenConfig",
    "cohere": "CohereConfig",
    "cohere2": "Cohere2Config",
    "cohere_asr": "CohereAsrConfig",
    "csm": "CsmConfig",
    "csm_depth_decoder_model": "CsmDepthDecoderConfig",
    "cwm": "CwmConfig",
    "data2vec-audio": "Data2VecAudioConfig",
    "data2vec-text": "Data2VecTextConfig",
    "data2vec-vision": "Data2VecVisionConfig",
    "dbrx": "DbrxConfig",
    "deberta": "DebertaConfig",
    "deberta-v2": "DebertaV2Config",
    "decision_transformer": "DecisionTransformerConfig",
    "deepseek_v2": "DeepseekV2Config",
    "deepseek_v3": "DeepseekV3Config",
    "deepseek_v32": "DeepseekV32Config",
    "deepseek_v4": "DeepseekV4Config",
    "deit": "DeiTConfig",
    "dia_decoder": "DiaDecoderConfig",
    "dia_encoder": "DiaEncoderConfig",
    "diffllama": "DiffLlamaConfig",
    "dinov2": "Dinov2Config",
    "dinov2_with_registers": "Dinov2WithRegistersConfig",
    "dinov3_vit": "DINOv3ViTConfig",
    "distilbert": "DistilBertConfig",
    "doge": "DogeConfig",
    "dots1": "Dots1Config",
    "dots3_note_audio_encoder": "Dots3NoteAudioConfig",
    "dpr": "DPRConfig",
    "electra": "ElectraConfig",
    "ernie": "ErnieConfig",
    "ernie4_5": "Ernie4_5Config",
    "ernie4_5_moe": "Ernie4_5_MoeConfig",
    "esm": "EsmConfig",
    "esmc": "EsmcConfig",
    "eurobert": "EuroBertConfig",
    "evolla": "EvollaConfig",
    "exaone4": "Exaone4Config",
    "exaone_moe": "ExaoneMoeConfig",
    "falcon": "FalconConfig",
    "falcon_h1": "FalconH1Config",
    "fastspeech2_conformer": "FastSpeech2ConformerConfig",
    "fine_acoustics": "BarkFineConfig",
    "flava_image_model": "FlavaImageConfig",
    "flex_olmo": "FlexOlmoConfig",
    "flint": "FlintConfig",
    "fsmt": "FSMTConfig",
    "fun_asr_nano_adaptor": "FunAsrNanoAdaptorConfig",
    "fun_asr_nano_encoder": "FunAsrNanoEncoderConfig",
    "gemma": "GemmaConfig",
    "gemma2": "Gemma2Config",
    "gemma3": "Gemma3TextConfig",
    "gemma3_text": "Gemma3TextConfig",
    "gemma3n": "Gemma3nTextConfig",
    "gemma3n_text": "Gemma3nTextConfig",
    "gemma4": "Gemma4TextConfig",
    "gemma4_audio": "Gemma4AudioConfig",
    "gemma4_text": "Gemma4TextConfig",
    "gemma4_vision": "Gemma4VisionConfig",
    "git": "GitConfig",
    "git_vision_model": "GitVisionConfig",
    "glm": "GlmConfig",
    "glm4": "Glm4Config",
    "glm4_moe": "Glm4MoeConfig",
    "glm4_moe_lite": "Glm4MoeLiteConfig",
    "glm4v": "Glm4vTextConfig",
    "glm4v_moe_text": "Glm4vMoeTextConfig",
    "glm4v_moe_vision": "Glm4vMoeVisionConfig",
    "glm4v_text": "Glm4vTextConfig",
    "glm4v_vision": "Glm4vVisionConfig",
    "glm_moe_dsa": "GlmMoeDsaConfig",
    "glm_ocr_text": "GlmOcrTextConfig",
    "glmasr_encoder": "GlmAsrEncoderConfig",
    "gpt2": "GPT2Config",
    "gpt_bigcode": "GPTBigCodeConfig",
    "gpt_neo": "GPTNeoConfig",
    "gpt_neox": "GPTNeoXConfig",
    "gpt_neox_japanese": "GPTNeoXJapaneseConfig",
    "gpt_neox_reward_model": "GPTNeoXConfig",  # Open-Assistant's class derives from it
    "gpt_oss": "GptOssConfig",
    "gptj": "GPTJConfig",
    "gradium_phonon_tts": "GradiumPhononTTSConfig",
    "granite": "GraniteConfig",
    "granite_speech5_encoder": "GraniteSpeech5EncoderConfig",
    "granite_speech_encoder": "GraniteSpeechEncoderConfig",
    "granite_speech_plus_encoder": "GraniteSpeechPlusEncoderConfig",
    "granite_swa": "GraniteSWAConfig",
    "granitemoe": "GraniteMoeConfig",
    "granitemoe_swa": "GraniteMoeSWAConfig",
    "granitemoehybrid": "GraniteMoeHybridConfig",
    "granitemoeshared": "GraniteMoeSharedConfig",
    "gte": "GteConfig",
    "helium": "HeliumConfig",
    "higgs_audio_v2": "HiggsAudioV2Config",
    "hubert": "HubertConfig",
    "hunyuan_v1_dense": "HunYuanDenseV1Config",
    "hunyuan_v1_moe": "HunYuanMoEV1Config",
    "hy_v3": "HYV3Config",
    "hyperclovax": "HyperCLOVAXConfig",
    "ibert": "IBertConfig",
    "idefics2_vision": "Idefics2VisionConfig",
    "idefics3_vision": "Idefics3VisionConfig",
    "ijepa": "IJepaConfig",
    "imagegpt": "ImageGPTConfig",
    "informer": "InformerConfig",
    "instructblip_vision_model": "InstructBlipVisionConfig",
    "instructblipvideo_vision_model": "InstructBlipVideoVisionConfig",
    "internlm3": "InternLM3Config",
    "internvl_vision": "InternVLVisionConfig",
    "iquestcoder": "IQuestCoderConfig",
    "jais2": "Jais2Config",
    "jamba": "JambaConfig",
    "janus_vision_model": "JanusVisionConfig",
    "jetmoe": "JetMoeConfig",
    "jina_embeddings_v3": "JinaEmbeddingsV3Config",
    "kimi_k2": "DeepseekV3Config",  # its files declare DeepseekV3ForCausalLM
    "kimi_k25_vision": "Kimi_K25VisionConfig",
    "kimi_linear": "KimiLinearConfig",
    "kolibri1": "Kolibri1Config",
    "kosmos_2_vision_model": "Kosmos2VisionConfig",
    "kyutai_speech_to_text": "KyutaiSpeechToTextConfig",
    "lasr_encoder": "LasrEncoderConfig",
    "led": "LEDConfig",
    "lfm2": "Lfm2Config",
    "lfm2_moe": "Lfm2MoeConfig",
    "llama": "LlamaConfig",
    "llama4": "Llama4TextConfig",
    "llama4_text": "Llama4TextConfig",
    "llama4_vision_model": "Llama4VisionConfig",
    "longcat_flash": "LongcatFlashConfig",
    "longformer": "LongformerConfig",
    "longt5": "LongT5Config",
    "luke": "LukeConfig",
    "m2m_100": "M2M100Config",
    "marian": "MarianConfig",
    "mbart": "MBartConfig",
    "megatron-bert": "MegatronBertConfig",
    "mellum": "MellumConfig",
    "metaclip_2_text_model": "MetaClip2TextConfig",
    "metaclip_2_vision_model": "MetaClip2VisionConfig",
    "mimi": "MimiConfig",
    "mimi_decoder": "MimiDecoderConfig",
    "mimi_encoder": "MimiEncoderConfig",
    "mimo": "Qwen2Config",  # its published MiMoConfig adds nothing to positions
    "minicpm3": "MiniCPM3Config",
    "minicpmv4_6_vision": "MiniCPMV4_6VisionConfig",
    "minimax": "MiniMaxConfig",
    "minimax_m2": "MiniMaxM2Config",
    "minimax_m3": "MiniMaxM3VLTextConfig",  # not registered; the class reads these very keys
    "minimax_m3_vl_text": "MiniMaxM3VLTextConfig",
    "ministral": "MinistralConfig",
    "ministral3": "Ministral3Config",
    "mistral": "MistralConfig",
    "mistral4": "Mistral4Config",
    "mixtral": "MixtralConfig",
    "mllama": "MllamaTextConfig",
    "mllama_text_model": "MllamaTextConfig",
    "mllama_vision_model": "MllamaVisionConfig",
    "modernbert": "ModernBertConfig",
    "modernbert-decoder": "ModernBertDecoderConfig",
    "moonshine": "MoonshineConfig",
    "moonshine_streaming": "MoonshineStreamingConfig",
    "moonshine_streaming_encoder": "MoonshineStreamingEncoderConfig",
    "moshi": "MoshiConfig",
    "moshi_depth": "MoshiDepthConfig",
    "moss_transcribe_diarize_audio": "MossTranscribeDiarizeAudioConfig",
    "mpnet": "MPNetConfig",
    "mpt": "MptConfig",
    "mra": "MraConfig",
    "mt5": "MT5Config",
    "musicgen_decoder": "MusicgenDecoderConfig",
    "musicgen_melody_decoder": "MusicgenMelodyDecoderConfig",
    "mvp": "MvpConfig",
    "nanochat": "NanoChatConfig",
    "nemotron": "NemotronConfig",
    "nemotron3_5_transcribe_word_timestamp": "Nemotron3_5TranscribeWordTimestampConfig",
    "nemotron_asr_streaming_encoder": "NemotronAsrStreamingEncoderConfig",
    "nemotron_h": "NemotronHConfig",
    "neucodec": "NeuCodecConfig",
    "nllb-moe": "NllbMoeConfig",
    "nomic_bert": "NomicBertConfig",
    "nystromformer": "NystromformerConfig",
    "olmo": "OlmoConfig",
    "olmo2": "Olmo2Config",
    "olmo3": "Olmo3Config",
    "olmo_hybrid": "OlmoHybridConfig",
    "olmoe": "OlmoeConfig",
    "openai-gpt": "OpenAIGPTConfig",
    "opt": "OPTConfig",
    "owlv2_text_model": "Owlv2TextConfig",
    "owlv2_vision_model": "Owlv2VisionConfig",
    "owlvit_text_model": "OwlViTTextConfig",
    "owlvit_vision_model": "OwlViTVisionConfig",
    "paddleocr_vl_text": "PaddleOCRTextConfig",
    "parakeet_encoder": "ParakeetEncoderConfig",
    "patchtst": "PatchTSTConfig",
    "pe_audio_encoder": "PeAudioEncoderConfig",
    "pegasus": "PegasusConfig",
    "persimmon": "PersimmonConfig",
    "phi": "PhiConfig",
    "phi3": "Phi3Config",
    "phi4_multimodal": "Phi4MultimodalConfig",
    "phi4_multimodal_audio": "Phi4MultimodalAudioConfig",
    "phi4_multimodal_vision": "Phi4MultimodalVisionConfig",
    "phimoe": "PhimoeConfig",
    "pixtral": "PixtralVisionConfig",
    "plbart": "PLBartConfig",
    "pocket_tts": "PocketTTSConfig",
    "pocket_tts_audio_tokenizer": "PocketTTSAudioTokenizerConfig",
    "pocket_tts_audio_tokenizer_decoder": "PocketTTSAudioTokenizerDecoderConfig",
    "pocket_tts_audio_tokenizer_encoder": "PocketTTSAudioTokenizerEncoderConfig",
    "pop2piano": "Pop2PianoConfig",
    "qwen2": "Qwen2Config",
    "qwen2_5_omni_audio_encoder": "Qwen2_5OmniAudioEncoderConfig",
    "qwen2_5_omni_dit": "Qwen2_5OmniDiTConfig",
    "qwen2_5_omni_talker": "Qwen2_5OmniTalkerConfig",
    "qwen2_5_omni_text": "Qwen2_5OmniTextConfig",
    "qwen2_5_omni_vision_encoder": "Qwen2_5OmniVisionEncoderConfig",
    "qwen2_5_vl": "Qwen2_5_VLTextConfig",
    "qwen2_5_vl_text": "Qwen2_5_VLTextConfig",
    "qwen2_5_vl_vision": "Qwen2_5_VLVisionConfig",
    "qwen2_audio_encoder": "Qwen2AudioEncoderConfig",
    "qwen2_moe": "Qwen2MoeConfig",
    "qwen2_vl": "Qwen2VLTextConfig",
    "qwen2_vl_text": "Qwen2VLTextConfig",
    "qwen2_vl_vision": "Qwen2VLVisionConfig",
    "qwen3": "Qwen3Config",
    "qwen3_5": "Qwen3_5TextConfig",
    "qwen3_5_moe": "Qwen3_5MoeTextConfig",
    "qwen3_5_moe_text": "Qwen3_5MoeTextConfig",
    "qwen3_5_moe_vision": "Qwen3_5MoeVisionConfig",
    "qwen3_5_text": "Qwen3_5TextConfig",
    "qwen3_5_vision": "Qwen3_5VisionConfig",
    "qwen3_asr_encoder": "Qwen3ASREncoderConfig",
    "qwen3_moe": "Qwen3MoeConfig",
    "qwen3_next": "Qwen3NextConfig",
    "qwen3_omni_moe_audio_encoder": "Qwen3OmniMoeAudioEncoderConfig",
    "qwen3_omni_moe_talker_code_predictor": "Qwen3OmniMoeTalkerCodePredictorConfig",
    "qwen3_omni_moe_talker_text": "Qwen3OmniMoeTalkerTextConfig",
    "qwen3_omni_moe_text": "Qwen3OmniMoeTextConfig",
    "qwen3_omni_moe_vision_encoder": "Qwen3OmniMoeVisionEncoderConfig",
    "qwen3_vl": "Qwen3VLTextConfig",
    "qwen3_vl_moe": "Qwen3VLMoeTextConfig",
    "qwen3_vl_moe_text": "Qwen3VLMoeTextConfig",
    "qwen3_vl_moe_vision": "Qwen3VLMoeVisionConfig",
    "qwen3_vl_text": "Qwen3VLTextConfig",
    "qwen3_vl_vision": "Qwen3VLVisionConfig",
    "recurrent_gemma": "RecurrentGemmaConfig",
    "reformer": "ReformerConfig",
    "rembert": "RemBertConfig",
    "roberta": "RobertaConfig",
    "roberta-prelayernorm": "RobertaPreLayerNormConfig",
    "roc_bert": "RoCBertConfig",
    "roformer": "RoFormerConfig",
    "seamless_m4t": "SeamlessM4TConfig",
    "seamless_m4t_v2": "SeamlessM4Tv2Config",
    "seed_oss": "SeedOssConfig",
    "semantic": "BarkSemanticConfig",
    "sew": "SEWConfig",
    "sew-d": "SEWDConfig",
    "siglip2_text_model": "Siglip2TextConfig",
    "siglip2_vision_model": "Siglip2VisionConfig",
    "siglip_text_model": "SiglipTextConfig",
    "siglip_vision_model": "SiglipVisionConfig",
    "smollm3": "SmolLM3Config",
    "smolvlm_vision": "SmolVLMVisionConfig",
    "solar_open": "SolarOpenConfig",
    "speech_to_text": "Speech2TextConfig",
    "speecht5": "SpeechT5Config",
    "splinter": "SplinterConfig",
    "squeezebert": "SqueezeBertConfig",
    "stablelm": "StableLmConfig",
    "starcoder2": "Starcoder2Config",
    "step3p5": "Step3p7TextConfig",
    "step3p7": "Step3p7TextConfig",
    "switch_transformers": "SwitchTransformersConfig",
    "t5": "T5Config",
    "time_series_transformer": "TimeSeriesTransformerConfig",
    "timesformer": "TimesformerConfig",
    "timesfm": "TimesFmConfig",
    "timesfm2_5": "TimesFm2_5Config",
    "umt5": "UMT5Config",
    "unispeech": "UniSpeechConfig",
    "unispeech-sat": "UniSpeechSatConfig",
    "unlimited-ocr": "UnlimitedOcrTextConfig",
    "unlimited_ocr": "UnlimitedOcrTextConfig",
    "unlimited_ocr_sam_vision_model": "UnlimitedOcrSamVisionConfig",
    "unlimited_ocr_text": "UnlimitedOcrTextConfig",
    "unlimited_ocr_vision_encoder": "UnlimitedOcrVisionEncoderConfig",
    "vaultgemma": "VaultGemmaConfig",
    "vit": "ViTConfig",
    "vit_msn": "ViTMSNConfig",
    "vits": "VitsConfig",
    "voxtral_encoder": "VoxtralEncoderConfig",
    "voxtral_realtime_encoder": "VoxtralRealtimeEncoderConfig",
    "voxtral_realtime_text": "VoxtralRealtimeTextConfig",
    "wav2vec2": "Wav2Vec2Config",
    "wav2vec2-bert": "Wav2Vec2BertConfig",
    "wav2vec2-conformer": "Wav2Vec2ConformerConfig",
    "wavlm": "WavLMConfig",
    "whisper": "WhisperConfig",
    "xcodec2": "Xcodec2Config",
    "xglm": "XGLMConfig",
    "xlm-roberta": "XLMRobertaConfig",
    "xlm-roberta-xl": "XLMRobertaXLConfig",
    "xlnet": "XLNetConfig",
    "xmod": "XmodConfig",
    "yoso": "YosoConfig",
    "youtu": "YoutuConfig",
    "zamba": "ZambaConfig",
    "zamba2": "Zamba2Config",
}

# Keys that bear on positions, masks, scores or the shape of a head.
KEYS = set(
    """
    hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim
    n_embd n_layer n_head n_positions
    qk_nope_head_dim qk_rope_head_dim qk_head_dim v_head_dim use_mla
    max_position_embeddings original_max_position_embeddings
    rope_theta rope_local_base_freq rope_parameters rope_interleave rope_ratio
    partial_rotary_factor rotary_dim rotary_pct rotary_emb_base
    sliding_window use_sliding_window max_window_layers sliding_window_pattern layer_types
    no_rope_layers no_rope_layer_interval attention_chunk_size
    attn_temperature_tuning attn_scale floor_scale
    query_pre_attn_scalar attention_multiplier attn_logit_softcapping
    multi_query new_decoder_architecture alibi position_embedding_type d_model n_heads n_layers max_seq_len
    use_qk_norm qk_layernorm use_bidirectional_attention is_causal
    full_attention_interval cross_attention_layers num_kv_shared_layers
    global_head_dim num_global_key_value_heads attention_k_eq_v
    index_n_heads index_head_dim index_topk index_topk_freq index_skip_topk_offset
    index_topk_blocks index_block_size index_local_blocks
    compress_rope_theta
    image_size patch_size embed_dim num_global_layers num_position_embeddings num_patches position_embedding_size
    max_source_positions pos_emb_height pos_emb_width pos_emb_time max_num_tiles supported_aspect_ratios
    use_absolute_position_embeddings use_abs_pos use_rel_pos window_size fullatt_block_indexes global_attn_indexes
    spatial_merge_size window_kernel_size insert_layer_id
    attention_context_left attention_context_right attention_logit_cap depths
    d_model dim n_layers n_heads num_layers num_decoder_layers num_heads encoder_layers decoder_layers
    encoder_attention_heads decoder_attention_heads attention_heads d_kv d_head attention_head_size
    max_source_positions max_target_positions max_seq_len n_ctx pad_token_id type_vocab_size scale_embedding
    position_embedding_type position_biased_input sinusoidal_pos_embds axial_pos_embds axial_pos_shape
    axial_pos_embds_dim learned_pos_emb alibi alibi_bias_max relative_attention_num_buckets
    relative_attention_max_distance clamp_len bi_data relative_attention pos_att_type max_relative_positions
    scale_attn_weights scale_attn_by_inverse_layer_idx softmax_scale multi_query is_decoder attn_type same_length
    block_types attn_layer_period attn_layer_offset attn_layer_indices layers_block_type key_multiplier use_mem_rope
    attention_head_dim attention_window_size kv_channels local_radius attention_type encoder_attention_type
    rescale_embeddings max_encoder_position_embeddings max_decoder_position_embeddings
    prefix_lm qk_ln add_cross_attention global_attn_every_n_layers local_attention global_rope_theta local_rope_theta
    attention_types window_size attention_window attn_layers local_attn_chunk_length local_num_chunks_before
    num_conv_pos_embeddings num_conv_pos_embedding_groups conv_pos_kernel_size squeeze_factor position_embeddings_type
    rotary_embedding_base left_max_position_embeddings right_max_position_embeddings encoder_max_relative_position
    max_bucket_distance max_speech_positions max_text_positions speech_encoder_layers speech_encoder_attention_heads
    speech_encoder_chunk_size speech_encoder_left_chunk_num t2u_encoder_layers t2u_encoder_attention_heads
    t2u_decoder_layers t2u_decoder_attention_heads t2u_max_position_embeddings t2u_pad_token_id
    encoder_num_attention_heads decoder_num_attention_heads add_adapter num_adapter_layers output_hidden_size
    position_buckets share_att_key block_size encoder_num_hidden_layers decoder_num_hidden_layers
    encoder_num_key_value_heads decoder_num_key_value_heads
    context_length prediction_length patch_length patch_stride use_cls_token max_length num_mel_bins frequency_stride
    time_stride context_size max_pos_emb dim_head hidden_dim num_blocks bias_max_distance bias_symmetric n_window
    n_window_infer default_num_lookahead_tokens cross_num_attention_heads cross_num_key_value_heads cross_head_dim
    use_rotary_embedding projection_dim num_frames sliding_windows look_ahead_layers look_backward_layers use_positional_embedding
    local_num_chunks_after lsh_attn_chunk_length lsh_num_chunks_before lsh_num_chunks_after num_hashes num_buckets
    """.split()
)


def own_function(cls, name):
    """The syntax tree of a method that the class itself defines, or None."""
    if name not in vars(cls):
        return None
    return ast.parse(textwrap.dedent(inspect.getsource(vars(cls)[name]))).body[0]


def constant(node, cls, local=()):
    """The value of a literal, of a local name for one, or of the class's default base; ValueError where it depends on
    the config."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr="default_theta"):
            return cls.default_theta
        case ast.Subscript(value=container, slice=ast.Constant(value=key)):
            return constant(container, cls)[key]
        case ast.Name(id=name) if name in local:
            return constant(local[name], cls)
    return ast.literal_eval(node)


def local_values(function):
    """{name: tree} of what a function assigns to its local names."""
    found = {}
    for node in ast.walk(function) if function else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value:
                found[name] = value
    return found


def fallbacks(cls):
    """{key: value} of kwargs.get, pop and setdefault with a fallback, and of "if self.key is None" with a literal."""
    found = {}

    def add(key, node):
        try:
            value = constant(node, cls, local)
        except ValueError:
            return
        if found.setdefault(key, value) != value:
            raise SystemExit(f"{cls.__name__}: two fallbacks for {key}: {found[key]} and {value}")

    for name in ("__post_init__", "convert_rope_params_to_dict"):
        function = own_function(cls, name)
        local = local_values(function)
        for node in ast.walk(function) if function else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="kwargs"), attr="get" | "pop" | "setdefault"),
                    args=[ast.Constant(value=str(key)), fallback],
                ):
                    add(key, fallback)
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id="kwargs"), slice=ast.Constant(value=str(key)))],
                    value=fixed,
                ):
                    add(key, fixed)
                case ast.If(
                    test=ast.Compare(
                        left=ast.Attribute(value=ast.Name(id="self"), attr=tested),
                        ops=[ast.Is()],
                        comparators=[ast.Constant(value=None)],
                    ),
                    body=[ast.Assign(targets=[ast.Attribute(attr=assigned)], value=value)],
                ) if tested == assigned:
                    add(assigned, value)
    return found


def defaults_of(cls):
    """{key: value} of one class, the keys of KEYS only."""
    values = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            values[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            values[field.name] = field.default_factory()
    base = cls.default_theta  # a number, or one per kind of layer (Gemma 3)
    values["rope_theta"] = base["global"] if isinstance(base, dict) else base
    for key, value in fallbacks(cls).items():
        if values.get(key) is None:
            values[key] = value
    if values.get("partial_rotary_factor") is None:
        values["partial_rotary_factor"] = getattr(cls, "default_partial_rotary_factor", None)
    if nested := cls.sub_configs.get("attn_config"):
        values |= {key: value for key, value in defaults_of(nested).items() if values.get(key) is None}
    parameters = values.get("rope_parameters")
    if parameters and all(isinstance(value, dict) for value in parameters.values()):
        del values["rope_theta"]  # each kind of layer has its own
    for canonical, declared in cls.attribute_map.items():
        values.setdefault(canonical, values.get(declared))
    return {key: value for key, value in values.items() if key in KEYS and value is not None}


def row(model_type, class_name):
    """One line of the table: the values as "key=JSON", in the order of their keys, "; " between them."""
    values = defaults_of(getattr(transformers, class_name))
    defaults = [f"{key}={json.dumps(value)}" for key, value in sorted(values.items())]
    if any(";" in text for text in defaults):
        raise SystemExit(f"{class_name}: a value has the character that stands between values")
    return f'    {{"{model_type}", "{class_name}", R"({"; ".join(defaults)})"}},'


def main():
    version = transformers.__version__
    table = "\n".join(row(model_type, class_name) for model_type, class_name in sorted(CLASSES.items()))
    OUT.write_text(
        f"""\
// Made by scripts/class_defaults.py from transformers {version}; do not edit.
#include "plan/families/class_defaults.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace posenc::plan {{
namespace {{

// clang-format off
constexpr ClassDefaults kClassDefaults[] = {{
{table}
}};
// clang-format on

static_assert(std::ranges::adjacent_find(kClassDefaults, std::ranges::greater_equal(), &ClassDefaults::model_type) ==
              std::ranges::end(kClassDefaults));

}}  // namespace

std::span<const ClassDefaults> class_defaults() noexcept {{ return kClassDefaults; }}
std::string_view class_defaults_version() noexcept {{ return "{version}"; }}

}}  // namespace posenc::plan
""",
        encoding="ascii",
    )
    print(f"class_defaults.cpp: transformers {version}")


if __name__ == "__main__":
    main()
