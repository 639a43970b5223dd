// Documents of schema_version 1, whose names were others: read, and refused where names of both versions meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "posenc/plan.h"

namespace posenc::plan_json_version_1_test {
namespace {

using ::testing::HasSubstr;

struct Name {
  std::string now;
  std::string before;
};
const std::vector<Name>& names() {
  static const std::vector<Name> all = {{"\"softmax_scale\"", "\"logit_scale\""},
                                        {"\"axis_frequencies\"", "\"ladder\""},
                                        {"\"strided\"", "\"dealt\""},
                                        {"\"rotation_direction\"", "\"sense\""},
                                        {"\"geometric_slopes\"", "\"one_ladder\""},
                                        {"/softmax_scale\"", "/logit_scale\""},
                                        {"/rotate/0/rotation_direction\"", "/rotate/0/sense\""}};
  return all;
}

// A plan that has every one of them.
Plan plan() {
  LayerPlan layer;
  layer.heads = layer.kv_heads = 6;
  layer.head_dim = layer.value_dim = 8;
  layer.softmax_scale = 0.25;
  layer.rotate.push_back({RotateRole::main, 6,
                          Rope{.pairing = Pairing::half,
                               .head_dim = 8,
                               .dim = 8,
                               .axes = axial_axes({"h", "w"}, 4),
                               .axis_frequencies = AxisFrequencies::strided,
                               .rotation_direction = RotationDirection::clockwise}});
  layer.score.push_back(Alibi{.heads = 6, .geometric_slopes = true});
  Plan plan;
  plan.known = true;
  plan.source.name = "config.json";
  plan.stacks.push_back({"decoder", {}, {layer}});
  plan.sources.push_back({"/stacks/0/layers/0/softmax_scale", "/attention_multiplier"});
  plan.sources.push_back({"/stacks/0/layers/0/rotate/0/rotation_direction", "default: the family"});
  plan.ignored_keys.push_back("/logit_scale");  // a config's own key, which keeps its name
  return plan;
}

std::string with(std::string text, const std::string& old, const std::string& to) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), to);
}

std::string version_1() {
  std::string out = with(to_json(plan()), "\"schema_version\": 2", "\"schema_version\": 1");
  for (const Name& name : names()) out = with(std::move(out), name.now, name.before);
  return out;
}

void expect_refused(const std::string& json, const std::string& written, const std::string& other) {
  const Result<Plan> read = plan_from_json(json);
  ASSERT_FALSE(read.ok()) << written;
  EXPECT_EQ(read.error().kind, ErrorKind::bad_plan) << read.error().message();
  EXPECT_THAT(read.error().message(), HasSubstr(other)) << written;
}

TEST(PlanJsonVersion1, IsRead) {
  const Result<Plan> read = plan_from_json(version_1());
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(*read, plan());
  EXPECT_EQ(plan_from_json(to_json(*read)).value(), plan());  // written as version 2
}

TEST(PlanJsonVersion1, IsRefusedWithANameOfVersion2) {
  for (const Name& name : names()) {
    expect_refused(with(version_1(), name.before, name.now), name.now, "a name of schema_version 2");
  }
}

TEST(PlanJsonVersion1, NamesAreRefusedInVersion2) {
  EXPECT_EQ(plan_from_json(to_json(plan())).value(), plan());
  for (const Name& name : names()) {
    expect_refused(with(to_json(plan()), name.now, name.before), name.before, "a name of schema_version 1");
  }
  // What it should be is said.
  const Result<Plan> read = plan_from_json(with(to_json(plan()), names()[0].now, names()[0].before));
  EXPECT_EQ(read.error().path, "/stacks/0/layers/0/logit_scale");
  EXPECT_EQ(read.error().expected, "'softmax_scale'");
  EXPECT_EQ(read.error().got, "'logit_scale'");
}

TEST(PlanJsonVersion1, BothNamesOfOneThingAreRefused) {
  const std::string both =
      with(to_json(plan()), "\"softmax_scale\": 0.25,", "\"softmax_scale\": 0.25, \"logit_scale\": 1,");
  expect_refused(both, "logit_scale", "a name of schema_version 1");
}

}  // namespace
}  // namespace posenc::plan_json_version_1_test
