// The plans of real configs against the table of facts, which was written before the reader existed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "io/json.h"
#include "plan/facts_table.h"
#include "plan/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test {
namespace {

using io::JsonKind;
using io::JsonValue;

// The member at a path such as "mask/window/past", or nothing when anything on the way is absent or null.
std::optional<JsonValue> at(JsonValue value, std::string_view path) {
  for (const std::string& part : split(path, '/')) {
    const auto member =
        value.kind() == JsonKind::array ? std::optional(value.items().at(std::stoul(part))) : value.find(part).value();
    if (!member || member->is_null()) return {};
    value = *member;
  }
  return value;
}

std::string cell(const std::optional<JsonValue>& value) {
  if (!value) return "-";
  if (value->kind() == JsonKind::boolean) return value->as_bool().value() ? "true" : "false";
  if (value->kind() == JsonKind::array) return "[" + std::to_string(value->size()) + "]";
  return std::string(value->text());
}

std::string cell(const JsonValue& layer, std::string_view path) { return cell(at(layer, path)); }

bool turns(const JsonValue& layer) { return at(layer, "rotate")->size() > 0; }

// Keys of the scaling rule that the file gives, by the plan's own account of its sources.
std::set<std::string> given_keys(const Plan& plan) {
  constexpr std::string_view kScaling = "/rotate/0/scaling/";
  std::set<std::string> keys;
  for (const ValueSource& source : plan.sources) {
    const std::size_t found = source.where.find(kScaling);
    if (found != std::string::npos && source.from.starts_with('/'))
      keys.insert(source.where.substr(found + kScaling.size()));
  }
  keys.erase("rule");
  return keys;
}

std::string qk_norm(const JsonValue& layer) {
  if (!at(layer, "qk_norm")) return "-";
  return cell(layer, "qk_norm/kind") + "/" + cell(layer, "qk_norm/order") + "/" +
         (cell(layer, "qk_norm/weighted") == "true" ? "weighted" : "unweighted") + "/" + cell(layer, "qk_norm/over");
}

std::string soft_cap(const JsonValue& layer) {
  return at(layer, "soft_cap") ? cell(layer, "soft_cap/cap") + "/" + cell(layer, "soft_cap/order") : "-";
}

// ---- one real file ----

struct Model {
  const FactRow& facts;
  const Plan& plan;
  std::vector<JsonValue> layers;

  void differ(std::string_view column, std::size_t layer, std::string_view got, std::string_view fact) const {
    ADD_FAILURE() << facts.at("name") << " " << column << " of layer " << layer << ": the plan says " << got
                  << ", the table " << fact;
  }
};

using Render = std::function<std::string(const JsonValue&)>;

void compare(const Model& model, std::string_view column, bool only_turning, double ulps, const Render& render) {
  const auto fact = model.facts.find(column);
  ASSERT_NE(fact, model.facts.end()) << column;
  const std::vector<std::string> wanted = by_layer(fact->second, static_cast<std::int64_t>(model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (only_turning && !turns(model.layers[i])) continue;
    const std::string got = render(model.layers[i]);
    if (!same_fact(got, wanted[i], ulps)) return model.differ(column, i, got, wanted[i]);
  }
}

// NAME{key=value,...} or NAME(...): every listed key, and no other key of the file's.
void compare_rule(const Model& model, std::size_t layer, const std::string& fact) {
  const JsonValue& json = model.layers[layer];
  const std::string name = cell(json, "rotate/0/scaling/rule");
  const std::size_t brace = fact.find('{');
  if (name != fact.substr(0, brace)) return model.differ("rule", layer, name, fact);
  if (brace == std::string::npos) return;
  const std::string inside = fact.substr(brace + 1, fact.size() - brace - 2);
  std::set<std::string> listed;
  for (const std::string& pair : split(inside, ',')) {
    const std::string key = pair.substr(0, pair.find('='));
    const std::string got = cell(json, "rotate/0/scaling/" + key);
    if (!same_fact(got, pair.substr(pair.find('=') + 1))) model.differ("rule", layer, key + "=" + got, pair);
    listed.insert(key);
  }
  EXPECT_EQ(given_keys(model.plan), listed) << model.facts.at("name");
}

void compare_rules(const Model& model) {
  const auto wanted = by_layer(model.facts.at("rule"), static_cast<std::int64_t>(model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (turns(model.layers[i])) compare_rule(model, i, wanted[i]);
  }
}

// NAME{...}: the listed parameters.
void compare_query_scale(const Model& model) {
  const auto wanted = by_layer(model.facts.at("query_scale"), static_cast<std::int64_t>(model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& fact = wanted[i];
    const std::size_t brace = fact.find('{');
    const std::string kind = cell(model.layers[i], "query_scale/kind");
    if (kind != fact.substr(0, brace)) return model.differ("query_scale", i, kind, fact);
    if (brace == std::string::npos) continue;
    for (const std::string& pair : split(fact.substr(brace + 1, fact.size() - brace - 2), ',')) {
      const std::string got = cell(model.layers[i], "query_scale/" + pair.substr(0, pair.find('=')));
      if (!same_fact(got, pair.substr(pair.find('=') + 1))) return model.differ("query_scale", i, got, pair);
    }
  }
}

void compare_nope(const Model& model) {
  std::vector<std::int64_t> still;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!turns(model.layers[i])) still.push_back(static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(still, selected(model.facts.at("nope"))) << model.facts.at("name") << " nope";
}

void compare_head(const FactRow& facts, const Plan& plan) {
  EXPECT_EQ(plan.known ? "true" : "false", facts.at("known")) << facts.at("name") << " known";
  EXPECT_EQ(plan.family, facts.at("family")) << facts.at("name") << " family";
  std::string warnings;
  for (const std::string& code : codes(plan)) warnings += (warnings.empty() ? "" : ",") + code;
  EXPECT_EQ(warnings.empty() ? "-" : warnings, facts.at("warnings")) << facts.at("name") << " warnings";
}

void compare_layers(const Model& model) {
  const auto path = [](std::string_view where) {
    return [where](const JsonValue& layer) { return cell(layer, where); };
  };
  compare(model, "heads", false, 0, path("heads"));
  compare(model, "kv_heads", false, 0, path("kv_heads"));
  compare(model, "head_dim", false, 0, path("head_dim"));
  compare(model, "value_dim", false, 0, path("value_dim"));
  compare(model, "pairing", true, 0, path("rotate/0/pairing"));
  compare(model, "first_channel", true, 0, path("rotate/0/first_channel"));
  compare(model, "dim", true, 0, path("rotate/0/dim"));
  compare(model, "base", true, 0, path("rotate/0/base"));
  // The formula's steps may be rounded in another order: four operations, half an ulp each, both sides.
  compare(model, "attention_factor", true, 4, path("rotate/0/attention_factor"));
  compare(model, "logit_scale", false, 4, path("logit_scale"));
  compare(model, "window", false, 0, path("mask/window/past"));
  compare(model, "chunk", false, 0, path("mask/chunk"));
  compare(model, "qk_norm", false, 0, qk_norm);
  compare(model, "sinks", false, 0, path("sinks"));
  compare(model, "soft_cap", false, 0, soft_cap);
  compare_rules(model);
  compare_query_scale(model);
  compare_nope(model);
}

std::vector<JsonValue> layers_of(const io::JsonDocument& document) {
  if (at(document.root(), "stacks")->size() == 0) return {};
  const auto layers = at(document.root(), "stacks/0/layers");
  return layers ? layers->items() : std::vector<JsonValue>{};
}

TEST(Facts, every_cell_of_every_row) {
  POSENC_NEED_DATA("configs");
  const auto table = std::filesystem::path(POSENC_SOURCE_DIR) / "tests/facts/configs.tsv";
  const std::vector<FactRow> rows = read_facts(table);
  ASSERT_FALSE(rows.empty()) << table;
  for (const FactRow& facts : rows) {
    SCOPED_TRACE(facts.at("name"));
    const Result<Plan> plan = read_plan(test_data() / "configs" / (facts.at("name") + ".json"));
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    compare_head(facts, *plan);
    if (facts.at("warnings") == "unknown-family") continue;
    const std::string json = to_json(*plan);
    const auto document = io::JsonDocument::parse(json, "plan");
    const Model model{facts, *plan, layers_of(*document)};
    EXPECT_EQ(std::to_string(model.layers.size()), facts.at("layers")) << "layers";
    compare_layers(model);
  }
}

// The table's own grammar, which the test above relies on.
TEST(Facts, cells_by_layer) {
  EXPECT_EQ(selected("0-4,6-10/2,12"), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 6, 8, 10, 12}));
  EXPECT_EQ(by_layer("511@0-1;-@2", 3), (std::vector<std::string>{"511", "511", "-"}));
  EXPECT_EQ(by_layer("7", 2), (std::vector<std::string>{"7", "7"}));
  EXPECT_TRUE(same_fact("1e4", "10000"));
  EXPECT_FALSE(same_fact("10000", "10001"));
  EXPECT_FALSE(same_fact("-", "0"));
}

}  // namespace
}  // namespace posenc::test
