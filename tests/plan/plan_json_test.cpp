#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "plan/json/plan_names.h"
#include "plan/random_plan.h"
#include "posenc/plan.h"

namespace posenc::plan_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plan llama() {
  Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
  rope.head_dim = rope.dim = 4;
  rope.base = 500000.0;
  rope.scaling = Llama3Scaling{8.0, 1.0, 4.0, 8192};
  LayerPlan layer;
  layer.index = 0;
  layer.heads = 32;
  layer.kv_heads = 8;
  layer.head_dim = layer.value_dim = 4;
  layer.softmax_scale = 0.5;
  layer.rotate.push_back({RotateRole::main, 32, rope});
  LayerPlan mamba;
  mamba.index = 1;
  mamba.kind = LayerKind::state_space;
  Plan plan;
  plan.known = true;
  plan.model_type = "llama";
  plan.family = "llama";
  plan.source = {SourceKind::config_json, "config.json"};
  plan.trained_length = 131072;
  plan.stacks.push_back({"decoder", {}, {layer, mamba}});
  plan.sources.push_back({"/stacks/0/layers/0/rotate/0/base", "/rope_theta"});
  plan.absent_keys.push_back("/head_dim");
  plan.ignored_keys.push_back("/vocab_size");
  plan.warnings.push_back({"precedence", "two values", {"/rope_theta"}});
  return plan;
}

// The contract, to the letter: keys, their order, and one number of each kind. inv_freq by hand: pair 0 turns often
// and stays; pair 1, 500000^-0.5 = 0.00141421356, has a wavelength of 4443 tokens, between 8192/4 and 8192/1, so
// smooth = (8192/4442.88294 - 1)/3 = 0.28128261 and the frequency is f (1 - smooth)/8 + f smooth = 5.24846161e-4.
TEST(PlanJson, follows_the_contract) {
  const std::string json = to_json(llama());
  const std::string head = R"({
  "schema_version": 2,
  "known": true,
  "model_type": "llama",
  "family": "llama",
  "source": {"kind": "config.json", "name": "config.json"},
  "trained_length": 131072,
  "length": null,
  "stacks": [
    {
      "name": "decoder",
      "input": [],
      "layers": [
        {
          "index": 0,
          "kind": "attention",
          "heads": 32,
          "kv_heads": 8,
          "head_dim": 4,
          "value_dim": 4,
          "kv_from": null,
          "compression": null,
          "softmax_scale": 0.5,
          "channel_scale": false,
          "soft_cap": null,
          "sinks": false,
          "qk_norm": null,
          "mask": {"kind": "causal", "window": null, "chunk": null, "detail": null},
          "rotate": [
            {
              "role": "main",
              "kind": "rope",
              "heads": 32,
              "head_dim": 4,
              "pairing": "half",
              "first_channel": 0,
              "dim": 4,
              "base": 500000,
              "scaling": {"rule": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, )"
                           R"("original_max_position_embeddings": 8192},
              "attention_factor": 1,
              "axes": ["t"],
              "axis_of_pair": null,
              "inv_freq": [1, )";
  const std::string tail = R"(]
            }
          ],
          "regions": null,
          "score": [],
          "value": null,
          "query_scale": null
        },
        {"index": 1, "kind": "state_space"}
      ]
    }
  ],
  "sources": {
    "/stacks/0/layers/0/rotate/0/base": "/rope_theta"
  },
  "absent_keys": ["/head_dim"],
  "ignored_keys": ["/vocab_size"],
  "warnings": [
    {"code": "precedence", "message": "two values", "keys": ["/rope_theta"]}
  ]
})";
  ASSERT_EQ(json.substr(0, head.size()), head);
  ASSERT_GT(json.size(), head.size() + tail.size());
  EXPECT_EQ(json.substr(json.size() - tail.size()), tail);
  EXPECT_NEAR(std::stod(json.substr(head.size())), 5.24846161e-4, 5e-13);
}

TEST(PlanJson, random_plans_come_back_equal) {
  for (std::uint32_t seed = 0; seed < test::kRandomPlans; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Plan plan = test::RandomPlan(seed).plan();
    const std::string json = to_json(plan);
    const Result<Plan> back = plan_from_json(json);
    ASSERT_TRUE(back.ok()) << back.error().message() << '\n' << json;
    ASSERT_TRUE(*back == plan) << json << '\n' << to_json(*back);
    ASSERT_EQ(to_json(*back), json);
  }
}

template <typename V>
void note(std::set<std::string>& seen, const char* group, const V& scheme) {
  seen.insert(group + std::string(plan::kind_name(scheme)));
}

// Otherwise the property above says less than it seems to.
TEST(PlanJson, random_plans_show_every_alternative) {
  std::set<std::string> seen;
  for (std::uint32_t seed = 0; seed < test::kRandomPlans; ++seed) {
    for (const Stack& stack : test::RandomPlan(seed).plan().stacks) {
      for (const InputScheme& input : stack.input) note(seen, "input ", input);
      seen.insert("fed by " + std::string(name(stack.fed_by)));
      for (const LayerPlan& layer : stack.layers) {
        for (const Added& added : layer.added) {
          seen.insert("added to " + std::string(name(added.to)));
          seen.insert("added " + std::string(name(added.how)));
        }
        seen.insert("layer " + std::string(name(layer.kind)));
        seen.insert(layer.mixing == Mixing{} ? "unmixed" : layer.mixing.tokens_before ? "mixed" : "mixed, not said");
        seen.insert(layer.begins_apart ? "begins apart" : "begins as it goes on");
        for (const ScoreTerm& term : layer.score) note(seen, "score ", term);
        note(seen, "regions ", layer.regions);
        note(seen, "value ", layer.value);
        note(seen, "query scale ", layer.query_scale);
        for (const Rotate& rotate : layer.rotate) {
          note(seen, "rotate ", rotate.scheme);
          note(seen, "scaling ", rope(rotate).scaling);
          seen.insert("ladder " + std::string(name(rope(rotate).axis_frequencies)));
          seen.insert("sense " + std::string(name(rope(rotate).rotation_direction)));
        }
      }
    }
  }
  const std::size_t all = std::variant_size_v<InputScheme> + std::variant_size_v<ScoreTerm> +
                          std::variant_size_v<Regions> + std::variant_size_v<ValueScheme> +
                          std::variant_size_v<QueryScale> + std::variant_size_v<decltype(Rotate::scheme)> +
                          std::variant_size_v<Scaling> + plan::kEnumNames<LayerKind>.size() +
                          plan::kEnumNames<AddedTo>.size() + plan::kEnumNames<AddedHow>.size() +
                          plan::kEnumNames<AxisFrequencies>.size() + plan::kEnumNames<RotationDirection>.size() +
                          plan::kEnumNames<FedBy>.size() + 3 + 2;  // mixing; begins_apart
  EXPECT_EQ(seen.size(), all) << ::testing::PrintToString(seen);
}

// Rows that are added are not said to be, so that plans from before `combine` are what they were.
TEST(PlanJson, combine_is_said_where_rows_multiply) {
  Plan plan = llama();
  plan.stacks[0].input = {LearnedInput{.positions = 8}, BinaryInput{}};
  const std::string added = to_json(plan);
  EXPECT_THAT(added, Not(HasSubstr("combine")));
  EXPECT_THAT(added, HasSubstr(R"({"kind": "binary", "offset": 0, "embedding_multiplier": 1})"));
  EXPECT_EQ(plan_from_json(added).value(), plan);

  plan.stacks[0].input = {LearnedInput{.positions = 8, .combine = InputCombine::multiply}};
  std::string multiplied = to_json(plan);
  EXPECT_THAT(multiplied, HasSubstr(R"("embedding_multiplier": 1, "combine": "multiply"})"));
  EXPECT_EQ(plan_from_json(multiplied).value(), plan);
  multiplied.replace(multiplied.find("\"multiply\""), 10, "\"divide\"");
  EXPECT_EQ(plan_from_json(multiplied).error().path, "/stacks/0/input/0/combine");
}

// Plans from before `added` are what they were, and so is what is written of them.
TEST(PlanJson, added_is_said_where_something_is) {
  Plan plan = llama();
  EXPECT_THAT(to_json(plan), Not(HasSubstr("added")));
  plan.stacks[0].layers[0].added = {
      {.scheme = AxisSinesInput{.scale = 2, .offset = 1}},
      {.to = AddedTo::keys, .how = AddedHow::beside, .gated = true, .scheme = PerceptronInput{}}};
  std::string json = to_json(plan);
  EXPECT_THAT(json, HasSubstr(R"("to": "queries_and_keys", "scheme": {"kind": "axis_sines", "axes": ["h", "w"], )"));
  EXPECT_THAT(json, HasSubstr(R"("to": "keys", "how": "beside", "gated": true, "scheme": {"kind": "perceptron", )"));
  EXPECT_EQ(plan_from_json(json).value(), plan);
  json.replace(json.find("\"beside\""), 8, "\"below\"");
  EXPECT_EQ(plan_from_json(json).error().path, "/stacks/0/layers/0/added/1/how");
}

// What a KV cache has to know of other tokens; null and 0 are told apart.
TEST(PlanJson, mixing_is_said_where_something_is) {
  Plan plan = llama();
  for (const char* key : {"mixing", "begins_apart", "fed_by", "beyond_window", "by_blocks", "by_indexer"}) {
    EXPECT_THAT(to_json(plan), Not(HasSubstr(key)));
  }
  LayerPlan& layer = plan.stacks[0].layers[0];
  layer.mixing = {.tokens_before = std::nullopt, .outputs = true, .beside = LayerKind::state_space};
  layer.mask.beyond_window = layer.mask.by_indexer = true;
  plan.stacks[0].layers.push_back({.index = 1, .kind = LayerKind::state_space, .begins_apart = true});
  plan.stacks[0].layers.push_back({.index = 2, .kind = LayerKind::linear_attention, .begins_apart = true});
  plan.stacks[0].fed_by = FedBy::mixed_tokens;
  std::string json = to_json(plan);
  EXPECT_THAT(json, HasSubstr(R"("mixing": {"tokens_before": null, "outputs": true, "beside": "state_space"})"));
  EXPECT_THAT(json, HasSubstr(R"("detail": null, "beyond_window": true, "by_indexer": true})"));
  EXPECT_THAT(json, HasSubstr(R"({"index": 1, "kind": "state_space", "begins_apart": true})"));
  EXPECT_THAT(json, HasSubstr(R"("fed_by": "mixed_tokens")"));
  EXPECT_EQ(plan_from_json(json).value(), plan);
  json.replace(json.find("\"tokens_before\": null"), 21, "\"tokens_before\": -1");
  EXPECT_EQ(plan_from_json(json).error().path, "/stacks/0/layers/0/mixing/tokens_before");
}

// Plans from before `rotation_direction` are what they were, and so is what is written of them.
TEST(PlanJson, sense_is_said_where_a_rotation_rotates_clockwise) {
  Plan plan = llama();
  Rope rope = posenc::rope(plan.stacks[0].layers[0].rotate[0]);
  rope.scaling = {};
  rope.base = 10000;
  plan.stacks[0].layers[0].rotate[0].scheme = rope;
  const std::string usual = to_json(plan);
  EXPECT_THAT(usual, Not(HasSubstr("rotation_direction")));
  EXPECT_THAT(usual, HasSubstr("\"inv_freq\": [1, 0.01]"));
  EXPECT_EQ(plan_from_json(usual).value(), plan);

  for (const bool decays : {false, true}) {
    rope.rotation_direction = RotationDirection::clockwise;
    plan.stacks[0].layers[0].rotate[0].scheme = rope;
    if (decays) plan.stacks[0].layers[0].rotate[0].scheme = XPos{rope};
    std::string clockwise = to_json(plan);
    EXPECT_THAT(clockwise, HasSubstr("\"axis_of_pair\": null,\n              \"rotation_direction\": \"clockwise\","));
    EXPECT_THAT(clockwise, HasSubstr("\"inv_freq\": [-1, -0.01]"));
    EXPECT_EQ(plan_from_json(clockwise).value(), plan);
    // Frequencies are those of the sense.
    std::string wrong = clockwise;
    wrong.replace(wrong.find("\"clockwise\""), 11, "\"counterclockwise\"");
    EXPECT_EQ(plan_from_json(wrong).error().path, "/stacks/0/layers/0/rotate/0/inv_freq/0");
    clockwise.replace(clockwise.find("\"clockwise\""), 11, "\"left\"");
    EXPECT_EQ(plan_from_json(clockwise).error().path, "/stacks/0/layers/0/rotate/0/rotation_direction");
  }
}

TEST(PlanJson, frequencies_are_those_at_the_plan_length) {
  Plan plan = llama();
  Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
  rope.head_dim = rope.dim = 4;
  rope.scaling = DynamicScaling{2.0, 1024};
  plan.stacks[0].layers[0].rotate[0].scheme = rope;
  const std::string without = to_json(plan);
  plan.length = 4096;
  const std::string with = to_json(plan);
  // base (2 * 4096/1024 - 1)^(4/2) = 490000, and 490000^(-1/2) = 1/700.
  EXPECT_THAT(without, HasSubstr("\"inv_freq\": [1, 0.01]"));
  EXPECT_THAT(with, HasSubstr("\"inv_freq\": [1, 0.00142857142857142"));
  EXPECT_TRUE(plan_from_json(with).ok());
}

TEST(PlanJson, not_a_number_is_null) {
  Plan plan = llama();
  plan.stacks[0].layers[0].softmax_scale = std::numeric_limits<double>::quiet_NaN();
  plan.stacks[0].layers[0].soft_cap = SoftCap{std::numeric_limits<double>::infinity(), SoftCap::Order::before_bias};
  const std::string json = to_json(plan);
  EXPECT_THAT(json, HasSubstr("\"softmax_scale\": null"));
  EXPECT_THAT(json, HasSubstr("\"soft_cap\": {\"cap\": null, \"order\": \"before_bias\"}"));
}

// Numbers of a document from another machine may differ in their last bits.
TEST(PlanJson, a_frequency_may_differ_by_rounding) {
  std::string json = to_json(llama());
  const std::size_t at = json.find("\"inv_freq\": [1, ");
  json.replace(at, 16, "\"inv_freq\": [1.0000000000000002, ");
  EXPECT_TRUE(plan_from_json(json).ok());
}

template <typename F>
std::string refusal(F&& change) {
  Plan plan = llama();
  change(plan);
  try {
    (void)to_json(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return "written";
}

TEST(PlanJson, what_json_cannot_hold_is_refused) {
  EXPECT_EQ(refusal([](Plan&) {}), "written");
  EXPECT_EQ(refusal([](Plan& plan) {
              auto& rope = std::get<Rope>(plan.stacks[0].layers[0].rotate[0].scheme);
              rope.dim = 6;
            }).substr(0, 46),
            "[to_json] stacks[0].layers[0].rotate[0].dim mu");
  EXPECT_EQ(refusal([](Plan& plan) { plan.stacks[0].layers[1].heads = 3; }),
            "[to_json] stacks[0].layers[1] must have index and kind only but is of kind state_space with more");
  EXPECT_EQ(refusal([](Plan& plan) { plan.sources.push_back(plan.sources.front()); }),
            "[to_json] sources must name each place once but is two for /stacks/0/layers/0/rotate/0/base");
  EXPECT_EQ(refusal([](Plan& plan) { plan.length = 0; }), "[to_json] length must be at least 1 but is 0");
}

TEST(PlanNames, follow_the_contract) {
  EXPECT_EQ(name(Pairing::interleaved), "interleaved");
  EXPECT_EQ(name(AxisFrequencies::strided), "strided");
  EXPECT_EQ(name(RotationDirection::clockwise), "clockwise");
  EXPECT_EQ(name(SinusoidConvention::xlnet), "xlnet");
  EXPECT_EQ(name(LayerKind::none), "none");
  EXPECT_EQ(name(RotateRole::indexer), "indexer");
  EXPECT_EQ(name(MaskKind::sparse), "sparse");
  EXPECT_EQ(name(SoftCap::Order::before_bias), "before_bias");
  EXPECT_EQ(name(QkNorm::Kind::layer), "layer");
  EXPECT_EQ(name(QkNorm::Order::after), "after");
  EXPECT_EQ(name(QkNorm::Over::all_heads), "all_heads");
  EXPECT_EQ(name(AlibiForm::column_bfloat16), "column_bfloat16");
  EXPECT_EQ(name(Kerple::Form::power), "power");
  EXPECT_EQ(name(SourceKind::preset), "preset");
  EXPECT_EQ(name(static_cast<LayerKind>(200)), "");
}

}  // namespace
}  // namespace posenc::plan_json_test
