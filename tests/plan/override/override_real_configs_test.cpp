// Every word on every published config of the test data: what the reader makes of the file with that key changed is
// what override_plan makes of the file's plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "plan/override/overriding.h"
#include "support/test_data.h"

namespace posenc::test::override_real_configs_test {
namespace {

using io::JsonDocument;
using io::JsonKind;
using io::JsonValue;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Whether "/stacks/0/layers/0-3,7/rotate/0/base" is about that field of that layer.
bool is_about(std::string_view where, std::size_t layer, std::string_view field) {
  constexpr std::string_view kLayers = "/stacks/0/layers/";
  if (!where.starts_with(kLayers) || !where.ends_with("/" + std::string(field))) return false;
  std::istringstream ranges(
      std::string(where.substr(kLayers.size(), where.find('/', kLayers.size()) - kLayers.size())));
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t first = std::stoul(range);
    const std::size_t dash = range.find('-');
    const std::size_t last = dash == std::string::npos ? first : std::stoul(range.substr(dash + 1));
    if (first <= layer && layer <= last) return true;
  }
  return false;
}

// The first layer that rotates without a window, else the first that rotates: whose keys have no names of their own.
std::size_t leading_layer(const Plan& plan) {
  std::optional<std::size_t> any;
  for (std::size_t place = 0; !plan.stacks.empty() && place < plan.stacks[0].layers.size(); ++place) {
    const LayerPlan& layer = plan.stacks[0].layers[place];
    if (layer.kind != LayerKind::attention || layer.rotate.empty()) continue;
    if (!layer.mask.window && !layer.mask.chunk) return place;
    if (!any) any = place;
  }
  return any.value_or(0);
}

// Where a fact of the plan, or that field of the leading layer, came from in the file.
std::string pointer_of(const Plan& plan, std::string_view field) {
  const std::size_t layer = leading_layer(plan);
  for (const ValueSource& source : plan.sources) {
    const bool is_it = field.starts_with('/') ? source.where == field : is_about(source.where, layer, field);
    if (is_it && source.from.starts_with('/')) return source.from;
  }
  return {};
}

struct File {
  std::string text;
  JsonDocument document;
  Plan plan;
  std::string object;  // pointer to that of the text's keys

  std::optional<JsonValue> at(const std::string& pointer) const {
    std::optional<JsonValue> value = document.root();
    std::string_view rest = pointer;
    while (value && !rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view key = rest.substr(0, rest.find('/'));
      rest.remove_prefix(key.size());
      const auto found = value->find(key);
      value = found ? *found : std::nullopt;
    }
    return value;
  }
};

// The dictionary of the file's rule, flat; empty where it has none or one for each type of layers.
std::string dictionary(const File& file) {
  for (const char* key : {"/rope_scaling", "/rope_parameters"}) {
    const auto value = file.at(file.object + key);
    if (!value || value->kind() != JsonKind::object) continue;
    const std::vector<JsonValue> members = value->items();
    const bool nested =
        std::ranges::any_of(members, [](const JsonValue& one) { return one.kind() == JsonKind::object; });
    return nested ? std::string() : file.object + key;
  }
  return {};
}

using Edits = std::optional<std::vector<Edit>>;  // nothing: this file has no such key

// A key of the text's object that is there.
auto key(std::string name, std::string json) {
  return [=](const File& file) -> Edits {
    if (!file.at(file.object + "/" + name)) return {};
    return std::vector<Edit>{{file.object + "/" + name, json}};
  };
}
// Where that field came from.
auto source(std::string field, std::string json) {
  return [=](const File& file) -> Edits {
    const std::string pointer = pointer_of(file.plan, field);
    const auto value = pointer.empty() ? std::nullopt : file.at(pointer);
    if (!value || value->kind() != JsonKind::number || pointer.ends_with("/rope_ratio")) return {};
    return std::vector<Edit>{{pointer, json}};
  };
}
auto parameter(std::string name, std::string json) {
  return [=](const File& file) -> Edits {
    const std::string pointer = dictionary(file);
    if (pointer.empty() || !file.at(pointer + "/" + name)) return {};
    return std::vector<Edit>{{pointer + "/" + name, json}};
  };
}
// Another rule in the dictionary, or one where there was none; what is not the rule's stays.
auto rule(std::string members) {
  return [=](const File& file) -> Edits {
    std::string pointer = dictionary(file);
    if (pointer.empty()) {
      if (const auto there = file.at(file.object + "/rope_parameters"); there && !there->is_null()) return {};
      pointer = file.object + "/rope_scaling";
    }
    std::string json = "{" + members;
    if (const auto old = file.at(pointer); old && old->kind() == JsonKind::object) {
      for (const JsonValue& member : old->items()) {
        static const std::vector<std::string> kStay{"mrope_section", "mrope_interleaved", "rope_theta",
                                                    "partial_rotary_factor", "llama_4_scaling_beta"};
        if (std::ranges::find(kStay, member.key()) == kStay.end()) continue;
        io::JsonWriter writer(io::JsonLayout::line);
        write_edited(member, "", {.pointer = "/-/-", .json = {}}, writer);
        std::string value = writer.take();
        std::erase(value, '\n');
        json += ", \"" + std::string(member.key()) + "\": " + value;
      }
    }
    return std::vector<Edit>{{pointer, json + "}"}};
  };
}

struct Word {
  std::string setting;
  std::function<Edits(const File&)> edits;
  int least;  // files in which it must have made a difference
};

std::vector<Word> words() {
  return {
      {"base=250000", source("rotate/0/base", "250000"), 90},
      {"rope_scaling=none", rule(R"("rope_type": "default")"), 25},
      {"rope_scaling=linear,factor=4", rule(R"("rope_type": "linear", "factor": 4.0)"), 90},
      {"rope_scaling=dynamic,factor=2", rule(R"("rope_type": "dynamic", "factor": 2.0)"), 90},
      {"rope_scaling=yarn,factor=4,original=2048",
       rule(R"("rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048)"), 90},
      {"rope_scaling=yarn,factor=4", rule(R"("rope_type": "yarn", "factor": 4.0)"), 90},
      {"rope_scaling=yarn,original=2048", rule(R"("rope_type": "yarn", "original_max_position_embeddings": 2048)"), 90},
      {"rope_scaling=yarn,factor=8,original=1024,beta_fast=24,beta_slow=2,mscale=1,mscale_all_dim=0.8,truncate=no",
       rule(R"("rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 1024, "beta_fast": 24,
               "beta_slow": 2, "mscale": 1.0, "mscale_all_dim": 0.8, "truncate": false)"),
       90},
      {"rope_scaling=llama3,factor=8,low_freq_factor=1,high_freq_factor=4,original=1024",
       rule(R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 1024)"),
       90},
      {"factor=6", parameter("factor", "6"), 20},
      {"original=1000", parameter("original_max_position_embeddings", "1000"), 15},
      {"beta_fast=20", parameter("beta_fast", "20"), 5},
      {"beta_slow=0.5", parameter("beta_slow", "0.5"), 5},
      {"mscale=0.9", parameter("mscale", "0.9"), 5},
      {"mscale_all_dim=0.9", parameter("mscale_all_dim", "0.9"), 5},
      {"low_freq_factor=2", parameter("low_freq_factor", "2"), 8},
      {"high_freq_factor=9", parameter("high_freq_factor", "9"), 8},
      {"window=128", key("sliding_window", "128"), 15},
      {"kv_heads=1", key("num_key_value_heads", "1"), 80},
      {"soft_cap=20", key("attn_logit_softcapping", "20.0"), 2},
      {"chunk=64", key("attention_chunk_size", "64"), 2},
      {"partial=0.5", key("partial_rotary_factor", "0.5"), 1},
      {"rotary_dim=32", key("rotary_dim", "32"), 3},
      {"trained_length=4096", source("/trained_length", "4096"), 80},
  };
}

// Left out by name, with why: the class does more than change the number.
bool is_exception(const std::string& file, const std::string& setting) {
  // The reader takes "yarn" there for LongRoPE, whose lists are missing then.
  if (setting.starts_with("rope_scaling=yarn") && file.starts_with("maira2")) return true;
  // Without any window left, all layers of this class rotate.
  return setting.starts_with("trained_length") && file.starts_with("exaone4__4.0-32b");
}

// A class with a dictionary for each layer type reads truncate in none of them, and puts an old dictionary into them.
bool has_no_effect(const std::string& setting, const Plan& wanted) {
  return setting.find("truncate=no") != std::string::npos &&
         std::ranges::any_of(wanted.warnings, [](const Warning& warning) {
           return warning.message.find("truncate is false, but transformers reads it at the top") != std::string::npos;
         });
}

TEST(OverrideRealConfigs, EveryWordSaysWhatItsKeySays) {
  POSENC_NEED_DATA("configs");
  std::map<std::string, int> changed;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test_data() / "configs")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    std::string text = text_of(path);
    Result<Plan> plan = read(text);
    Result<JsonDocument> document = JsonDocument::parse(text, path.string());
    if (!plan || !document || document->root().kind() != JsonKind::object) continue;
    File file{std::move(text), std::move(*document), std::move(*plan), {}};
    std::string layers = pointer_of(file.plan, "/stacks/0/layers");
    if (layers.empty()) layers = pointer_of(file.plan, "/trained_length");
    file.object = layers.substr(0, std::min(layers.rfind('/'), layers.size()));
    for (const Word& word : words()) {
      const Edits edits = word.edits(file);
      if (!edits || is_exception(path.filename().string(), word.setting)) continue;
      const Result<Plan> wanted = read(edited(file.text, *edits));
      // A class that does not read the key, refuses it, or of which nobody knows what it does with it, has no plan to
      // hold this to.
      if (!wanted || wanted->known != file.plan.known ||
          has_no_effect(word.setting, *wanted) ||
          (wanted->stacks == file.plan.stacks && wanted->trained_length == file.plan.trained_length))
        continue;
      ++changed[word.setting];
      const std::string what = path.filename().string() + " " + word.setting;
      try {
        expect_same_facts(*wanted, override_plan(file.plan, std::vector{word.setting}), what);
      } catch (const Error& error) {
        // Tables of positions have so many rows: that length cannot be set.
        const bool is_table = std::string(error.what()).find("learned tables") != std::string::npos;
        EXPECT_TRUE(is_table) << what << ": " << error.what();
      }
    }
  }
  for (const Word& word : words()) EXPECT_GE(changed[word.setting], word.least) << word.setting;
}

}  // namespace
}  // namespace posenc::test::override_real_configs_test
