// Numbers at the ends of what a file can say, in the place of each number of a config, of a GGUF file and of a plan's
// own JSON: the file is refused at a place of its own, or the plan is one that all that comes after can use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/formatted.h"
#include "io/json/json.h"
#include "io/json/json_writer.h"
#include "plan/families/asked_keys.h"
#include "plan/families/family_configs.h"
#include "plan/families/family_tables.h"
#include "plan/gguf_reading.h"
#include "plan/keys/key_notes.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"
#include "support/usable_plan.h"

namespace posenc::test::extreme_numbers_test {
namespace {

using io::JsonKind;
using io::JsonValue;

// As a file writes them. 1e39 is no float, nor is 1e-320, which is no normal double either; 2^63 is no integer here.
constexpr std::string_view kExtremes[] = {
    "1e308", "1e-320", "1e39", "-1", "0", "NaN", "Infinity", "1e-40", "9223372036854775808"};

// The text with one value in the place of another.
std::string replaced(std::string_view text, const JsonValue& number, std::string_view by) {
  std::string out(text);
  return out.replace(static_cast<std::size_t>(number.offset()), number.text().size(), by);
}

void list_numbers(const JsonValue& value, std::vector<JsonValue>& numbers) {
  if (value.kind() == JsonKind::number) numbers.push_back(value);
  // Entries of a long list are all of one kind.
  constexpr std::size_t kEntries = 2;
  std::vector<JsonValue> items = value.items();
  if (value.kind() == JsonKind::array && items.size() > kEntries) items.erase(items.begin() + kEntries, items.end());
  for (const JsonValue& item : items) list_numbers(item, numbers);
}

// An error that leads to the value: the file, the place, what was expected and what came.
void expect_sound(const FileError& error) {
  EXPECT_FALSE(error.file.empty());
  EXPECT_FALSE(error.expected.empty() || error.got.empty()) << error.message();
  EXPECT_FALSE(error.path.empty() && error.line < 0) << error.message();
}

// How many of the copies were read, and how many refused.
struct Outcome {
  int read = 0;
  int refused = 0;
};

void judge(const Result<Plan>& plan, Outcome& outcome) {
  if (!plan) {
    ++outcome.refused;
    return expect_sound(plan.error());
  }
  ++outcome.read;
  EXPECT_EQ(unusable(*plan), "");
}

template <typename Read>
Outcome replace_each_number(const std::string& text, Read read_text) {
  const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
  EXPECT_TRUE(document.ok());
  std::vector<JsonValue> numbers;
  list_numbers(document->root(), numbers);
  Outcome outcome;
  for (const JsonValue& number : numbers) {
    for (const std::string_view extreme : kExtremes) {
      SCOPED_TRACE(formatted("{}: {}", number.pointer(), extreme));
      judge(read_text(replaced(text, number, extreme)), outcome);
    }
  }
  return outcome;
}

TEST(ExtremeNumbers, of_configs_are_refused_or_usable) {
  Outcome all;
  for (const FamilyConfig& config : family_configs()) {
    SCOPED_TRACE(config.id);
    const Outcome outcome = replace_each_number(std::string(config.text), [](const std::string& t) { return read(t); });
    all.read += outcome.read;
    all.refused += outcome.refused;
  }
  EXPECT_GT(all.read, 200);
  EXPECT_GT(all.refused, 1000);
}

TEST(ExtremeNumbers, of_plans_are_refused_or_usable) {
  const auto read_saved = [](const std::string& text) { return plan_from_json(text); };
  for (const std::string_view id : {"llama yarn", "llama longrope", "llama llama3", "granite", "gemma2", "phimoe"}) {
    SCOPED_TRACE(id);
    Plan plan = plan_of(family_config(id));
    for (Stack& stack : plan.stacks) stack.layers.resize(1);
    const Outcome outcome = replace_each_number(to_json(plan), read_saved);
    EXPECT_GT(outcome.refused, 0);
  }
}

// Keys that are numbers, of architectures that read them.
struct GgufNumber {
  std::string_view architecture;
  std::string_view key;
  std::string_view beside = "";  // the value of rope.scaling.type
};
constexpr GgufNumber kGgufNumbers[] = {
    {"llama", "rope.freq_base"},
    {"llama", "rope.scaling.factor", "linear"},
    {"llama", "rope.scaling.factor", "yarn"},
    {"llama", "rope.scale_linear"},
    {"llama", "rope.scaling.attn_factor", "yarn"},
    {"grok", "rope.scaling.yarn_beta_fast", "yarn"},
    {"grok", "rope.scaling.yarn_beta_slow", "yarn"},
    {"deepseek2", "rope.scaling.yarn_log_multiplier", "yarn"},
    {"hunyuan-dense", "rope.scaling.alpha"},
    {"granite", "attention.scale"},
    {"grok", "attention.output_scale"},
    {"gemma2", "attn_logit_softcapping"},
    {"mpt", "attention.max_alibi_bias"},
    {"mistral3", "attention.temperature_scale"},
};

TEST(ExtremeNumbers, of_gguf_keys_are_refused_or_usable) {
  constexpr double kValues[] = {1e308, 1e-320, 1e39, -1, 0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 0x1p63};
  for (const GgufNumber& row : kGgufNumbers) {
    Outcome outcome;
    for (const double value : kValues) {
      SCOPED_TRACE(formatted("{}.{} {}: {}", row.architecture, row.key, row.beside, value));
      const std::string name(row.architecture);
      GgufBuilder file = model(name);
      if (!row.beside.empty()) {
        file.text(name + ".rope.scaling.type", row.beside);
        if (row.key != "rope.scaling.factor") file.f32(name + ".rope.scaling.factor", 4);
      }
      file.f64(formatted("{}.{}", row.architecture, row.key), value);
      judge(read_gguf_bytes(file.bytes()), outcome);
    }
    EXPECT_GT(outcome.refused, 0) << row.architecture << " " << row.key;
  }
}

// 32 pairs of 64 channels, and the entry of one of them.
TEST(ExtremeNumbers, of_gguf_factor_lists_are_refused_or_usable) {
  Outcome outcome;
  for (const float value : {3e38F, 1e-20F, 1e-38F, 1e-44F, 0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
    for (const std::size_t pair : {std::size_t{0}, std::size_t{31}}) {
      SCOPED_TRACE(formatted("pair {}: {}", pair, value));
      std::vector<float> factors(32, 1.0F);
      factors[pair] = value;
      judge(read_gguf_bytes(model("llama").floats("rope_freqs.weight", factors).bytes()), outcome);
      judge(read_gguf_bytes(model("llama")
                                .u32("llama.rope.scaling.original_context_length", 1024)
                                .floats("rope_factors_long.weight", factors)
                                .floats("rope_factors_short.weight", std::vector<float>(32, 1.0F))
                                .bytes()),
            outcome);
    }
  }
  EXPECT_GE(outcome.refused, 20);
}

// ---- keys that no config above has ----

// The text with one more member at the front of the object that the pointer "/rope_scaling/factor" speaks of; empty
// where there is no such object.
std::string with_member(std::string_view text, const JsonValue& root, std::string_view pointer,
                        std::string_view value) {
  JsonValue object = root;
  const std::size_t last = pointer.rfind('/');
  for (std::string_view rest = pointer.substr(0, last); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view key = rest.substr(0, rest.find('/'));
    rest.remove_prefix(key.size());
    const auto member = object.find(key);
    if (!member || !*member) return "";
    object = **member;
  }
  if (object.kind() != JsonKind::object || object.size() == 0) return "";
  std::string out(text);
  return out.insert(static_cast<std::size_t>(object.offset()) + 1,
                    formatted("\"{}\": {}, ", pointer.substr(last + 1), value));
}

// Every key that stands in the value, of any depth: of_configs above has its numbers.
void note_keys(const JsonValue& value, std::map<std::string, int>& met) {
  for (const JsonValue& item : value.items()) {
    if (!item.key().empty()) ++met[std::string(item.key())];
    note_keys(item, met);
  }
}

// Keys of towers, and those that are asked for beside others alone: real configs have them (below).
constexpr std::string_view kOfRealConfigs[] = {
    "cla_share_factor",
    "use_abs_posemb",
    "pos_emb",
    "pos_emb_size",
    "qkv_hidden_size",
    "sliding_window_layout",
    "preserve_original_pe",
    "use_rope",
    "rope_hf_config",
    "max_trained_positions",
    "rope_scale_factor",
    "n_heads_in_group",
    "no_op",
    "replace_with_linear",
    "rope_scaling_long_factor",
    "llama_4_scaling_beta",
    "same_length",
    "rotary_embedding_base",
    "max_text_positions",
    "output_hidden_size",
    "num_position_embeddings",
    "num_patches",
    "position_embedding_size",
    "pos_emb_height",
    "pos_emb_width",
    "pos_emb_time",
    "supported_aspect_ratios",
    "max_num_tiles",
    "spatial_merge_size",
    "window_kernel_size",
    "insert_layer_id",
    "num_global_layers",
    "max_num_patches",
    "prefix_dense_sliding_window_pattern",
    "attention_context_left",
    "attention_context_right",
    "attention_logit_cap",
    "decoder_depths",
    "rope_impl",
    "rope_dail_config",
};

// Towers whose keys no config above has.
constexpr std::string_view kTowers[] = {
    R"({"model_type": "lw_detr", "backbone": "resnet18"})",
    R"({"model_type": "oneformer", "backbone_config": {"model_type": "resnet"}})",
    R"({"model_type": "grounding-dino", "backbone_config": {"model_type": "resnet"}, "text_config": {}})",
    R"({"model_type": "superglue", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "hunyuan_vl_vision", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "pixio", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "inkling2_vision", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "aimv2_vision_model", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "bridgetower_vision_model", "hidden_size": 64, "num_hidden_layers": 2})",
    R"({"model_type": "videomae", "hidden_size": 64, "num_attention_heads": 4})",
    R"({"model_type": "videoprism", "text_config": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1},
        "vision_config": {"hidden_size": 64, "num_attention_heads": 4}})",
    R"({"model_type": "xclip", "text_config": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1},
        "vision_config": {"hidden_size": 64, "num_attention_heads": 4}, "projection_dim": 64})",
    R"({"model_type": "sapiens2", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3,
        "num_key_value_attention_heads": 2, "num_first_full_attention_layers": 1,
        "num_last_full_attention_layers": 1})",
};

// What the reader asks for and the config does not give, each in at most two configs; and each key of the reader's
// list is met there, or in a config itself.
TEST(ExtremeNumbers, of_absent_keys_are_refused_or_usable) {
  constexpr int kConfigs = 2;
  std::vector<std::string> texts;
  for (const FamilyConfig& config : family_configs()) texts.emplace_back(config.text);
  for (const std::string_view tower : kTowers) texts.emplace_back(tower);
  for (const std::span<const plan::Family> table : plan::family_tables()) {
    for (const plan::Family& family : table) {
      for (const std::string_view type : family.model_types) texts.push_back(smallest_config(type));
    }
  }
  std::map<std::string, int> met;
  for (const std::string& text : texts) {
    const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
    const Result<Plan> plan = read(text);
    if (!document || !plan) continue;
    SCOPED_TRACE(text);
    note_keys(document->root(), met);
    for (const std::string& pointer : plan->absent_keys) {
      if (++met[pointer.substr(pointer.rfind('/') + 1)] > kConfigs) continue;
      for (const std::string_view extreme : kExtremes) {
        SCOPED_TRACE(formatted("{}: {}", pointer, extreme));
        const std::string changed = with_member(text, document->root(), pointer, extreme);
        if (changed.empty()) continue;
        Outcome outcome;
        judge(read(changed), outcome);
      }
    }
  }
  for (const plan::Key* key : plan::position_keys()) {
    const bool is_met = std::any_of(key->names.begin(), key->names.end(),
                                    [&](std::string_view name) { return met.contains(std::string(name)); });
    const bool is_left = std::ranges::find(kOfRealConfigs, key->name()) != std::end(kOfRealConfigs);
    EXPECT_NE(is_met, is_left) << key->name();
  }
}

// Numbers of real models' files, each key in at most two of them.
TEST(ExtremeNumbers, of_real_configs_are_refused_or_usable) {
  POSENC_NEED_DATA("configs");
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "configs")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  constexpr int kFiles = 2;
  std::map<std::string, int> met;
  Outcome outcome;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Result<io::JsonDocument> document = io::JsonDocument::parse(text, "config.json");
    const Result<Plan> plan = read(text);
    if (!document || !plan) continue;
    std::vector<JsonValue> numbers;
    list_numbers(document->root(), numbers);
    for (const JsonValue& number : numbers) {
      const std::string pointer = number.pointer();
      const bool is_ignored = std::ranges::any_of(
          plan->ignored_keys, [&](const std::string& ignored) { return pointer.starts_with(ignored); });
      if (is_ignored || ++met[pointer.substr(pointer.rfind('/') + 1)] > kFiles) continue;
      for (const std::string_view extreme : kExtremes) {
        SCOPED_TRACE(formatted("{}, {}: {}", path.filename().string(), pointer, extreme));
        judge(read(replaced(text, number, extreme)), outcome);
      }
    }
  }
  EXPECT_GE(met.size(), 50U);
  EXPECT_GT(outcome.refused, 100);
}

// Of layers that differ the key of the layer that cannot be used is blamed, and not that of the first.
TEST(ExtremeNumbers, of_one_kind_of_layers_are_refused_at_its_own_key) {
  constexpr std::string_view kFull = R"({"model_type": "gemma3_text", "hidden_size": 256, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 6, "max_position_embeddings": 4096,
    "sliding_window": 32, "rope_local_base_freq": 10000, "rope_theta": 1e30,
    "rope_scaling": {"rope_type": "linear", "factor": 1e30}, "layer_types": ["sliding_attention", "sliding_attention",
      "sliding_attention", "full_attention", "sliding_attention", "full_attention"]})";
  const FileError error = error_of(kFull);
  EXPECT_EQ(error.path, "/rope_theta");
  EXPECT_TRUE(error.detail.starts_with("decoder, layer 3")) << error.detail;
}

// A length at which a rule breaks down: the model is refused for that length, and read for others.
TEST(ExtremeNumbers, lengths_are_refused_or_usable) {
  for (const std::int64_t length : {std::int64_t{1}, std::int64_t{1} << 40, std::int64_t{1} << 53}) {
    for (const FamilyConfig& config : family_configs()) {
      SCOPED_TRACE(formatted("{} at {}", config.id, length));
      const std::string_view text = config.text;
      const Result<Plan> plan =
          read_plan(std::as_bytes(std::span(text.data(), text.size())), "config.json", {.length = length});
      EXPECT_EQ(plan ? unusable(*plan) : "", "");
    }
  }
}

}  // namespace
}  // namespace posenc::test::extreme_numbers_test
