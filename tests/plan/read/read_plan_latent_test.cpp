// Text stacks whose layers differ, on our own small configs: every value of every layer, where it came from, and what
// is wrong with spoilt ones.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "plan/expected_plan.h"
#include "plan/families/family_configs.h"
#include "plan/families/family_tables.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_latent_test {
namespace {

// ---- words for what these layers have ----

Rope& main_rope(LayerPlan& layer) { return std::get<Rope>(layer.rotate.at(0).scheme); }

LayerPlan from_channel(LayerPlan layer, std::int64_t first_channel) {
  main_rope(layer).first_channel = first_channel;
  return layer;
}

// The main rotation laid over other heads.
LayerPlan indexed(LayerPlan layer, std::int64_t heads, std::int64_t head_dim, Pairing pairing, std::int64_t first) {
  Rope rope = main_rope(layer);
  rope.pairing = pairing;
  rope.head_dim = head_dim;
  rope.first_channel = first;
  layer.rotate.push_back(Rotate{.role = RotateRole::indexer, .heads = heads, .scheme = std::move(rope)});
  return layer;
}

LayerPlan seeing(LayerPlan layer, MaskKind kind, std::string detail) {
  layer.mask.kind = kind;
  layer.mask.detail = std::move(detail);
  return layer;
}

LayerPlan sparse(LayerPlan layer, std::string detail) {
  layer.mask.beyond_window = true;
  layer.mask.by_blocks = detail.find(" blocks ") != std::string::npos;
  layer.mask.by_indexer = detail.find("indexer") != std::string::npos;
  return seeing(std::move(layer), MaskKind::sparse, std::move(detail));
}

LayerPlan with_values(LayerPlan layer, std::int64_t value_dim) {
  layer.value_dim = value_dim;
  return layer;
}

LayerPlan sharing(LayerPlan layer, std::int64_t from) {
  layer.kv_from = from;
  return layer;
}

LayerPlan over(LayerPlan layer, AxisMap axes) {
  main_rope(layer).axes = std::move(axes);
  return layer;
}

LayerPlan only(LayerKind kind) {
  LayerPlan layer;
  layer.kind = kind;
  return layer;
}

AxisMap in_chunks(std::vector<std::int64_t> sections) { return chunked_axes({"t", "h", "w"}, sections); }

// ---- what the configs mean ----

std::vector<Expected> expected_chosen_keys() {
  const YarnScaling yarn{.factor = 40, .original_max_position_embeddings = 4096, .mscale = 1.0, .mscale_all_dim = 1.0};
  const double g = 0.1 * std::log(40.0) + 1;
  const LayerPlan v32 = from_channel(
      with_values(scaled(rotated(attention(8, 8, 192), Pairing::interleaved, 2e4, 64, yarn), g * g / std::sqrt(192.0)),
                  96),
      128);
  const LayerPlan glm = from_channel(rotated(attention(8, 8, 256), Pairing::interleaved, 1e6, 64), 192);
  const auto chosen = [](LayerPlan layer, const std::string& count, const std::string& by = "the indexer") {
    return sparse(std::move(layer), "causal, the " + count + " keys that " + by + " ranks highest");
  };
  const LayerPlan minimax = normed(rotated(attention(8, 4, 128), Pairing::half, 1e6, 64), kRms);
  const LayerPlan minimax_flat = normed(rotated(attention(8, 4, 128), Pairing::half, 1e6, 128), kRms);
  const std::string blocks = "causal, per key head the 8 blocks of 64 keys that the indexer ranks highest";
  return {
      {"deepseek_v32", 163840, repeat(chosen(indexed(v32, 4, 128, Pairing::half, 0), "1024"), 2)},
      {"glm_moe_dsa",
       202752,
       {chosen(indexed(glm, 4, 128, Pairing::half, 0), "2048"), chosen(glm, "2048", "the indexer of layer 0"),
        chosen(indexed(glm, 4, 128, Pairing::half, 0), "2048"), chosen(glm, "2048", "the indexer of layer 2")}},
      {"glm_moe_dsa letters",
       4096,
       {chosen(indexed(glm, 4, 128, Pairing::interleaved, 0), "64"), chosen(glm, "64", "the indexer of layer 0"),
        chosen(glm, "64", "the indexer of layer 0")}},
      {"minimax_m3",
       524288,
       {minimax,
        sparse(indexed(minimax, 2, 64, Pairing::half, 0), blocks + ", the own block and the 1 before it always")}},
      {"minimax_m3 flat", 524288, {sparse(indexed(minimax_flat, 2, 128, Pairing::half, 0), blocks), minimax_flat}},
  };
}

// DeepSeek V4: one key head, the last channels, values rotated too.
LayerPlan v4(double base, Scaling scaling, std::optional<std::int64_t> compression) {
  LayerPlan layer = rotated(attention(8, 1, 128), Pairing::interleaved, base, 32, std::move(scaling));
  layer = windowed(normed(from_channel(std::move(layer), 96), kRms), 99);
  layer.qk_norm->weighted_queries = false;
  layer.compression = compression;
  layer.sinks = true;
  layer.value = RotatedValues{.inverse_on_output = true};
  return layer;
}

std::vector<Expected> expected_compressed_keys() {
  const YarnScaling yarn{.factor = 16, .original_max_position_embeddings = 4096, .attention_factor = 1.0};
  const auto chosen = [](LayerPlan layer, const std::string& tokens) {
    return sparse(
        indexed(std::move(layer), 4, 64, Pairing::interleaved, 32),
        "causal window, beyond it the 512 entries that the indexer ranks highest, each made of " + tokens + " tokens");
  };
  const auto all = [](LayerPlan layer, const std::string& tokens) {
    return sparse(std::move(layer), "causal window, and every complete entry made of " + tokens + " tokens");
  };
  return {
      {"deepseek_v4", 65536, {v4(1e4, {}, {}), chosen(v4(16e4, yarn, 4), "4"), all(v4(16e4, yarn, 128), "128")}},
      {"deepseek_v4 v5",
       65536,
       {v4(2e4, {}, {}), chosen(v4(32e4, LinearScaling{2}, 8), "8"), all(v4(32e4, LinearScaling{2}, 64), "64")}},
  };
}

std::vector<Expected> expected_gemma4() {
  const LayerPlan local = windowed(scaled(normed(half(attention(8, 4, 64), 2e4), kRms), 1), 511);
  const auto full = [](std::int64_t kv_heads, std::int64_t head_dim, double base, double part) {
    return scaled(normed(half(attention(8, kv_heads, head_dim), base, ProportionalScaling{part, 1}), kRms), 1);
  };
  const LayerPlan global = full(2, 128, 2e6, 0.5);
  const LayerPlan near_base = scaled(normed(half(attention(8, 4, 64), 1e4), kRms), 1);
  LayerPlan near = both_ways(near_base);
  near.mask.window = Window{257, 257};  // 513 / 2 + 1
  return {
      {"gemma4", 131072, {local, global, sharing(local, 0), sharing(global, 1)}},
      {"gemma4 flat",
       131072,
       {seeing(windowed(near_base, 511), MaskKind::causal,
               "the tokens of one image see each other both ways, within the window"),
        full(4, 128, 1e6, 0.25)}},
      {"gemma4 both ways", 131072, {near, both_ways(full(4, 512, 1e6, 0.25))}},
  };
}

std::vector<Expected> expected_kinds_and_sizes() {
  const LayerPlan kimi = with_values(attention(8, 8, 128), 64);
  const LayerPlan minicpm = from_channel(
      with_values(rotated(attention(8, 8, 68), Pairing::half, 2e4, 4, LongRopeScaling{{1, 2}, {3, 4}, 16384, 2}), 32),
      64);
  const LayerPlan mllama = half(attention(8, 4, 64), 1e6, LinearScaling{4});
  LayerPlan crossing = normed(attention(8, 4, 64), kRms);
  crossing.kind = LayerKind::cross_attention;
  const auto step = [](std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim, double base, std::int64_t dim,
                       Scaling scaling = {}) {
    return normed(rotated(attention(heads, kv_heads, head_dim), Pairing::half, base, dim, std::move(scaling)), kRms);
  };
  return {
      {"kimi_linear", 1048576, {only(LayerKind::linear_attention), kimi, only(LayerKind::linear_attention), kimi}},
      {"minicpm3", 32768, repeat(minicpm, 2)},
      {"unlimited_ocr", 32768,
       repeat(sparse(windowed(half(attention(4, 4, 128), 2e4), 63),
                     "causal, prompt keys always, generated keys within the window"),
              2)},
      {"mllama",
       131072,
       {mllama, seeing(crossing, MaskKind::bidirectional, "image tiles, those that the call allows the token"),
        mllama}},
      {"step3p5",
       262144,
       {step(8, 4, 128, 5e6, 64, LinearScaling{2}), windowed(step(12, 6, 64, 1e4, 64), 511),
        step(8, 4, 128, 5e6, 32, LinearScaling{2})}},
      {"step3p7",
       65536,
       {scaled(step(8, 4, 128, 2e4, 64), 1.0 / 16), windowed(scaled(step(16, 4, 128, 2e4, 64), 1.0 / 16), 511)},
       {"text-beside-part"}},
  };
}

std::vector<Expected> expected_axes() {
  const LayerPlan qwen2 = over(half(attention(8, 4, 64), 1e6), in_chunks({8, 12, 12}));
  const auto qwen3 = [](std::int64_t head_dim, std::vector<std::int64_t> sections) {
    return over(normed(half(attention(8, 4, head_dim), 5e6), kRms), interleaved_axes(sections));
  };
  const auto qwen35 = [](std::int64_t head_dim, std::int64_t dim, std::vector<std::int64_t> sections) {
    return over(normed(rotated(attention(8, 2, head_dim), Pairing::half, 1e7, dim), kRms), interleaved_axes(sections));
  };
  const LayerPlan linear = only(LayerKind::linear_attention);
  return {
      {"qwen2_vl", 32768, {qwen2, windowed(qwen2, 1023)}},
      {"qwen2_5_vl", 8192, {over(half(attention(8, 4, 128), 1e6), in_chunks({16, 24, 24}))}},
      {"qwen3_vl", 262144, {qwen3(16, {4, 2, 2})}},
      {"qwen3_vl_moe", 262144, {qwen3(128, {24, 20, 20})}},
      {"qwen3_5", 262144, {linear, qwen35(64, 32, {6, 5, 5}), linear, qwen35(64, 32, {6, 5, 5})}},
      {"qwen3_5_moe", 262144, {linear, qwen35(256, 64, {11, 11, 10})}},
      {"glm4v", 65536, {over(rotated(attention(8, 2, 128), Pairing::interleaved, 2e4, 64), in_chunks({8, 12, 12}))}},
  };
}

std::vector<Expected> all_expected() {
  std::vector<Expected> all;
  for (auto part : {expected_chosen_keys(), expected_compressed_keys(), expected_gemma4(), expected_kinds_and_sizes(),
                    expected_axes()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(ReadPlanLatent, every_value_of_every_family) {
  for (const Expected& expected : all_expected()) expect_plan(expected);
}

TEST(ReadPlanLatent, every_config_has_an_expectation) {
  const std::vector<Expected> all = all_expected();
  for (const FamilyConfig& config : latent_configs()) {
    EXPECT_NE(std::ranges::find(all, config.id, &Expected::id), all.end()) << config.id;
  }
}

// ---- where values come from ----

// Families whose configuration class gives every size.
constexpr std::string_view kLatent[] = {"deepseek_v32", "deepseek_v4", "glm_moe_dsa",   "kimi_linear", "longcat_flash",
                                        "minicpm3",     "minimax_m3",  "unlimited_ocr", "gemma4",      "mllama",
                                        "step3p5",      "step3p7",     "qwen2_vl",      "qwen2_5_vl",  "qwen3_vl",
                                        "qwen3_vl_moe", "qwen3_5",     "qwen3_5_moe",   "glm4v"};

TEST(ReadPlanLatent, a_file_of_nothing_but_its_type_has_its_classs_values) {
  for (const std::string_view name : kLatent) {
    SCOPED_TRACE(name);
    const plan::Family* const row = plan::find_family(name);
    ASSERT_NE(row, nullptr);
    const plan::Family& family = *row;
    if (family.name == "glm4v") continue;  // the sections in its class are for half of the pairs that the class rotates
    const Plan plan = plan_of("{\"model_type\": \"" + std::string(family.model_types.front()) + "\"}");
    EXPECT_TRUE(plan.known);
    for (const ValueSource& source : plan.sources) EXPECT_TRUE(source.from.starts_with("default: ")) << source.where;
  }
}

TEST(ReadPlanLatent, second_rotations_say_where_they_come_from) {
  const Plan plan = plan_of(family_config("deepseek_v4"));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1/rotate/1/heads"), "/index_n_heads");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1/rotate/1/head_dim"), "/index_head_dim");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1/rotate/1/base"), "/compress_rope_theta");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1-2/rotate/0/base"), "/compress_rope_theta");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0/rotate/0/base"), "/rope_theta");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1-2/rotate/0/scaling/attention_factor"),
            "default: the deepseek_v4 family");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-2/compression"), "/compress_ratios");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1-2/mask/detail"), "/compress_ratios");
}

TEST(ReadPlanLatent, sizes_and_shared_keys_say_where_they_come_from) {
  const Plan plan = plan_of(family_config("gemma4"));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0,2/head_dim"), "/head_dim");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1,3/head_dim"), "/global_head_dim");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1,3/kv_heads"), "/num_global_key_value_heads");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-3/kv_from"), "/num_kv_shared_layers");
  const Plan step = plan_of(family_config("step3p5"));
  EXPECT_EQ(source_of(step, "/stacks/0/layers/0-2/rotate/0/base"), "/rope_theta");
  EXPECT_EQ(source_of(step, "/stacks/0/layers/1/heads"), "/attention_other_setting/num_attention_heads");
}

TEST(ReadPlanLatent, kinds_and_axes_say_where_they_come_from) {
  const Plan qwen = plan_of(family_config("qwen3_5"));
  EXPECT_EQ(source_of(qwen, "/stacks/0/layers/0-3/kind"), "/full_attention_interval");
  EXPECT_EQ(source_of(qwen, "/stacks/0/layers/1,3/rotate/0/axis_of_pair"), "/rope_parameters/mrope_section");
  EXPECT_EQ(source_of(plan_of(family_config("qwen2_5_vl")), "/stacks/0/layers/0/rotate/0/axis_of_pair"),
            "default: mrope_section [16, 24, 24] of the qwen2_5_vl family");
  EXPECT_EQ(source_of(plan_of(family_config("mllama")), "/stacks/0/layers/0-2/kind"), "/cross_attention_layers");
}

TEST(ReadPlanLatent, sections_that_a_file_leaves_out_are_the_class_s) {
  EXPECT_EQ(source_of(plan_of(family_config("qwen3_5_moe")), "/stacks/0/layers/1/rotate/0/axis_of_pair"),
            "default: mrope_section [11, 11, 10] of the qwen3_5_moe family");
  const std::string wide = with(family_config("qwen3_5_moe"), R"("head_dim": 256)", R"("head_dim": 512)");
  EXPECT_EQ(source_of(plan_of(wide), "/stacks/0/layers/1/rotate/0/axis_of_pair"),
            "default: mrope_section [43, 11, 10] of the qwen3_5_moe family");
}

TEST(ReadPlanLatent, a_part_of_the_head_is_above_none_of_it) {
  const std::string text =
      with(family_config("deepseek_v4"), R"({"model_type")", R"({"partial_rotary_factor": 0, "model_type")");
  EXPECT_EQ(error_of(text).path, "/partial_rotary_factor");
}

// It rotates nothing, and so reads no rule.
TEST(ReadPlanLatent, kimi_linear_reads_no_scaling) {
  const Plan plan = plan_of(with(family_config("kimi_linear"), R"({"model_type")",
                                 R"({"rope_scaling": {"type": "none of ours"}, "model_type")"));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.ignored_keys, std::vector<std::string>{"/rope_scaling"});
}

// ---- which key wins ----

TEST(ReadPlanLatent, a_base_beside_a_dictionary_of_the_class_has_no_effect) {
  const Plan by_type = plan_of(R"({"model_type": "gemma4_text", "num_hidden_layers": 6, "rope_theta": 3e6})");
  EXPECT_EQ(rope_of(by_type, 5).base, 1e6);
  EXPECT_EQ(rope_of(by_type, 0).base, 1e4);
  EXPECT_EQ(codes(by_type), std::vector<std::string>{"misleading-key"});
  const Plan flat = plan_of(R"({"model_type": "apertus", "num_hidden_layers": 1, "rope_theta": 3e6})");
  EXPECT_EQ(rope_of(flat).base, 12e6);
  EXPECT_EQ(codes(flat), std::vector<std::string>{"precedence"});
}

TEST(ReadPlanLatent, letters_count_the_layers) {
  const Plan plan = plan_of(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*E-*", "num_hidden_layers": 4,
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64})");
  EXPECT_EQ(codes(plan), std::vector<std::string>{"precedence"});
  ASSERT_EQ(plan.stacks.at(0).layers.size(), 5U);
  EXPECT_EQ(layer_of(plan, 0), only(LayerKind::state_space));
  EXPECT_EQ(layer_of(plan, 1).kind, LayerKind::attention);
  EXPECT_EQ(layer_of(plan, 2).kind, LayerKind::none);
}

TEST(ReadPlanLatent, blocks_have_heads_of_their_own) {
  const Plan plan = plan_of(R"({"model_type": "nemotron-nas", "num_hidden_layers": 3, "head_dim": 64,
    "num_attention_heads": 8, "max_position_embeddings": 64, "rope_theta": 5, "block_configs": [
      {"attention": {"n_heads_in_group": 8, "no_op": false}}, {"attention": {"n_heads_in_group": null, "no_op": true}},
      {"attention": {"n_heads_in_group": 2}}]})");
  EXPECT_EQ(layer_of(plan, 0).kv_heads, 1);
  EXPECT_EQ(layer_of(plan, 1).kind, LayerKind::none);
  EXPECT_EQ(layer_of(plan, 2).kv_heads, 4);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0,2/kv_heads"), "/block_configs");
}

// ---- what is odd ----

TEST(ReadPlanLatent, axes_that_are_dealt_out_must_find_room) {
  const FileError error = error_of(R"({"model_type": "qwen3_vl_text", "hidden_size": 48, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 64, "head_dim": 12,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000, "mrope_section": [2, 3, 1]}})");
  EXPECT_EQ(error.kind, ErrorKind::out_of_range);
  EXPECT_EQ(error.path, "/rope_parameters/mrope_section/1");
}

TEST(ReadPlanLatent, the_layout_of_axes_is_the_classs_own) {
  const std::string text =
      with(family_config("qwen3_vl"), R"("mrope_interleaved": true)", R"("mrope_interleaved": false)");
  const Plan plan = plan_of(text);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"misleading-key"});
  EXPECT_EQ(rope_of(plan).axes, interleaved_axes({4, 2, 2}));
  EXPECT_TRUE(plan.known);
}

TEST(ReadPlanLatent, the_last_layer_of_gemma4_is_full) {
  const Plan plan = plan_of(with(family_config("gemma4 flat"), R"("full_attention"])", R"("sliding_attention"])"));
  EXPECT_EQ(codes(plan), std::vector<std::string>{"misleading-key"});
  EXPECT_EQ(layer_of(plan, 1).head_dim, 128);
  EXPECT_FALSE(layer_of(plan, 1).mask.window);
}

TEST(ReadPlanLatent, sections_in_a_family_without_axes_are_unknown) {
  const Plan plan = plan_of(R"({"model_type": "llama", "num_hidden_layers": 1, "rope_scaling":
    {"type": "mrope", "mrope_section": [16, 24, 24]}})");
  EXPECT_FALSE(plan.known);
}

TEST(ReadPlanLatent, an_indexer_can_be_switched_off) {
  const Plan plan =
      plan_of(with(family_config("minimax_m3"), R"("use_sparse_attention": true)", R"("use_sparse_attention": false)"));
  EXPECT_EQ(layer_of(plan, 1).rotate.size(), 1U);
  EXPECT_EQ(layer_of(plan, 1).mask.kind, MaskKind::causal);
}

// ---- what is wrong ----

struct Spoilt {
  std::string_view id;
  std::string_view from;
  std::string_view to;
  ErrorKind kind;
  std::string_view path;
};

constexpr Spoilt kSpoilt[] = {
    {"deepseek_v32", R"("index_head_dim": 128)", R"("index_head_dim": 32)", ErrorKind::out_of_range, "/index_head_dim"},
    {"deepseek_v32", R"("index_n_heads": 4)", R"("index_n_heads": "4")", ErrorKind::type, "/index_n_heads"},
    {"deepseek_v32", R"("index_topk": 1024)", R"("index_topk": -1)", ErrorKind::out_of_range, "/index_topk"},
    {"deepseek_v4", "[0, 4, 128, 0]", "[0, 4, 8, 0]", ErrorKind::out_of_range, "/compress_ratios/2"},
    {"deepseek_v4", "[0, 4, 128, 0]", "[0, 4]", ErrorKind::length_mismatch, "/compress_ratios"},
    {"deepseek_v4", R"("qk_rope_head_dim": 32)", R"("qk_rope_head_dim": 33)", ErrorKind::out_of_range,
     "/qk_rope_head_dim"},
    {"deepseek_v4", R"("qk_rope_head_dim": 32)", R"("qk_rope_head_dim": 256)", ErrorKind::out_of_range,
     "/qk_rope_head_dim"},
    {"deepseek_v4 v5", R"("partial_rotary_factor": 0.25)", R"("partial_rotary_factor": 2)", ErrorKind::out_of_range,
     "/partial_rotary_factor"},
    {"deepseek_v4 v5", R"("sliding_attention", )", R"("full_attention", )", ErrorKind::out_of_range, "/layer_types/0"},
    {"deepseek_v4 v5", R"("heavily_compressed_attention": 64)", R"("heavily_compressed_attention": 0)",
     ErrorKind::out_of_range, "/compress_rates/heavily_compressed_attention"},
    {"glm_moe_dsa letters", R"("FSS")", R"("FS")", ErrorKind::length_mismatch, "/index_topk_pattern"},
    {"glm_moe_dsa letters", R"("FSS")", R"("FSX")", ErrorKind::out_of_range, "/index_topk_pattern"},
    {"glm_moe_dsa letters", R"("FSS")", R"("SFF")", ErrorKind::out_of_range, ""},
    {"kimi_linear", "[2, 4]", "[2, 5]", ErrorKind::out_of_range, "/linear_attn_config/full_attn_layers/1"},
    {"kimi_linear", "[2, 4]", "[0, 2]", ErrorKind::out_of_range, "/linear_attn_config/full_attn_layers/0"},
    {"kimi_linear", "[2, 4]", "[2, 3]", ErrorKind::out_of_range, "/linear_attn_config/kda_layers/1"},
    {"kimi_linear", "[2, 4]", "[2]", ErrorKind::length_mismatch, "/linear_attn_config"},
    {"minimax_m3", "[0, 1]", "[1]", ErrorKind::length_mismatch, "/sparse_attention_config/sparse_attention_freq"},
    {"minimax_m3", "[0, 1]", "[0, 2]", ErrorKind::out_of_range, "/sparse_attention_config/sparse_attention_freq/1"},
    {"gemma4", R"("num_kv_shared_layers": 2)", R"("num_kv_shared_layers": 4)", ErrorKind::out_of_range,
     "/num_kv_shared_layers"},
    {"gemma4", R"("num_kv_shared_layers": 2)", R"("num_kv_shared_layers": 3)", ErrorKind::missing_layer_type,
     "/num_kv_shared_layers"},
    {"gemma4", R"("num_global_key_value_heads": 2)", R"("num_global_key_value_heads": 3)", ErrorKind::not_divisible,
     "/num_global_key_value_heads"},
    {"gemma4 flat", R"("vision")", R"("both")", ErrorKind::out_of_range, "/use_bidirectional_attention"},
    {"gemma4 flat", R"("vision")", "true", ErrorKind::type, "/use_bidirectional_attention"},
    {"mllama", "[1]", "[3]", ErrorKind::out_of_range, "/cross_attention_layers/0"},
    {"mllama", "[1]", "1", ErrorKind::type, "/cross_attention_layers"},
    {"step3p5", "[5000000, 10000, 5000000, 1, 1]", "[5000000, 10000]", ErrorKind::length_mismatch, "/rope_theta"},
    {"step3p5", "[5000000, 10000, 5000000, 1, 1]", "[5000000, -1, 5000000, 1, 1]", ErrorKind::out_of_range,
     "/rope_theta/1"},
    {"step3p5", "[0.5, 1, 0.25, 1, 1]", "[0.5, 2, 0.25, 1, 1]", ErrorKind::out_of_range, "/partial_rotary_factors/1"},
    {"step3p5", R"({"num_attention_heads": 12)", R"({"num_attention_heads": 13)", ErrorKind::not_divisible,
     "/attention_other_setting"},
    {"qwen2_vl", "[8, 12, 12]", "[8, 12]", ErrorKind::length_mismatch, "/rope_scaling/mrope_section"},
    {"qwen2_vl", "[8, 12, 12]", "[8, 12, 13]", ErrorKind::length_mismatch, "/rope_scaling/mrope_section"},
    {"qwen2_vl", "[8, 12, 12]", "[-8, 28, 12]", ErrorKind::out_of_range, "/rope_scaling/mrope_section/0"},
    {"qwen2_vl", "[8, 12, 12]", R"("8, 12, 12")", ErrorKind::type, "/rope_scaling/mrope_section"},
    {"qwen2_5_vl", R"("num_attention_heads": 8)", R"("num_attention_heads": 16)", ErrorKind::missing_key, ""},
    {"qwen3_5", R"("full_attention_interval": 2)", R"("full_attention_interval": 0)", ErrorKind::out_of_range,
     "/full_attention_interval"},
    {"qwen3_5_moe", R"("linear_attention", )", R"("lineal_attention", )", ErrorKind::out_of_range, "/layer_types/0"},
};

TEST(ReadPlanLatent, spoilt_configs_are_refused_at_the_place) {
  for (const Spoilt& spoilt : kSpoilt) {
    SCOPED_TRACE(std::string(spoilt.id) + ": " + std::string(spoilt.to));
    const FileError error = error_of(with(family_config(spoilt.id), spoilt.from, spoilt.to));
    EXPECT_EQ(name(error.kind), name(spoilt.kind)) << error.message();
    EXPECT_EQ(error.path, spoilt.path) << error.message();
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_latent_test
