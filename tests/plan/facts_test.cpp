// The plans of real configs against the tables of facts, which were written before any reader ran on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/json/json.h"
#include "plan/facts_cells.h"
#include "plan/facts_table.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::facts_test {
namespace {

using io::JsonValue;

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

// What differs between the plan's JSON of a layer and a cell; nothing where they agree.
using Difference = std::function<std::string(const JsonValue&, const std::string&)>;
using Layers = std::function<bool(const JsonValue&)>;

void compare(const Model& model, std::string_view column, const Layers& applies, const Difference& difference) {
  const auto fact = model.facts.find(column);
  ASSERT_NE(fact, model.facts.end()) << column;
  const std::vector<std::string> wanted = by_layer(fact->second, static_cast<std::int64_t>(model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (wanted[i] == "?" || !applies(model.layers[i])) continue;
    const std::string found = difference(model.layers[i], wanted[i]);
    if (!found.empty()) return model.differ(column, i, found, wanted[i]);
  }
}

Difference same(std::function<std::string(const JsonValue&)> render, double ulps = 0) {
  return [render = std::move(render), ulps](const JsonValue& layer, const std::string& fact) {
    const std::string got = render(layer);
    return same_fact(got, fact, ulps) ? std::string() : got;
  };
}

Difference same_at(std::string_view path, double ulps = 0) {
  return same([path](const JsonValue& layer) { return cell(layer, path); }, ulps);
}

std::vector<JsonValue> list_at(const JsonValue& value, std::string_view path) {
  const auto list = at(value, path);
  return list ? list->items() : std::vector<JsonValue>{};
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
    if (wanted[i] != "?" && rotates(model.layers[i])) compare_rule(model, i, wanted[i]);
  }
}

// NAME{...}: the listed parameters.
std::string scheme_at(const JsonValue& layer, std::string_view path, const std::string& fact) {
  const auto scheme = at(layer, path);
  return scheme_difference(scheme ? std::vector{*scheme} : std::vector<JsonValue>{}, fact);
}

void compare_nope(const Model& model) {
  if (model.facts.at("nope") == "?") return;
  std::vector<std::int64_t> still;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (attends(model.layers[i]) && !rotates(model.layers[i])) still.push_back(static_cast<std::int64_t>(i));
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
  // The formula's steps may be rounded in another order: four operations, half an ulp each, both sides.
  constexpr double kUlps = 4;
  for (std::string_view size : {"heads", "kv_heads", "head_dim", "value_dim"}) {
    compare(model, size, attends, same_at(size));
  }
  compare(model, "pairing", rotates, same_at("rotate/0/pairing"));
  compare(model, "first_channel", rotates, same_at("rotate/0/first_channel"));
  compare(model, "dim", rotates, same_at("rotate/0/dim"));
  compare(model, "base", rotates, same_at("rotate/0/base"));
  compare(model, "attention_factor", rotates, same_at("rotate/0/attention_factor", kUlps));
  compare(model, "softmax_scale", attends, same_at("softmax_scale", kUlps));
  compare(model, "window", attends, same(window_cell));
  compare(model, "chunk", attends, same_at("mask/chunk"));
  compare(model, "qk_norm", attends, same(qk_norm_cell));
  compare(model, "sinks", attends, same_at("sinks"));
  compare(model, "soft_cap", attends, same(soft_cap_cell));
  compare(model, "query_scale", attends,
          [](const JsonValue& layer, const std::string& fact) { return scheme_at(layer, "query_scale", fact); });
  compare_rules(model);
  compare_nope(model);
}

// ---- the columns of families.tsv ----

std::string score_difference(const JsonValue& layer, const std::string& fact) {
  return scheme_difference(list_at(layer, "score"), fact);
}

std::string input_difference(const JsonValue& stack, const std::string& fact) {
  return fact == "?" ? std::string() : scheme_difference(list_at(stack, "input"), fact);
}

void compare_stages(const Model& model) {
  const auto always = [](const JsonValue&) { return true; };
  compare(model, "kinds", always, [](const JsonValue& layer, const std::string& fact) {
    const std::string kind = cell(layer, "kind");
    return kind == fact.substr(0, fact.find('+')) ? std::string() : kind;
  });
  compare(model, "score", attends, score_difference);
  compare(model, "value", attends,
          [](const JsonValue& layer, const std::string& fact) { return scheme_at(layer, "value", fact); });
  compare(model, "mask", attends,
          [](const JsonValue& layer, const std::string& fact) { return mask_difference(*at(layer, "mask"), fact); });
  compare(model, "axes", rotates, same([](const JsonValue& layer) { return axes_cell(*at(layer, "rotate/0")); }));
  compare(model, "indexer", attends, same(indexer_cell));
  compare(model, "kv_from", attends, same_at("kv_from"));
}

// The sub-layers of a block beside its self-attention see the whole encoder output and rotate nothing.
void compare_cross(const FactRow& facts, const std::vector<JsonValue>& sublayers, std::size_t blocks) {
  const bool both = facts.at("kinds") == "attention+cross_attention";
  EXPECT_EQ(sublayers.size(), both ? 2 * blocks : blocks) << facts.at("name") << " sub-layers";
  for (const JsonValue& layer : sublayers) {
    if (!both || cell(layer, "kind") != "cross_attention") continue;
    EXPECT_EQ(cell(layer, "heads"), facts.at("heads")) << facts.at("name");
    EXPECT_FALSE(rotates(layer) || at(layer, "score")->size() > 0) << facts.at("name");
    EXPECT_EQ(cell(layer, "mask/kind"), "bidirectional") << facts.at("name");
  }
}

// A field of other_stacks for one layer.
std::string field_difference(const JsonValue& layer, std::string_view field, const std::string& fact) {
  if (field == "kinds") return cell(layer, "kind") == fact ? std::string() : cell(layer, "kind");
  if (field == "rotate") return rotations_cell(layer) == fact ? std::string() : rotations_cell(layer);
  if (!attends(layer)) return {};
  if (field == "score") return score_difference(layer, fact);
  if (field == "mask") return mask_difference(*at(layer, "mask"), fact);
  if (field == "window") return same(window_cell)(layer, fact);
  if (field == "soft_cap") return same(soft_cap_cell)(layer, fact);
  if (field == "qk_norm") return same(qk_norm_cell)(layer, fact);
  if (field == "scale" && fact == "learned per channel") return cell(layer, "channel_scale") == "true" ? "" : "not so";
  if (field == "scale") return same_at("softmax_scale")(layer, fact);
  return same_at(field)(layer, fact);
}

void compare_other_stack(const std::string& file, const JsonValue& stack, const Braced& facts) {
  const std::vector<JsonValue> layers = list_at(stack, "layers");
  for (const auto& [field, fact] : facts.members) {
    if (fact == "?") continue;
    SCOPED_TRACE(file + " " + facts.name + " " + field + "=" + fact);
    if (field == "layers") {
      EXPECT_EQ(std::to_string(layers.size()), fact);
    } else if (field == "input") {
      EXPECT_EQ(input_difference(stack, fact), "");
    } else {
      std::string cells = fact;
      std::ranges::replace(cells, '|', ';');
      const std::vector<std::string> wanted = by_layer(cells, static_cast<std::int64_t>(layers.size()));
      for (std::size_t i = 0; i < layers.size(); ++i) {
        EXPECT_EQ(field_difference(layers[i], field, wanted[i]), "") << "layer " << i;
      }
    }
  }
}

// ---- one file ----

const JsonValue* stack_named(const std::vector<JsonValue>& stacks, std::string_view name) {
  const auto found = std::ranges::find_if(stacks, [&](const JsonValue& stack) { return cell(stack, "name") == name; });
  return found == stacks.end() ? nullptr : &*found;
}

// Of each block the self-attention, or what stands in its place.
std::vector<JsonValue> blocks_of(const std::vector<JsonValue>& sublayers) {
  std::vector<JsonValue> blocks;
  for (const JsonValue& layer : sublayers) {
    if (blocks.empty() || cell(blocks.back(), "index") != cell(layer, "index")) blocks.push_back(layer);
  }
  return blocks;
}

void compare_main_stack(const FactRow& facts, const Plan& plan, const std::vector<JsonValue>& stacks) {
  const bool has_stages = facts.contains("stack");
  const JsonValue* stack = stack_named(stacks, has_stages ? facts.at("stack") : "decoder");
  ASSERT_NE(stack, nullptr) << facts.at("name") << " has no such stack";
  const std::vector<JsonValue> sublayers = list_at(*stack, "layers");
  const Model model{facts, plan, blocks_of(sublayers)};
  ASSERT_EQ(std::to_string(model.layers.size()), facts.at("layers")) << facts.at("name") << " layers";
  compare_layers(model);
  if (!has_stages) return;
  compare_stages(model);
  compare_cross(facts, sublayers, model.layers.size());
  EXPECT_EQ(input_difference(*stack, facts.at("input")), "") << facts.at("name") << " input " << facts.at("input");
  if (facts.at("trained_length") == "?") return;
  const std::string length = plan.trained_length ? std::to_string(*plan.trained_length) : "-";
  EXPECT_EQ(length, facts.at("trained_length")) << facts.at("name") << " trained_length";
}

void compare_other_stacks(const FactRow& facts, const std::vector<JsonValue>& stacks) {
  if (!facts.contains("other_stacks")) return;
  std::set<std::string> names{facts.at("stack")};
  const std::string& other = facts.at("other_stacks");
  for (const std::string& text : other == "-" ? std::vector<std::string>{} : split_outside(other, ';')) {
    const Braced wanted = braced(text);
    names.insert(wanted.name);
    const JsonValue* stack = stack_named(stacks, wanted.name);
    ASSERT_NE(stack, nullptr) << facts.at("name") << " has no stack " << wanted.name;
    compare_other_stack(facts.at("name"), *stack, wanted);
  }
  std::set<std::string> found;
  for (const JsonValue& stack : stacks) found.insert(cell(stack, "name"));
  EXPECT_EQ(found, names) << facts.at("name") << " stacks";
}

// Rows of both tables; where a name stands in both, families.tsv has the whole truth.
std::vector<FactRow> rows() {
  const std::filesystem::path folder = source_folder() / "tests/facts";
  std::vector<FactRow> all = read_facts(folder / "families.tsv");
  std::set<std::string> names;
  for (const FactRow& row : all) names.insert(row.at("name"));
  for (FactRow& row : read_facts(folder / "configs.tsv")) {
    if (!names.contains(row.at("name"))) all.push_back(std::move(row));
  }
  return all;
}

void compare_file(const FactRow& facts) {
  SCOPED_TRACE(facts.at("name"));
  const Result<Plan> plan = read_plan(test_data() / "configs" / (facts.at("name") + ".json"));
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  compare_head(facts, *plan);
  const std::string json = to_json(*plan);
  const auto document = io::JsonDocument::parse(json, "plan");
  const std::vector<JsonValue> stacks = list_at(document->root(), "stacks");
  compare_main_stack(facts, *plan, stacks);
  compare_other_stacks(facts, stacks);
  const Result<Plan> again = plan_from_json(json);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(*again == *plan) << "what to_json() wrote reads as another plan";
}

TEST(Facts, every_cell_of_every_file) {
  POSENC_NEED_DATA("configs");
  for (const FactRow& row : rows()) compare_file(row);
}

// Every file of the data has a row.
TEST(Facts, no_file_without_a_row) {
  POSENC_NEED_DATA("configs");
  std::set<std::string> names;
  for (const FactRow& row : rows()) names.insert(row.at("name"));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "configs")) {
    if (entry.path().extension() == ".json") files.insert(entry.path().stem().string());
  }
  EXPECT_EQ(files, names);
}

// The table's own grammar, which the tests above rely on.
TEST(Facts, cells_by_layer) {
  EXPECT_EQ(selected("0-4,6-10/2,12"), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 6, 8, 10, 12}));
  EXPECT_EQ(by_layer("511@0-1;-@2", 3), (std::vector<std::string>{"511", "511", "-"}));
  EXPECT_EQ(by_layer("7", 2), (std::vector<std::string>{"7", "7"}));
  EXPECT_TRUE(same_fact("1e4", "10000"));
  EXPECT_FALSE(same_fact("10000", "10001"));
  EXPECT_FALSE(same_fact("-", "0"));
}

TEST(Facts, braces_in_cells) {
  const Braced stack = braced(
      "vision{layers=2,input=axial{shape=[4,5],combine=add}+tile{rows=9},rotate=half/0/8/100/h,w axial,mask=sparse(a, "
      "b)@0|causal@1}");
  EXPECT_EQ(stack.name, "vision");
  ASSERT_EQ(stack.members.size(), 4U);
  EXPECT_EQ(stack.members[1].second, "axial{shape=[4,5],combine=add}+tile{rows=9}");
  EXPECT_EQ(stack.members[2].second, "half/0/8/100/h,w axial");
  EXPECT_EQ(stack.members[3].second, "sparse(a, b)@0|causal@1");
  EXPECT_EQ(split_outside("a{b;c};d", ';'), (std::vector<std::string>{"a{b;c}", "d"}));
}

}  // namespace
}  // namespace posenc::test::facts_test
