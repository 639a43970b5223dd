// The built-in models: the keys of their config.json that bear on positions, without anything else of the file.
#include "plan/read/preset_table.h"

namespace posenc::plan {
namespace {

// The last member says whether tests/plan/presets_test.cpp holds the plan against that of the model's own file.
constexpr Preset kPresets[] = {
    {"llama-2-7b", R"({
  "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 32, "max_position_embeddings": 4096
})",
     true},
    {"llama-3.1-8b", R"({
  "model_type": "llama", "architectures": ["LlamaForCausalLM"],
  "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 131072, "rope_theta": 500000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}
})",
     true},
    {"llama-3.1-70b", R"({
  "model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 500000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}
})",
     true},
    {"llama-3.2-1b", R"({
  "model_type": "llama", "num_hidden_layers": 16, "head_dim": 64, "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 131072, "rope_theta": 500000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192}
})",
     true},
    {"llama-3.2-3b", R"({
  "model_type": "llama", "num_hidden_layers": 28, "head_dim": 128, "num_attention_heads": 24,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 500000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192}
})",
     true},
    {"mistral-7b-v0.1", R"({
  "model_type": "mistral", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 8, "max_position_embeddings": 32768, "rope_theta": 10000.0, "sliding_window": 4096
})",
     true},
    {"mixtral-8x22b", R"({
  "model_type": "mixtral", "num_hidden_layers": 56, "hidden_size": 6144, "num_attention_heads": 48,
  "num_key_value_heads": 8, "max_position_embeddings": 65536, "rope_theta": 1000000
})",
     true},
    {"qwen2-7b", R"({
  "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
  "num_key_value_heads": 4, "max_position_embeddings": 32768, "rope_theta": 1000000.0, "use_sliding_window": false
})",
     true},
    {"qwen2.5-0.5b", R"({
  "model_type": "qwen2", "num_hidden_layers": 24, "hidden_size": 896, "num_attention_heads": 14,
  "num_key_value_heads": 2, "max_position_embeddings": 32768, "rope_theta": 1000000.0, "use_sliding_window": false
})",
     true},
    {"qwen2.5-7b", R"({
  "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
  "num_key_value_heads": 4, "max_position_embeddings": 131072, "rope_theta": 1000000.0, "use_sliding_window": false
})",
     true},
    {"qwen2.5-72b", R"({
  "model_type": "qwen2", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 1000000.0, "use_sliding_window": false
})",
     true},
    {"qwen3-8b", R"({
  "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
  "num_hidden_layers": 36, "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 40960, "rope_theta": 1000000, "use_sliding_window": false
})",
     true},
    {"qwen3-30b-a3b", R"({
  "model_type": "qwen3_moe", "num_hidden_layers": 48, "head_dim": 128, "num_attention_heads": 32,
  "num_key_value_heads": 4, "max_position_embeddings": 40960, "rope_theta": 1000000.0, "use_sliding_window": false
})",
     true},
    {"gemma-7b", R"({
  "model_type": "gemma", "num_hidden_layers": 28, "head_dim": 256, "num_attention_heads": 16,
  "num_key_value_heads": 16, "max_position_embeddings": 8192, "rope_theta": 10000.0
})",
     true},
    {"gemma-2-9b", R"({
  "model_type": "gemma2", "num_hidden_layers": 42, "head_dim": 256, "num_attention_heads": 16,
  "num_key_value_heads": 8, "attn_logit_softcapping": 50.0, "max_position_embeddings": 8192,
  "query_pre_attn_scalar": 256, "rope_theta": 10000.0, "sliding_window": 4096
})",
     true},
    // The text decoder alone, from memory.
    {"gemma-3-4b", R"({
  "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
  "num_hidden_layers": 34, "head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4,
  "max_position_embeddings": 131072, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
  "rope_scaling": {"rope_type": "linear", "factor": 8.0},
  "sliding_window": 1024, "sliding_window_pattern": 6, "query_pre_attn_scalar": 256
})",
     false},
    {"phi-1", R"({
  "model_type": "phi", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
  "num_key_value_heads": 32, "max_position_embeddings": 2048, "partial_rotary_factor": 0.5, "qk_layernorm": false,
  "rope_theta": 10000.0
})",
     true},
    {"phi-3-mini-128k", R"({
  "model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072, "num_attention_heads": 32,
  "num_key_value_heads": 32, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
  "rope_theta": 10000.0, "sliding_window": 262144,
  "rope_scaling": {"type": "longrope", "long_factor": [1.0700000524520874, 1.1200000047683716, 1.149999976158142,
    1.4199999570846558, 1.5699999332427979, 1.7999999523162842, 2.129999876022339, 2.129999876022339,
    3.009999990463257, 5.910000324249268, 6.950000286102295, 9.070000648498535, 9.930000305175781, 10.710000038146973,
    11.130000114440918, 14.609999656677246, 15.409998893737793, 19.809999465942383, 37.279998779296875,
    38.279998779296875, 38.599998474121094, 40.12000274658203, 46.20000457763672, 50.940006256103516,
    53.66000747680664, 54.9373893737793, 56.89738845825195, 57.28738784790039, 59.98738479614258, 60.86738586425781,
    60.887386322021484, 61.71739196777344, 62.91739273071289, 62.957393646240234, 63.41739273071289, 63.8173942565918,
    63.83739471435547, 63.897396087646484, 63.93739700317383, 64.06739807128906, 64.11434936523438, 64.12435150146484,
    64.15435028076172, 64.19435119628906, 64.24435424804688, 64.57435607910156, 64.69000244140625, 64.76000213623047],
    "short_factor": [1.1, 1.1, 1.1, 1.3000000000000003, 1.3500000000000003, 1.3500000000000003, 1.4000000000000004,
    1.5500000000000005, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001, 2.000000000000001,
    2.0500000000000007, 2.0500000000000007, 2.0500000000000007, 2.0500000000000007, 2.0500000000000007,
    2.0500000000000007, 2.1000000000000005, 2.1000000000000005, 2.1500000000000004, 2.25, 2.25, 2.25, 2.25, 2.25,
    2.3999999999999995, 2.4499999999999993, 2.499999999999999, 2.6999999999999984, 2.6999999999999984,
    2.7499999999999982, 2.799999999999998, 2.8999999999999977, 3.049999999999997]}
})",
     true},
    {"phi-3.5-mini", R"({
  "model_type": "phi3", "architectures": ["Phi3ForCausalLM"],
  "num_hidden_layers": 32, "hidden_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 32,
  "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "rope_theta": 10000.0,
  "sliding_window": 262144,
  "rope_scaling": {"type": "longrope",
    "long_factor": [1.0800000429153442, 1.1100000143051147, 1.1399999856948853, 1.340000033378601, 1.5899999141693115,
      1.600000023841858, 1.6200000047683716, 2.620000123977661, 3.2300000190734863, 3.2300000190734863,
      4.789999961853027, 7.400000095367432, 7.700000286102295, 9.09000015258789, 12.199999809265137,
      17.670000076293945, 24.46000099182129, 28.57000160217285, 30.420001983642578, 30.840002059936523,
      32.590003967285156, 32.93000411987305, 42.320003509521484, 44.96000289916992, 50.340003967285156,
      50.45000457763672, 57.55000305175781, 57.93000411987305, 58.21000289916992, 60.1400032043457,
      62.61000442504883, 62.62000274658203, 62.71000289916992, 63.1400032043457, 63.1400032043457,
      63.77000427246094, 63.93000411987305, 63.96000289916992, 63.970001220703125, 64.02999877929688,
      64.06999969482422, 64.08000183105469, 64.12000274658203, 64.41000366210938, 64.4800033569336,
      64.51000213623047, 64.52999877929688, 64.83999633789062],
    "short_factor": [1.0, 1.0199999809265137, 1.0299999713897705, 1.0299999713897705, 1.0499999523162842, 1.0499999523162842,
      1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.0699999332427979, 1.0999999046325684,
      1.1099998950958252, 1.1599998474121094, 1.1599998474121094, 1.1699998378753662, 1.2899998426437378,
      1.339999794960022, 1.679999828338623, 1.7899998426437378, 1.8199998140335083, 1.8499997854232788,
      1.8799997568130493, 1.9099997282028198, 1.9399996995925903, 1.9899996519088745, 2.0199997425079346,
      2.0199997425079346, 2.0199997425079346, 2.0199997425079346, 2.0199997425079346, 2.0199997425079346,
      2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914,
      2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0799996852874756,
      2.0899996757507324, 2.189999580383301, 2.2199995517730713, 2.5899994373321533, 2.729999542236328,
      2.749999523162842, 2.8399994373321533]}
})",
     true},
    {"phi-3.5-moe", R"({
  "model_type": "phimoe", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
  "rope_theta": 10000.0, "sliding_window": 131072,
  "rope_scaling": {"type": "longrope", "long_factor": [1.0199999809265137, 1.0299999713897705, 1.0399999618530273,
    1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.059999942779541, 1.059999942779541,
    1.059999942779541, 1.059999942779541, 1.059999942779541, 1.059999942779541, 1.0999999046325684,
    1.1799999475479126, 1.1799999475479126, 1.3700000047683716, 1.4899998903274536, 2.109999895095825,
    2.8899998664855957, 3.9499998092651367, 4.299999713897705, 6.429999828338623, 8.09000015258789,
    10.690000534057617, 12.050000190734863, 18.229999542236328, 18.84000015258789, 19.899999618530273,
    21.420000076293945, 26.200000762939453, 34.28000259399414, 34.590003967285156, 38.730003356933594,
    40.22000503540039, 42.54000473022461, 44.000003814697266, 47.590003967285156, 54.750003814697266,
    56.19000244140625, 57.44000244140625, 57.4900016784668, 61.20000076293945, 61.540000915527344, 61.75,
    61.779998779296875, 62.06999969482422, 63.11000061035156, 63.43000030517578, 63.560001373291016,
    63.71000289916992, 63.92000198364258, 63.94000244140625, 63.94000244140625, 63.96000289916992, 63.980003356933594,
    64.0300064086914, 64.0300064086914, 64.0300064086914, 64.04000854492188, 64.10000610351562, 64.19000244140625,
    64.20999908447266, 64.75, 64.95999908447266], "long_mscale": 1.243163121016122, "short_factor": [1.0,
    1.0399999618530273, 1.0399999618530273, 1.0399999618530273, 1.0499999523162842, 1.0499999523162842,
    1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.0499999523162842,
    1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.059999942779541, 1.059999942779541,
    1.0699999332427979, 1.0699999332427979, 1.0699999332427979, 1.0699999332427979, 1.1399999856948853,
    1.159999966621399, 1.159999966621399, 1.159999966621399, 1.159999966621399, 1.1799999475479126,
    1.1999999284744263, 1.3199999332427979, 1.3399999141693115, 1.3499999046325684, 1.3999998569488525,
    1.4799998998641968, 1.4999998807907104, 1.589999794960022, 1.6499998569488525, 1.71999990940094,
    1.8999998569488525, 1.9099998474121094, 1.9099998474121094, 1.9899998903274536, 1.9999998807907104,
    1.9999998807907104, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257,
    2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257,
    2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257, 2.009999990463257,
    2.0999999046325684, 2.319999933242798, 2.419999837875366, 2.5899999141693115, 2.7899999618530273],
    "short_mscale": 1.243163121016122}
})",
     true},
    {"deepseek-v2-lite", R"({
  "model_type": "deepseek_v2", "num_hidden_layers": 27, "num_attention_heads": 16, "max_position_embeddings": 163840,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 10000, "v_head_dim": 128,
  "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707,
    "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096}
})",
     true},
    {"deepseek-v3", R"({
  "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
  "num_hidden_layers": 61, "num_attention_heads": 128, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "max_position_embeddings": 163840, "rope_theta": 10000,
  "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32,
                   "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}
})",
     true},
    {"deepseek-v3.2", R"({
  "model_type": "deepseek_v32", "num_hidden_layers": 61, "num_attention_heads": 128, "index_head_dim": 128,
  "index_n_heads": 64, "index_topk": 2048, "max_position_embeddings": 163840, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "rope_theta": 10000, "v_head_dim": 128,
  "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
    "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}
})",
     true},
    {"kimi-k2", R"({
  "model_type": "kimi_k2", "num_hidden_layers": 61, "num_attention_heads": 64, "max_position_embeddings": 262144,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 50000.0, "v_head_dim": 128,
  "rope_scaling": {"type": "yarn", "factor": 64.0, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0,
    "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}
})",
     true},
    {"minimax-m2.5", R"({
  "model_type": "minimax_m2", "num_hidden_layers": 62, "head_dim": 128, "num_attention_heads": 48,
  "num_key_value_heads": 8, "max_position_embeddings": 196608, "rope_theta": 5000000, "rotary_dim": 64
})",
     true},
    // As published; the data set has no file of it.
    {"gpt-oss-20b", R"({
  "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"],
  "num_hidden_layers": 24, "head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
  "max_position_embeddings": 131072, "rope_theta": 150000, "sliding_window": 128,
  "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0,
                   "beta_slow": 1.0, "truncate": false}
})",
     false},
    {"gpt-oss-120b", R"({
  "model_type": "gpt_oss", "num_hidden_layers": 36, "head_dim": 64, "num_attention_heads": 64,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 150000, "sliding_window": 128,
  "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "original_max_position_embeddings": 4096, "truncate": false}
})",
     true},
    {"glm-4-9b", R"({
  "model_type": "chatglm", "num_layers": 40, "kv_channels": 128, "num_attention_heads": 32,
  "multi_query_attention": true, "multi_query_group_num": 2, "original_rope": true, "seq_length": 8192
})",
     true},
    {"glm-5", R"({
  "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "num_attention_heads": 64, "index_head_dim": 128,
  "index_n_heads": 32, "index_topk": 2048, "indexer_rope_interleave": true, "max_position_embeddings": 202752,
  "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "rope_interleave": true, "v_head_dim": 256,
  "rope_parameters": {"rope_type": "default", "rope_theta": 1000000}
})",
     true},
    {"olmo-3.1-32b", R"({
  "model_type": "olmo3", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 40,
  "num_key_value_heads": 8, "max_position_embeddings": 65536, "rope_theta": 500000, "sliding_window": 4096,
  "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "attention_factor": 1.2079441541679836, "beta_fast": 32,
    "beta_slow": 1, "original_max_position_embeddings": 8192}
})",
     true},
    {"granite-3.1-1b", R"({
  "model_type": "granitemoe", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
  "num_key_value_heads": 8, "attention_multiplier": 0.015625, "max_position_embeddings": 131072,
  "rope_theta": 1500000.0
})",
     true},
    {"granite-3.3-8b", R"({
  "model_type": "granite", "num_hidden_layers": 40, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 8, "attention_multiplier": 0.0078125, "max_position_embeddings": 131072,
  "rope_theta": 10000000.0
})",
     true},
    {"smollm-1.7b", R"({
  "model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
  "num_key_value_heads": 32, "max_position_embeddings": 2048, "rope_theta": 10000.0
})",
     true},
    {"smollm3-3b", R"({
  "model_type": "smollm3", "num_hidden_layers": 36, "hidden_size": 2048, "num_attention_heads": 16,
  "num_key_value_heads": 4, "max_position_embeddings": 65536, "rope_theta": 5000000.0, "use_sliding_window": false
})",
     true},
    {"exaone-3.0-7.8b", R"({
  "model_type": "exaone", "num_layers": 32, "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 32768, "rope_theta": 1000000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192}
})",
     true},
    {"exaone-4.0-32b", R"({
  "model_type": "exaone4", "num_hidden_layers": 64, "head_dim": 128, "num_attention_heads": 40,
  "num_key_value_heads": 8, "max_position_embeddings": 131072, "rope_theta": 1000000, "sliding_window": 4096,
  "rope_scaling": {"rope_type": "llama3", "factor": 16.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192}
})",
     true},
    {"internlm2-7b", R"({
  "model_type": "internlm2", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 8, "max_position_embeddings": 32768, "rope_theta": 1000000
})",
     true},
    {"internlm3-8b", R"({
  "model_type": "internlm3", "num_hidden_layers": 48, "head_dim": 128, "num_attention_heads": 32,
  "num_key_value_heads": 2, "max_position_embeddings": 32768, "rope_theta": 50000000,
  "rope_scaling": {"rope_type": "dynamic", "factor": 6.0}
})",
     true},
    {"minicpm4-8b", R"({
  "model_type": "minicpm", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
  "num_key_value_heads": 2, "max_position_embeddings": 32768, "rope_theta": 10000.0,
  "rope_scaling": {"rope_type": "longrope", "long_factor": [0.9977997200264581, 1.014658295992452, 1.0349680404997148,
    1.059429246056193, 1.0888815016813513, 1.1243301355211495, 1.166977103606075, 1.2182568066927284,
    1.2798772354275727, 1.3538666751582975, 1.4426259039919596, 1.5489853358570191, 1.6762658237220625,
    1.8283407612492941, 2.0096956085876183, 2.225478927469756, 2.481536379650452, 2.784415934557119,
    3.1413289096347365, 3.560047844772632, 4.048719380066383, 4.615569542115128, 5.2684819496549835,
    6.014438591970396, 6.858830049237097, 7.804668263503327, 8.851768731513417, 9.99600492938444, 11.228766118181639,
    12.536757560834843, 13.902257701387796, 15.303885189125953, 16.717837610115794, 18.119465097853947,
    19.484965238406907, 20.792956681060105, 22.02571786985731, 23.16995406772833, 24.217054535738416,
    25.16289275000465, 26.007284207271347, 26.753240849586767, 27.40615325712662, 27.973003419175363,
    28.461674954469114, 28.880393889607006, 29.237306864684626, 29.540186419591297, 29.79624387177199,
    30.01202719065413, 30.193382037992453, 30.34545697551969, 30.47273746338473, 30.579096895249787,
    30.66785612408345, 30.741845563814174, 30.80346599254902, 30.85474569563567, 30.897392663720595,
    30.932841297560394, 30.962293553185553, 30.986754758742034, 31.007064503249293, 31.02392307921529],
    "short_factor": [0.9977997200264581, 1.014658295992452, 1.0349680404997148, 1.059429246056193, 1.0888815016813513,
    1.1243301355211495, 1.166977103606075, 1.2182568066927284, 1.2798772354275727, 1.3538666751582975,
    1.4426259039919596, 1.5489853358570191, 1.6762658237220625, 1.8283407612492941, 2.0096956085876183,
    2.225478927469756, 2.481536379650452, 2.784415934557119, 3.1413289096347365, 3.560047844772632, 4.048719380066383,
    4.615569542115128, 5.2684819496549835, 6.014438591970396, 6.858830049237097, 7.804668263503327, 8.851768731513417,
    9.99600492938444, 11.228766118181639, 12.536757560834843, 13.902257701387796, 15.303885189125953,
    16.717837610115794, 18.119465097853947, 19.484965238406907, 20.792956681060105, 22.02571786985731,
    23.16995406772833, 24.217054535738416, 25.16289275000465, 26.007284207271347, 26.753240849586767,
    27.40615325712662, 27.973003419175363, 28.461674954469114, 28.880393889607006, 29.237306864684626,
    29.540186419591297, 29.79624387177199, 30.01202719065413, 30.193382037992453, 30.34545697551969,
    30.47273746338473, 30.579096895249787, 30.66785612408345, 30.741845563814174, 30.80346599254902,
    30.85474569563567, 30.897392663720595, 30.932841297560394, 30.962293553185553, 30.986754758742034,
    31.007064503249293, 31.02392307921529], "original_max_position_embeddings": 32768}
})",
     true},
    {"mimo-7b", R"({
  "model_type": "mimo", "num_hidden_layers": 36, "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 32768, "rope_theta": 640000, "use_sliding_window": false
})",
     true},
    {"stablelm-3b-4e1t", R"({
  "model_type": "stablelm", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32,
  "num_key_value_heads": 32, "max_position_embeddings": 4096, "partial_rotary_factor": 0.25, "rope_theta": 10000
})",
     true},
    {"pythia-410m", R"({
  "model_type": "gpt_neox", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
  "max_position_embeddings": 2048, "rotary_emb_base": 10000, "rotary_pct": 0.25
})",
     true},
    {"gpt-j-6b", R"({
  "model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16, "n_positions": 2048, "rotary_dim": 64
})",
     true},
    {"dbrx", R"({
  "model_type": "dbrx", "n_layers": 40, "d_model": 6144, "n_heads": 48, "max_seq_len": 32768,
  "attn_config": {"kv_n_heads": 8, "rope_theta": 500000}
})",
     true},
    {"falcon-40b", R"({
  "model_type": "falcon", "num_hidden_layers": 60, "hidden_size": 8192, "num_attention_heads": 128, "alibi": false,
  "multi_query": true, "new_decoder_architecture": true, "num_kv_heads": 8
})",
     true},
    {"opt-125m", R"({
  "model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
  "max_position_embeddings": 2048
})",
     true},
    {"gpt2", R"({
  "model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024
})",
     true},
    {"bert-base", R"({
  "model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
  "max_position_embeddings": 512, "type_vocab_size": 2
})",
     true},
    {"roberta-base", R"({
  "model_type": "roberta", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
  "max_position_embeddings": 514, "pad_token_id": 1, "type_vocab_size": 1
})",
     true},
    {"t5-base", R"({
  "model_type": "t5", "num_layers": 12, "d_kv": 64, "n_positions": 512, "num_heads": 12,
  "relative_attention_num_buckets": 32
})",
     true},
    {"flan-t5-large", R"({
  "model_type": "t5", "num_layers": 24, "d_kv": 64, "n_positions": 512, "num_decoder_layers": 24, "num_heads": 16,
  "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32
})",
     true},
    {"whisper-medium", R"({
  "model_type": "whisper", "d_model": 1024, "decoder_attention_heads": 16, "decoder_layers": 24,
  "encoder_attention_heads": 16, "encoder_layers": 24, "max_source_positions": 1500, "max_target_positions": 448
})",
     true},
    {"xlnet-base", R"({
  "model_type": "xlnet", "n_layer": 12, "n_head": 12, "attn_type": "bi", "bi_data": false, "clamp_len": -1,
  "d_head": 64
})",
     true},
};

}  // namespace

std::span<const Preset> preset_table() noexcept { return kPresets; }

}  // namespace posenc::plan
