// Configs that are JSON but make no sense: B9 to B32 and G of the list of bad inputs. Each gives one error with its
// kind, its place and what was expected, and takes little memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/family_configs.h"
#include "plan/plan_reading.h"
#include "support/heap_probe.h"

namespace posenc::test {
namespace {

// Two lines above the keys: a config's third line is the row's own.
std::string llama(std::string_view keys) {
  return "{\"model_type\": \"llama\", \"head_dim\": 64, \"num_hidden_layers\": 2,\n\"max_position_embeddings\": "
         "4096,\n" +
         std::string(keys) + "}";
}
std::string scaling(std::string_view dictionary) { return llama("\"rope_scaling\": " + std::string(dictionary)); }
std::string longrope(std::string_view short_factor, std::string_view long_factor) {
  return "{\"model_type\": \"llama\", \"head_dim\": 8, \"num_hidden_layers\": 2,\n\"max_position_embeddings\": 4096,\n"
         "\"rope_scaling\": {\"type\": \"longrope\", \"original_max_position_embeddings\": 1024, \"short_factor\": " +
         std::string(short_factor) + ", \"long_factor\": " + std::string(long_factor) + "}}";
}
std::string glm(std::string_view keys) {
  return "{\"model_type\": \"glm\", \"head_dim\": 80, \"num_hidden_layers\": 2,\n\"max_position_embeddings\": 4096,\n" +
         std::string(keys) + "}";
}
constexpr std::string_view kYarn = R"("type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024)";
std::string yarn(std::string_view keys) { return scaling("{" + std::string(kYarn) + ", " + std::string(keys) + "}"); }
std::string llama3(std::string_view low, std::string_view high) {
  return scaling(
      R"({"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 1024, "low_freq_factor": )" +
      std::string(low) + R"(, "high_freq_factor": )" + std::string(high) + "}");
}

struct Row {
  std::string id;
  std::string text;
  ErrorKind kind;
  std::string path;
  std::string fragment;  // of the message
  std::int64_t line = 3;
};

const Row kRows[] = {
    {"B9 NaN", llama(R"("rope_theta": NaN)"), ErrorKind::not_finite, "/rope_theta", "NaN"},
    {"B9 Infinity", scaling(R"({"type": "linear", "factor": Infinity})"), ErrorKind::not_finite, "/rope_scaling/factor",
     "Infinity"},
    {"B9 -Infinity", llama(R"("num_attention_heads": -Infinity)"), ErrorKind::not_finite, "/num_attention_heads",
     "-Infinity"},
    {"B10 1e400", llama(R"("rope_theta": 1e400)"), ErrorKind::not_finite, "/rope_theta", "1e400"},
    {"B10 1e-400 is 0", llama(R"("rope_theta": 1e-400)"), ErrorKind::out_of_range, "/rope_theta", "1e-400"},
    {"B11 2^63", llama(R"("num_key_value_heads": 9223372036854775808)"), ErrorKind::out_of_range,
     "/num_key_value_heads", "9223372036854775808"},
    {"B11 2^64", R"({"model_type": "llama",

       "max_position_embeddings": 18446744073709551616})",
     ErrorKind::out_of_range, "/max_position_embeddings", "18446744073709551616"},
    {"B12 half a head", llama(R"("num_attention_heads": 4096.5)"), ErrorKind::out_of_range, "/num_attention_heads",
     "4096.5"},
    {"B12 a string", llama(R"("num_attention_heads": "32")"), ErrorKind::type, "/num_attention_heads", "\"32\""},
    {"B12 a boolean", llama(R"("num_attention_heads": true)"), ErrorKind::type, "/num_attention_heads", "true"},
    {"B15 a list", "\n\n[1]", ErrorKind::type, "", "object"},
    {"B18 a list for a dictionary", scaling("[]"), ErrorKind::type, "/rope_scaling", "object"},
    {"B18 a word for a dictionary", scaling(R"("linear")"), ErrorKind::type, "/rope_scaling", "linear"},
    {"B21 a mistyped rule", scaling(R"({"type": "yarm", "factor": 2})"), ErrorKind::unknown_rope_type,
     "/rope_scaling/type", "yarn"},
    {"B21 another mistyped rule", scaling(R"({"rope_type": "lama3", "factor": 2})"), ErrorKind::unknown_rope_type,
     "/rope_scaling/rope_type", "llama3"},
    {"a rule that is no word", scaling(R"({"type": 3})"), ErrorKind::type, "/rope_scaling/type", "3"},
    {"B22 a layer type without parameters",
     R"({"model_type": "qwen2", "num_hidden_layers": 1, "use_sliding_window": true, "max_window_layers": 0,

       "rope_parameters": {"full_attention": {"rope_theta": 1e4}}})",
     ErrorKind::missing_layer_type, "/rope_parameters", "sliding_attention"},
    {"B23 too few layer types", R"({"model_type": "gemma2", "num_hidden_layers": 3,

       "layer_types": ["full_attention", "full_attention"]})",
     ErrorKind::length_mismatch, "/layer_types", "3 entries"},
    {"B23 two more than layers", R"({"model_type": "llama4", "num_hidden_layers": 1,

       "no_rope_layers": [1, 0, 1]})",
     ErrorKind::length_mismatch, "/no_rope_layers", "3 entries"},
    {"an unknown layer type", R"({"model_type": "gemma2", "num_hidden_layers": 2,
       "layer_types": ["full_attention",
       "full_atention"]})",
     ErrorKind::out_of_range, "/layer_types/1", "full_attention"},
    {"a pattern of other letters", R"({"model_type": "exaone4", "num_hidden_layers": 3,

       "sliding_window_pattern": "LLX"})",
     ErrorKind::out_of_range, "/sliding_window_pattern", "LLX"},
    {"an empty pattern", R"({"model_type": "exaone4", "num_hidden_layers": 2,

       "sliding_window_pattern": []})",
     ErrorKind::out_of_range, "/sliding_window_pattern", "one entry"},
    {"no_rope_layers of 2", R"({"model_type": "smollm3", "num_hidden_layers": 2,

       "no_rope_layers": [1, 2]})",
     ErrorKind::out_of_range, "/no_rope_layers/1", "2"},
    {"B24 no heads", llama(R"("num_attention_heads": 0)"), ErrorKind::out_of_range, "/num_attention_heads", "from 1"},
    {"B24 heads do not divide", R"({"model_type": "llama", "num_attention_heads": 32,

       "hidden_size": 4097})",
     ErrorKind::not_divisible, "/hidden_size", "4097 / 32 leaves 1"},
    {"B27 more key heads than heads", llama(R"("num_attention_heads": 8, "num_key_value_heads": 16)"),
     ErrorKind::not_divisible, "/num_key_value_heads", "8 / 16"},
    {"B27 key heads do not divide", llama(R"("num_attention_heads": 8, "num_key_value_heads": 3)"),
     ErrorKind::not_divisible, "/num_key_value_heads", "leaves 2"},
    {"B28 a negative part", glm(R"("partial_rotary_factor": -0.5)"), ErrorKind::out_of_range, "/partial_rotary_factor",
     "0 to 1"},
    {"B28 more than the head", glm(R"("partial_rotary_factor": 1.5)"), ErrorKind::out_of_range,
     "/partial_rotary_factor", "trunc(80 x 1.5) = 120"},
    {"B28 NaN", glm(R"("partial_rotary_factor": NaN)"), ErrorKind::not_finite, "/partial_rotary_factor", "NaN"},
    {"B28 an odd number of channels", glm(R"("partial_rotary_factor": 0.42)"), ErrorKind::out_of_range,
     "/partial_rotary_factor", "trunc(80 x 0.42) = 33"},
    {"B29 original length 0",
     yarn(R"("rope_type": "yarn")").replace(yarn(R"("rope_type": "yarn")").find("1024"), 4, "0"),
     ErrorKind::out_of_range, "/rope_scaling/original_max_position_embeddings", "from 1"},
    {"an odd head", R"({"model_type": "llama", "num_hidden_layers": 2,

       "head_dim": 63})",
     ErrorKind::out_of_range, "/head_dim", "even"},
    {"no part of any head", R"({"model_type": "chatglm", "num_layers": 2, "seq_length": 64,
       "num_attention_heads": 4,
       "kv_channels": 6})",
     ErrorKind::out_of_range, "/kv_channels", "even"},
    {"GPT-J turns more than it has", R"({"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2,

       "rotary_dim": 64})",
     ErrorKind::out_of_range, "/rotary_dim", "from 0 to 16"},
    {"GPT-J turns an odd number", R"({"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2,

       "rotary_dim": 7})",
     ErrorKind::out_of_range, "/rotary_dim", "even"},
    {"a key that is used, twice", llama("\"rope_theta\": 1e4,\n\"rope_theta\": 1e6"), ErrorKind::json_duplicate_key,
     "/rope_theta", "line", 4},
    {"no sizes and no class to give them", "\n\n{\"model_type\": \"chatglm\"}", ErrorKind::missing_key, "",
     "num_hidden_layers"},
    {"not a model", "\n\n{\"eos_token_id\": 2}", ErrorKind::not_a_model_config, "", "model_type"},
    {"a model_type that is no word", "\n\n{\"model_type\": 7}", ErrorKind::type, "/model_type", "7"},
    {"architectures that are no list", "\n\n{\"architectures\": \"LlamaForCausalLM\"}", ErrorKind::type,
     "/architectures", "list"},

    {"G1 base 0", llama(R"("rope_theta": 0)"), ErrorKind::out_of_range, "/rope_theta", "0"},
    {"G1 a negative base", llama(R"("rope_theta": -10000)"), ErrorKind::out_of_range, "/rope_theta", "-10000"},
    {"G2 a base below 1", llama(R"("rope_theta": 0.5)"), ErrorKind::out_of_range, "/rope_theta", "0.5"},
    {"G3 base 1 with YaRN", llama("\"rope_theta\": 1, \"rope_scaling\": {" + std::string(kYarn) + "}"),
     ErrorKind::out_of_range, "/rope_theta", "above 1"},
    {"G5 NTK over 2 channels", R"({"model_type": "llama", "num_hidden_layers": 2,
      "rope_scaling": {"type": "dynamic", "factor": 2},
      "head_dim": 2})",
     ErrorKind::out_of_range, "/head_dim", "above 2"},
    {"G8 factor 0", scaling(R"({"type": "linear", "factor": 0})"), ErrorKind::out_of_range, "/rope_scaling/factor",
     "above 0"},
    {"G8 a negative factor",
     yarn(R"("rope_type": "yarn")").replace(yarn(R"("rope_type": "yarn")").find("4.0"), 3, "-4"),
     ErrorKind::out_of_range, "/rope_scaling/factor", "-4"},
    {"G8 NaN", scaling(R"({"type": "dynamic", "factor": NaN})"), ErrorKind::not_finite, "/rope_scaling/factor", "NaN"},
    {"no factor", scaling(R"({"type": "linear"})"), ErrorKind::missing_key, "/rope_scaling", "factor"},
    {"G10 a negative attention factor", yarn(R"("attention_factor": -1)"), ErrorKind::out_of_range,
     "/rope_scaling/attention_factor", "-1"},
    {"G11 fast below slow", yarn(R"("beta_fast": 1, "beta_slow": 32)"), ErrorKind::out_of_range,
     "/rope_scaling/beta_fast", "32"},
    {"G11 a negative beta", yarn(R"("beta_slow": -1)"), ErrorKind::out_of_range, "/rope_scaling/beta_slow", "-1"},
    {"G12 low above high", llama3("4.0", "1.0"), ErrorKind::out_of_range, "/rope_scaling/high_freq_factor",
     "low_freq_factor"},
    {"G12 low 0", llama3("0", "4.0"), ErrorKind::out_of_range, "/rope_scaling/low_freq_factor", "0"},
    {"no high_freq_factor",
     scaling(R"({"type": "llama3", "factor": 8, "original_max_position_embeddings": 1024, "low_freq_factor": 1})"),
     ErrorKind::missing_key, "/rope_scaling", "high_freq_factor"},
    {"G13 no factors", longrope("[]", "[1, 1, 1, 1]"), ErrorKind::length_mismatch, "/rope_scaling/short_factor",
     "4 numbers"},
    {"G13 one less", longrope("[1, 1, 1]", "[1, 1, 1, 1]"), ErrorKind::length_mismatch, "/rope_scaling/short_factor",
     "8 / 2 = 4"},
    {"G13 one more", longrope("[1, 1, 1, 1]", "[1, 1, 1, 1, 1]"), ErrorKind::length_mismatch,
     "/rope_scaling/long_factor", "an array of 5"},
    {"G13 twice as many", longrope("[1, 1, 1, 1]", "[1, 1, 1, 1, 1, 1, 1, 1]"), ErrorKind::length_mismatch,
     "/rope_scaling/long_factor", "an array of 8"},
    {"G13 words", longrope(R"([1, "1", 1, 1])", "[1, 1, 1, 1]"), ErrorKind::type, "/rope_scaling/short_factor/1",
     "\"1\""},
    {"G13 NaN", longrope("[1, 1, 1, NaN]", "[1, 1, 1, 1]"), ErrorKind::not_finite, "/rope_scaling/short_factor/3",
     "NaN"},
    {"G13 zero", longrope("[1, 1, 1, 1]", "[0, 1, 1, 1]"), ErrorKind::out_of_range, "/rope_scaling/long_factor/0",
     "above 0"},
    {"G13 negative", longrope("[1, -1, 1, 1]", "[1, 1, 1, 1]"), ErrorKind::out_of_range, "/rope_scaling/short_factor/1",
     "above 0"},
    {"G13 a number", longrope("1", "[1, 1, 1, 1]"), ErrorKind::type, "/rope_scaling/short_factor", "list"},
    {"G14 original length 1",
     longrope("[1, 1, 1, 1]", "[1, 1, 1, 1]").replace(longrope("[1, 1, 1, 1]", "[1, 1, 1, 1]").find("1024"), 4, "1"),
     ErrorKind::out_of_range, "/rope_scaling/original_max_position_embeddings", "logarithm"},
    {"G21 a window of 0", R"({"model_type": "mistral", "num_hidden_layers": 2,

       "sliding_window": 0})",
     ErrorKind::out_of_range, "/sliding_window", "from 1"},
    {"G21 a negative window", R"({"model_type": "mistral", "num_hidden_layers": 2,

       "sliding_window": -1})",
     ErrorKind::out_of_range, "/sliding_window", "-1"},
    {"a negative query scalar", R"({"model_type": "gemma2", "num_hidden_layers": 2,

       "query_pre_attn_scalar": -256})",
     ErrorKind::out_of_range, "/query_pre_attn_scalar", "above 0"},
    {"a cap of 0", R"({"model_type": "gemma2", "num_hidden_layers": 2,

       "attn_logit_softcapping": 0})",
     ErrorKind::out_of_range, "/attn_logit_softcapping", "above 0"},
    {"a switch that is no switch", R"({"model_type": "qwen2", "num_hidden_layers": 2,

       "use_sliding_window": "no"})",
     ErrorKind::type, "/use_sliding_window", "no"},
    {"10^9 layers", R"({"model_type": "llama",

       "num_hidden_layers": 1000000000})",
     ErrorKind::out_of_range, "/num_hidden_layers", "768"},
    {"10^9 channels", R"({"model_type": "llama", "num_hidden_layers": 2,

       "head_dim": 1000000000})",
     ErrorKind::out_of_range, "/head_dim", "8192"},
    {"10^9 channels by division", R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 1,

       "hidden_size": 1000000000})",
     ErrorKind::out_of_range, "/hidden_size", "8192"},
};

TEST(ReadPlanHostile, table) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.id);
    const HeapProbe probe;
    const FileError error = error_of(row.text);
    EXPECT_LE(probe.peak_growth(), json_heap_bound(static_cast<std::int64_t>(row.text.size())));
    EXPECT_EQ(name(error.kind), name(row.kind)) << error.message();
    EXPECT_EQ(error.path, row.path) << error.message();
    EXPECT_EQ(error.line, row.line) << error.message();
    EXPECT_EQ(error.file, "config.json");
    EXPECT_FALSE(error.expected.empty()) << error.message();
    EXPECT_NE(error.message().find(row.fragment), std::string::npos) << error.message();
  }
}

// B8, B10, B12, B25, B26, B30: what looks odd and is fine.
TEST(ReadPlanHostile, odd_but_accepted) {
  const std::string_view texts[] = {
      R"({"model_type": "llama", "time_step_limit": [0.0, Infinity], "x": NaN, "y": -Infinity, "z": 1e400})",
      R"({"model_type": "llama", "num_hidden_layers": 2.0})",
      R"({"model_type": "gemma", "head_dim": 256, "hidden_size": 3072, "num_attention_heads": 16})",
      R"({"model_type": "llama", "head_dim": null, "num_key_value_heads": null, "rope_scaling": null})",
      R"({"model_type": "llama", "auto_map": {"AutoConfig": "x.Y"}, "trust_remote_code": true, "quantization_config": {}})",
      R"({"model_type": "smollm3", "num_hidden_layers": 1, "no_rope_layers": [1, 0]})",
      R"({"model_type": "llama4", "no_rope_layers": [], "attn_temperature_tuning": 4})",
      R"({"model_type": "llama", "rope_theta": 1})",
      R"({"model_type": "llama", "rope_theta": 1e38})",
      R"({"model_type": "llama", "rope_theta": 1.7976931348623157e308})",
  };
  for (std::string_view text : texts) {
    EXPECT_TRUE(plan_of(text).known) << text;
  }
}

}  // namespace
}  // namespace posenc::test
