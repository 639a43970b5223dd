// Families that engines name and transformers 5.23.0 has no class of: those of tests/facts/engine_families.tsv, each
// known or not as the table says; and small configs of those that have a row of their own, with the facts that follow
// from the code which the table names. The facts were written down before the reader saw the config.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "plan/facts_table.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::engine_families_test {
namespace {

std::string config(std::string_view architecture, std::string_view type, std::string_view members) {
  std::string text = "{";
  if (architecture != "-") text.append("\"architectures\": [\"").append(architecture).append("\"], ");
  if (type != "-") text.append("\"model_type\": \"").append(type).append("\", ");
  return text.append(members).append("}");
}

// ---- the list ----

std::vector<FactRow> listed() { return read_facts(source_folder() / "tests/facts/engine_families.tsv"); }

std::string key_of(const FactRow& row) { return row.at("architecture") + " " + row.at("model_type"); }

TEST(EngineFamilies, are_known_where_the_list_says_so_and_only_there) {
  for (const FactRow& row : listed()) {
    const Result<Plan> plan = read(config(row.at("architecture"), row.at("model_type"), row.at("config")));
    ASSERT_TRUE(plan) << key_of(row) << ": " << plan.error().message();
    EXPECT_EQ(plan->known, row.at("known") == "true") << key_of(row);
    EXPECT_EQ(row.at("known") == "true", row.at("missing") == "-") << key_of(row);
  }
}

TEST(EngineFamilies, stand_in_the_list_once_and_in_order) {
  std::vector<std::string> keys;
  for (const FactRow& row : listed()) keys.push_back(key_of(row));
  EXPECT_GT(keys.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

// At least one of the engines, and where it was read.
TEST(EngineFamilies, say_who_names_them_and_what_was_read) {
  for (const FactRow& row : listed()) {
    EXPECT_NE(row.at("engines"), "-") << key_of(row);
    EXPECT_NE(row.at("code"), "-") << key_of(row);
  }
}

// docs/config-reading.md says how many there are.
TEST(EngineFamilies, are_counted_on_the_page) {
  const std::vector<FactRow> rows = listed();
  const auto known = std::ranges::count_if(rows, [](const FactRow& row) { return row.at("known") == "true"; });
  std::ifstream file(source_folder() / "docs/config-reading.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string counts = std::to_string(known) + " of " + std::to_string(rows.size());
  EXPECT_NE(page.find(counts), std::string::npos) << counts;
}

// ---- rows of their own ----

constexpr std::string_view kDecoder = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 20000)";
constexpr std::string_view kLatent = R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 4096, "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16,
  "v_head_dim": 32)";
constexpr std::string_view kGpt = R"("n_embd": 256, "n_head": 4, "n_layer": 4, "n_positions": 4096)";
constexpr std::string_view kEncoder = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 8192, "rope_theta": 20000)";

struct Row {
  std::string_view architecture;
  std::string_view type;
  std::string_view sizes;
  std::string_view own;  // keys beside the sizes, each with a comma before it
  std::string_view expected;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.architecture << ' ' << row.type; }

constexpr std::string_view kPlain = "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal";
constexpr std::string_view kNormed = "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms causal";
constexpr std::string_view kNeighbours = "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal";

constexpr Row kRows[] = {
    {"AquilaForCausalLM", "aquila", kDecoder, "", kPlain},
    {"DeepseekForCausalLM", "deepseek", kDecoder, "", kPlain},
    {"OrionForCausalLM", "orion", kDecoder, "", kPlain},
    {"TeleChat3ForCausalLM", "telechat3", kDecoder, "", kPlain},
    {"TeleFLMForCausalLM", "TeleFLM", kDecoder, "", kPlain},
    {"XverseForCausalLM", "xverse", kDecoder, "", kPlain},
    {"ArcticForCausalLM", "arctic", kDecoder, R"(, "sliding_window": null)", kPlain},
    {"KORMoForCausalLM", "kormo", kDecoder, "", kPlain},
    {"SolarForCausalLM", "solar", kDecoder, "", kPlain},
    {"LlamaBidirectionalModel", "llama_bidirec", kDecoder, "", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 both"},
    {"LlamaBidirectionalModel", "llama", kDecoder, "", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 both"},
    {"VoyageQwen3BidirectionalEmbedModel", "qwen3", kDecoder, R"(, "head_dim": 64)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms both"},
    {"Lfm2BidirectionalModel", "lfm2", kDecoder, R"(, "full_attn_idxs": [2])",
     "decoder: 0-1 convolution; 2 4/2x64 half 64 @20000 s0.125 rms both; 3 convolution"},

    {"BailingMoeForCausalLM", "bailing_moe", kDecoder, "", kPlain},
    {"BailingMoeV2ForCausalLM", "bailing_moe", kDecoder, R"(, "use_qk_norm": true, "partial_rotary_factor": 0.5)",
     "decoder: 0-3 4/2x64 half 32 @20000 s0.125 rms causal"},
    {"BailingMoeV2ForCausalLM", "bailing_moe_v2", kDecoder, R"(, "use_qk_norm": true, "rotary_dim": 16)",
     "decoder: 0-3 4/2x64 half 16 @20000 s0.125 rms causal"},
    {"SarvamMoEForCausalLM", "sarvam_moe", kDecoder, R"(, "use_qk_norm": true)", kNormed},
    {"Param2MoEForCausalLM", "param2moe", kDecoder, R"(, "use_qk_norm": false)", kPlain},
    {"CodeShellForCausalLM", "codeshell", kGpt, R"(, "num_query_groups": 2)",
     "decoder: 0-3 4/2x64 half 64 @10000 s0.125 causal"},
    {"Grok1ModelForCausalLM", "grok-1", kDecoder, R"(, "attn_output_multiplier": 0.25)",
     "decoder: 0-3 4/2x64 half 64 @10000 s0.25 cap30 causal"},
    {"HunYuanMoEV1ForCausalLM", "hunyuan", kDecoder, R"(, "use_qk_norm": true, "use_cla": false)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms-after causal"},
    {"HunYuanDenseV1ForCausalLM", "hunyuan", kDecoder, "", kPlain},
    {"HunYuanForCausalLM", "hunyuan", kDecoder, R"(, "use_cla": true, "cla_share_factor": 2)",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal; 1 4/2x64 kv0 half 64 @20000 s0.125 causal; "
     "2 4/2x64 half 64 @20000 s0.125 causal; 3 4/2x64 kv2 half 64 @20000 s0.125 causal"},
    {"-", "afm7",
     R"("hidden_dim": 256, "num_heads": 4, "num_kv_heads": 2, "num_layers": 3, "num_kv_reuse_layers": 1,
        "rope_theta": 20000)",
     "",
     "decoder: 0-1 4/2x64 interleaved 64 @20000 s0.125 rms-after causal; "
     "2 4/2x64 kv1 interleaved 64 @20000 s0.125 rms-after causal"},
    {"-", "Klear", kDecoder, "", kNormed},
    {"-", "lille-130m",
     R"("n_embd": 256, "n_head": 4, "n_kv_heads": 2, "n_layer": 4, "block_size": 512, "rope_theta": 20000)", "",
     "decoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal"},
    {"LLaDAModelLM", "llada",
     R"("d_model": 256, "n_heads": 4, "n_kv_heads": 2, "n_layers": 4, "max_sequence_length": 4096,
        "rope_theta": 20000)",
     "", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 both"},
    {"LLaDAMoEModelLM", "llada", kDecoder, R"(, "qk_layernorm": true)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms both"},
    {"LLaDA2MoeModelLM", "llada2_moe", kDecoder, R"(, "partial_rotary_factor": 0.5)",
     "decoder: 0-3 4/2x64 half 32 @20000 s0.125 rms sparse"},
    {"MaincoderForCausalLM", "maincoder", kDecoder, "",
     "decoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 rms-after causal"},
    {"MiniMaxText01ForCausalLM", "minimax_text_01", kDecoder, R"(, "rotary_dim": 32, "attn_type_list": [0, 1, 0, 1])",
     "decoder: 0 linear; 1 4/2x64 half 32 @20000 s0.125 causal; 2 linear; 3 4/2x64 half 32 @20000 s0.125 causal"},
    {"OuroForCausalLM", "ouro", kDecoder, R"(, "total_ut_steps": 2)",
     "decoder: 0-7 4/2x64 half 64 @20000 s0.125 causal"},
    {"NanbeigeForCausalLM", "nanbeige", kDecoder, R"(, "num_loops": 3)",
     "decoder: 0-11 4/2x64 half 64 @20000 s0.125 causal"},
    {"Plamo3ForCausalLM", "plamo3", kDecoder,
     R"(, "head_dim": 64, "window_size": 32, "sliding_window_pattern": 4, "rope_local_theta": 500)",
     "decoder: 0-2 4/2x64 half 64 @500 s0.125 rms causal w31,0; 3 4/2x64 half 64 @20000 s0.125 rms causal"},
    {"SmallThinkerForCausalLM", "smallthinker", kDecoder,
     R"(, "head_dim": 64, "rope_layout": [0, 1, 1, 1], "sliding_window_layout": [0, 1, 1, 1],
        "sliding_window_size": 32)",
     "decoder: 0 4/2x64 s0.125 causal; 1-3 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"Step3TextForCausalLM", "step3_text",
     R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 4, "max_seq_len": 4096, "share_q_dim": 128)",
     "", "decoder: 0-3 4/1x256 half 256 @500000 s0.0625 causal"},

    {"PLMForCausalLM", "plm", kLatent, "", kNeighbours},
    {"SarvamMLAForCausalLM", "sarvam_mla", kLatent, "", kNeighbours},
    {"PanguUltraMoEForCausalLM", "pangu_ultra_moe", kLatent, "", kNeighbours},
    {"-", "youtu_llm", kLatent, "", kNeighbours},
    {"DotsVLMForCausalLM", "dots_vlm", kLatent, "", kNeighbours},
    {"DeepseekV3BidirectionalModel", "deepseek_v3", kLatent, "",
     "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 both"},
    {"LongcatFlashNgramForCausalLM", "longcat_flash_ngram",
     R"("hidden_size": 256, "num_attention_heads": 4, "num_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16, "v_head_dim": 32, "q_lora_rank": 64)",
     "", "decoder: 0-3 4/4x64:32 interleaved 48+16 @20000 s0.25 causal"},

    // The first has one head of keys, the second so many as it says.
    {"RWForCausalLM", "RefinedWebModel", R"("hidden_size": 256, "n_head": 4, "n_layer": 4, "multi_query": true)", "",
     "decoder: 0-3 4/1x64 half 64 @10000 s0.125 causal"},
    {"RWForCausalLM", "RefinedWeb",
     R"("hidden_size": 256, "n_head": 4, "n_head_kv": 2, "n_layer": 4, "multi_query": true)", "",
     "decoder: 0-3 4/2x64 half 64 @10000 s0.125 causal"},
    {"PhiForCausalLM", "phi-msft", kGpt, R"(, "rotary_dim": 32)", "decoder: 0-3 4/4x64 half 32 @10000 s0.125 causal"},
    {"StableLMEpochForCausalLM", "stablelm_epoch", kDecoder, R"(, "rope_pct": 0.25)",
     "decoder: 0-3 4/2x64 half 16 @20000 s0.125 causal"},
    {"GPTRefactForCausalLM", "gpt_refact", kGpt, R"(, "multi_query": true)",
     "decoder: 0-3 4/1x64 another score s0.125 causal"},
    {"JAISLMHeadModel", "jais", kGpt, R"(, "position_embedding_type": "alibi", "mup_scale_qk_dot_by_d": true)",
     "decoder: 0-3 4/4x64 another score s0.015625 causal"},
    {"JAISLMHeadModel", "jais", kGpt, R"(, "position_embedding_type": "learned")",
     "decoder: table 4096+0; 0-3 4/4x64 s0.125 causal"},

    {"DreamModel", "Dream", kDecoder, R"(, "use_sliding_window": false)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 both"},
    {"RND1", "rnd1", kDecoder, R"(, "head_dim": 64)", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms both"},
    {"GroveMoeForCausalLM", "grove_moe", kDecoder, R"(, "head_dim": 64)", kNormed},
    {"MotifForCausalLM", "Motif", kDecoder, R"(, "use_sliding_window": false)", kPlain},
    {"SDARForCausalLM", "sdar", kDecoder, R"(, "use_sliding_window": false)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms sparse"},

    {"NeoBERT", "neobert", kEncoder, "", "encoder: 0-1 4/4x16 interleaved 16 @10000 s0.25 both"},
    {"NewModel", "new", kEncoder, R"(, "position_embedding_type": "rope")",
     "encoder: 0-1 4/4x16 half 16 @20000 s0.25 both"},
};

class EngineRows : public testing::TestWithParam<Row> {};

TEST_P(EngineRows, are_what_the_code_says) {
  const Row& row = GetParam();
  const Plan plan = plan_of(config(row.architecture, row.type, std::string(row.sizes).append(row.own)));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.model_type, row.type);
  EXPECT_EQ(summary(plan), row.expected);
}

INSTANTIATE_TEST_SUITE_P(Families, EngineRows, testing::ValuesIn(kRows));

// InternLM's own dictionary: "dynamic" without a factor has one of 1.
TEST(EngineFamilies, internlm_s_rotary_object_is_its_rule) {
  constexpr std::string_view kSizes = R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 4,
    "max_position_embeddings": 2048)";
  const auto rule_of = [&](std::string_view rotary) {
    return rope_of(plan_of(config("InternLMForCausalLM", "internlm", std::string(kSizes).append(rotary)))).scaling;
  };
  EXPECT_EQ(rule_of(""), Scaling{});
  EXPECT_EQ(rule_of(R"(, "rotary": {"base": 10000, "type": "origin"})"), Scaling{});
  EXPECT_EQ(rule_of(R"(, "rotary": {"base": 10000, "type": "dynamic"})"),
            (Scaling{DynamicScaling{.factor = 1.0, .max_position_embeddings = 2048}}));
  EXPECT_FALSE(plan_of(config("InternLMForCausalLM", "internlm",
                              std::string(kSizes).append(R"(, "rotary": {"base": 1000000, "type": "dynamic"})")))
                   .known);
}

// Alibaba's NTK: f_j = (k base)^(-2j/d) k^(-2/d), here k = 8 and d = 16.
TEST(EngineFamilies, gte_s_ntk_divides_each_frequency) {
  const Plan plan =
      plan_of(config("NewModel", "new", std::string(kEncoder).append(R"(, "position_embedding_type": "rope",
                                     "rope_scaling": {"type": "ntk", "factor": 8.0})")));
  EXPECT_TRUE(plan.known);
  const Frequencies found = frequencies(rope_of(plan), 4096);
  ASSERT_EQ(found.inv_freq.size(), 8U);
  for (std::size_t j = 0; j < found.inv_freq.size(); ++j) {
    const double exponent = 2.0 * static_cast<double>(j) / 16;
    EXPECT_NEAR(found.inv_freq[j] / (std::pow(8.0 * 20000, -exponent) * std::pow(8.0, -2.0 / 16)), 1.0, 1e-14) << j;
  }
  EXPECT_EQ(found.attention_factor, 1.0);
}

// What decides is named where it is not as the row says.
TEST(EngineFamilies, keys_that_the_code_does_not_settle_leave_the_plan_open) {
  const auto known = [](std::string_view architecture, std::string_view type, std::string_view own) {
    return plan_of(config(architecture, type, std::string(kDecoder).append(own))).known;
  };
  EXPECT_FALSE(known("SolarForCausalLM", "solar", R"(, "sliding_window": 2047)"));
  EXPECT_FALSE(known("LLaDAModelLM", "llada", R"(, "attention_layer_norm": true)"));
}

// Two classes of one model type: DeepSeek-OCR's encoders are not DeepSeek-VL2's.
TEST(EngineFamilies, the_class_chooses_where_two_share_a_type) {
  constexpr std::string_view kText = R"("language_config": {"model_type": "deepseek_v2", "hidden_size": 256,
    "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "use_mla": false}, )";
  const auto vision = [&](std::string_view architecture, std::string_view tower) {
    std::vector<std::string> names;
    for (const Stack& stack :
         plan_of(config(architecture, "deepseek_vl_v2", std::string(kText).append(tower))).stacks) {
      names.push_back(stack.name);
    }
    return names;
  };
  EXPECT_EQ(vision("DeepseekVLV2ForCausalLM", R"("vision_config": {"layers": 27, "model_type": "vision",
    "model_name": "siglip_so400m_patch14_384", "patch_size": 14, "width": 1152})"),
            (std::vector<std::string>{"decoder", "vision"}));
  EXPECT_EQ(vision("DeepseekOCRForCausalLM", R"("vision_config": {"model_type": "vision", "model_name": "deeplip_b_l",
    "width": {"clip-l-14-224": {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14, "width": 1024},
    "sam_vit_b": {"heads": 12, "layers": 12, "width": 768}}})"),
            (std::vector<std::string>{"decoder", "vision_sam", "vision_clip"}));
}

// ---- towers ----

constexpr std::string_view kTower = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "image_size": 32, "patch_size": 8)";

std::string tower_of(std::string_view type, std::string_view own) {
  return summary(plan_of("{\"model_type\": \"" + std::string(type) + "\", " + std::string(kTower).append(own) + "}"));
}

TEST(EngineTowers, are_what_the_code_says) {
  EXPECT_EQ(tower_of("intern_vit_6b", R"(, "qk_normalization": false)"), "vision: table 17+0; 0-1 4/4x16 s0.25 both");
  EXPECT_EQ(tower_of("intern_vit_6b", R"(, "qk_normalization": true)"),
            "vision: table 17+0; 0-1 4/4x16 s0.25 rms-all both");
  EXPECT_EQ(tower_of("step3_vision_encoder", ""), "vision: table 17+0; 0-1 4/4x16 s0.25 both");
  EXPECT_EQ(tower_of("eva2_clip", R"(, "num_positions": 17)"), "vision: table 17+0; 0-1 4/4x16 s0.25 both");
  EXPECT_EQ(tower_of("moonvit", R"(, "init_pos_emb_height": 8, "init_pos_emb_width": 8)"),
            "vision: table 64+0; 0-1 4/4x16 interleaved 16 @10000 wh s0.25 both");
  EXPECT_EQ(tower_of("keye_vision", ""), "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both");
  EXPECT_EQ(tower_of("dots_vit", R"(, "embed_dim": 64)"), "vision: 0-1 4/4x16 half 16 @10000 hw s0.25 both");
  EXPECT_EQ(tower_of("siglip2_navit", R"(, "use_rope": true, "preserve_original_pe": true)"),
            "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both");
  EXPECT_EQ(tower_of("siglip2_navit", R"(, "use_rope": false, "preserve_original_pe": false)"),
            "vision: 0-1 4/4x16 s0.25 both");
}

// LLaVA's first files name their tower and say nothing of it.
TEST(EngineTowers, a_name_stands_for_sizes) {
  const Plan plan = plan_of("{\"model_type\": \"llava_llama\", \"mm_vision_tower\": " +
                            std::string(R"("openai/clip-vit-large-patch14-336", )").append(kDecoder).append("}"));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), std::string(kPlain) + " | vision: table 577+0; 0-23 16/16x64 s0.125 both");
  const Plan other = plan_of("{\"model_type\": \"llava_llama\", \"mm_vision_tower\": " +
                             std::string(R"("somebody/tower", )").append(kDecoder).append("}"));
  EXPECT_FALSE(other.known);
}

TEST(EngineTowers, ovis_s_windows_are_not_known) {
  const Plan plan =
      plan_of("{\"model_type\": \"siglip2_navit\", " + std::string(kTower) + R"(, "fullatt_block_indexes": "0|1"})");
  EXPECT_FALSE(plan.known);
}

}  // namespace
}  // namespace posenc::test::engine_families_test
