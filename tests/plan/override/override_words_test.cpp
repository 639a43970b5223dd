// The grammar of settings, which layers they are for, sources, what follows, and refusals: hostile words among them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/override/overriding.h"
#include "posenc/compare.h"

namespace posenc::test::override_words_test {
namespace {

const Stack& decoder(const Plan& plan) { return plan.stacks.front(); }
const LayerPlan& layer(const Plan& plan, std::size_t place) { return decoder(plan).layers[place]; }
double base_of(const Plan& plan, std::size_t place) { return rope(layer(plan, place).rotate.front()).base; }

// ---- which layers ----

TEST(OverrideWhich, NamesLayersByKindAndNumber) {
  const Plan plan = preset_plan("gemma-3-4b");  // each 6th layer is full
  const Plan full = overridden(plan, {"full:base=7"});
  const Plan sliding = overridden(plan, {"sliding:base=7"});
  const Plan numbers = overridden(plan, {"0-1,5:base=7"});
  const Plan all = overridden(plan, {"all:base=7"});
  const Plan in_stack = overridden(plan, {"decoder/5:base=7"});
  for (std::size_t place = 0; place < decoder(plan).layers.size(); ++place) {
    const bool is_full = place % 6 == 5;
    EXPECT_EQ(base_of(full, place) == 7, is_full) << place;
    EXPECT_EQ(base_of(sliding, place) == 7, !is_full) << place;
    EXPECT_EQ(base_of(numbers, place) == 7, place < 2 || place == 5) << place;
    EXPECT_EQ(base_of(all, place), 7) << place;
    EXPECT_EQ(base_of(in_stack, place) == 7, place == 5) << place;
  }
  EXPECT_EQ(refusal(plan, {"0-999:base=7"}),
            "[override_plan] 'base=7' must be for layers that are there (0 to 33) but is for layer 999");
  // Sliding layers stay those that slid before the first setting.
  const Plan both = overridden(plan, {"window=none", "rope_scaling=none", "sliding:base=7"});
  EXPECT_EQ(base_of(both, 0), 7);
  EXPECT_EQ(base_of(both, 5), 1e6);
}

TEST(OverrideWhich, GivesNamedLayersWhatTheyLack) {
  const Plan plan = preset_plan("llama-2-7b");
  EXPECT_EQ(
      refusal(plan, {"window=128"}),
      "[override_plan] 'window=128' must set what the layers that this word is for has but is without effect: none "
      "has a window (there is: decoder: base, rope_scaling (none), scale, mask, kv_heads)");
  const Plan windowed = overridden(plan, {"0-3:window=128", "all:soft_cap=30", "2:sinks=yes", "1:window=8..2"});
  EXPECT_EQ(layer(windowed, 3).mask.window, (Window{127, 0}));
  EXPECT_EQ(layer(windowed, 1).mask.window, (Window{8, 2}));
  EXPECT_FALSE(layer(windowed, 4).mask.window);
  EXPECT_EQ(layer(windowed, 31).soft_cap->cap, 30);
  EXPECT_TRUE(layer(windowed, 2).sinks);
  EXPECT_FALSE(layer(windowed, 3).sinks);
}

TEST(OverrideWhich, LeavesOtherStacksAlone) {
  const std::string config = R"({"model_type": "qwen2_vl", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096, "rope_theta": 1e6,
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
    "vision_config": {"model_type": "qwen2_vl", "depth": 2, "embed_dim": 64, "num_heads": 2}})";
  const Plan plan = plan_of(config);
  ASSERT_EQ(plan.stacks.size(), 2U);
  const Plan text = overridden(plan, {"base=7"});
  EXPECT_EQ(base_of(text, 0), 7);
  EXPECT_EQ(text.stacks[1], plan.stacks[1]);
  const Plan vision = overridden(plan, {"vision:base=7"});
  EXPECT_EQ(vision.stacks[0], plan.stacks[0]);
  EXPECT_EQ(rope(vision.stacks[1].layers[0].rotate[0]).base, 7);
  // A rule leaves the sections as they are.
  const Plan ruled = overridden(plan, {"rope_scaling=yarn,factor=4"});
  EXPECT_EQ(rope(layer(ruled, 0).rotate[0]).axes, rope(layer(plan, 0).rotate[0]).axes);
  EXPECT_NE(refusal(plan, {"visoin:base=7"}).find("did you mean vision?"), std::string::npos);
}

// ---- sources ----

std::vector<std::string> set_places(const Plan& plan) {
  std::vector<std::string> out;
  for (const ValueSource& source : plan.sources) {
    if (source.from.starts_with("set: ")) out.push_back(source.where + " " + source.from);
  }
  return out;
}

TEST(OverrideSources, SayThatTheUserSetIt) {
  const Plan plan = preset_plan("gemma-3-4b");
  const Plan set = overridden(plan, {"base=5e5", "0-2:window=64", "factor=4"});
  EXPECT_EQ(set_places(set),
            (std::vector<std::string>{"/stacks/0/layers/5,11,17,23,29/rotate/0/base set: base=5e5",
                                      "/stacks/0/layers/0-2/mask/window set: 0-2:window=64",
                                      "/stacks/0/layers/5,11,17,23,29/rotate/0/scaling/factor set: factor=4"}));
  // The others of what was one line keep theirs; each place has one source, or JSON would be refused.
  EXPECT_EQ(source_of(set, "/stacks/0/layers/3-4,6-10,12-16,18-22,24-28,30-33/mask/window"), "/sliding_window");
  const Result<Plan> again = plan_from_json(to_json(set));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(*again == set);
  // What is set twice says the last.
  const Plan twice = overridden(set, {"base=1e5"});
  EXPECT_EQ(source_of(twice, "/stacks/0/layers/5,11,17,23,29/rotate/0/base"), "set: base=1e5");
}

TEST(OverrideSources, ForgetARuleThatIsGone) {
  const Plan set = overridden(preset_plan("deepseek-v3"), {"rope_scaling=linear,factor=2"});
  for (const ValueSource& source : set.sources) {
    EXPECT_EQ(source.where.find("mscale"), std::string::npos) << source.where;
    EXPECT_EQ(source.where.find("beta_fast"), std::string::npos) << source.where;
  }
}

// ---- what follows ----

TEST(OverrideFollows, AttentionFactorAndSoftmaxScale) {
  const Plan plan = preset_plan("deepseek-v3");
  const Plan set = overridden(plan, {"factor=10"});
  const double g = 0.1 * std::log(10.0) + 1;
  EXPECT_DOUBLE_EQ(layer(set, 0).softmax_scale, g * g / std::sqrt(192.0));
  const Plan none = overridden(plan, {"rope_scaling=none"});
  EXPECT_EQ(layer(none, 0).softmax_scale, 1 / std::sqrt(192.0));
  const Plan yarn = overridden(preset_plan("qwen3-8b"), {"rope_scaling=yarn,factor=4"});
  EXPECT_DOUBLE_EQ(frequencies(rope(layer(yarn, 0).rotate[0])).attention_factor, 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(layer(yarn, 0).softmax_scale, 1 / std::sqrt(128.0));
}

TEST(OverrideFollows, IndexersRotateAsTheirLayer) {
  const Plan set = overridden(preset_plan("deepseek-v3.2"), {"base=2e4", "factor=20", "pairing=half"});
  const std::vector<Rotate>& rotate = layer(set, 0).rotate;
  ASSERT_EQ(rotate.size(), 2U);
  EXPECT_EQ(rope(rotate[1]).base, 2e4);
  EXPECT_EQ(std::get<YarnScaling>(rope(rotate[1]).scaling).factor, 20);
  EXPECT_EQ(rope(rotate[0]).pairing.get(), Pairing::half);
  EXPECT_EQ(rope(rotate[1]).pairing, rope(layer(preset_plan("deepseek-v3.2"), 0).rotate[1]).pairing);
}

TEST(OverrideWords, SetEachFact) {
  const Plan plan = preset_plan("llama-3.1-8b");
  const LayerPlan set = layer(overridden(plan, {"pairing=interleaved,direction=clockwise,offset=1",
                                                "mask=bidirectional,scale=0.5", "self_extend=4/1024"}),
                              7);
  const Rope& rotation = rope(set.rotate[0]);
  EXPECT_EQ(rotation.pairing.get(), Pairing::interleaved);
  EXPECT_EQ(rotation.rotation_direction, RotationDirection::clockwise);
  EXPECT_EQ(set.rotate[0].offset, 1);
  EXPECT_EQ(set.mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(set.softmax_scale, 0.5);
  EXPECT_EQ(set.regions, Regions(SelfExtend{.group = 4, .window = 1024}));
  // 1024 channels of distance, of which the last 24 reach into the next chunk: what a config with these keys gives.
  EXPECT_EQ(layer(overridden(plan, {"dual_chunk=1024/24"}), 7).regions,
            Regions(DualChunk{.chunk = 1000, .local = 25, .trained = 1025}));
  EXPECT_EQ(layer(overridden(plan, {"dual_chunk=1024/24", "dual_chunk=none"}), 7).regions, Regions{});
  EXPECT_TRUE(layer(overridden(plan, {"0-3:rope=none"}), 3).rotate.empty());
  EXPECT_FALSE(layer(overridden(plan, {"0-3:rope=none"}), 4).rotate.empty());
  EXPECT_FALSE(layer(overridden(preset_plan("qwen3-8b"), {"qk_norm=none"}), 0).qk_norm);
  EXPECT_EQ(rope(layer(overridden(preset_plan("llama-2-7b"), {"rope_scaling=ntk,alpha=4"}), 0).rotate[0]).scaling,
            Scaling(NtkScaling{.alpha = 4}));
}

// ---- refusals ----

TEST(OverrideRefusals, SayWhatWasExpected) {
  const Plan plan = preset_plan("llama-3.1-8b");
  EXPECT_EQ(
      refusal(plan, {"rope_scalling=none"}),
      "[override_plan] 'rope_scalling=none' must be of a known word but is of another; did you mean rope_scaling?");
  EXPECT_EQ(refusal(plan, {"rope_scaling=yran,factor=2"}),
            "[override_plan] 'rope_scaling=yran' must have one of none, linear, dynamic, yarn, llama3, longrope, ntk, "
            "proportional, qwen_ntk, factors but is yran; did you mean yarn?");
  EXPECT_EQ(
      refusal(plan, {"rope_scaling=linear"}),
      "[override_plan] 'rope_scaling=linear' must have factor=... behind it, which the rule needs, but is without "
      "it");
  EXPECT_EQ(refusal(plan, {"rope_scaling=linear,factor=2,beta_fast=3"}),
            "[override_plan] 'beta_fast=3' must be a parameter of linear (factor) but is none of them");
  EXPECT_EQ(
      refusal(plan, {"beta_fast=3"}),
      "[override_plan] 'beta_fast=3' must set what the layers that this word is for has but is without effect: none "
      "has a rule with beta_fast (there is: decoder: base, rope_scaling (llama3), scale, mask, kv_heads)");
  EXPECT_EQ(refusal(plan, {"base=-1"}),
            "[override_plan] base of decoder, layer 0, must be a finite number of at least 1 but is -1");
  EXPECT_EQ(refusal(plan, {"kv_heads=7"}), "[override_plan] 'kv_heads=7' must divide the 32 heads of layer 0 but is 7");
  EXPECT_EQ(refusal(plan, {"pairing=hlaf"}),
            "[override_plan] 'pairing=hlaf' must have one of half, interleaved, neox, gptj, rotate_half, norm but is "
            "hlaf; did you mean half?");
  EXPECT_EQ(refusal(plan, {"0-3:trained_length=5"}),
            "[override_plan] 'trained_length=5' must be for the whole plan, without layers before it, but is for 0-3=");
  // The plan as a whole: lists and widths that do not fit one another.
  EXPECT_NE(refusal(plan, {"rotary_dim=130"}).find("dim of decoder, layer 0,"), std::string::npos);
  EXPECT_NE(refusal(preset_plan("phi-3.5-mini"), {"rotary_dim=64"}).find("short_factor"), std::string::npos);
  EXPECT_NE(refusal(preset_plan("gpt2"), {"base=1e6"}).find("none has a rotation"), std::string::npos);
  EXPECT_NE(refusal(preset_plan("gpt2"), {"trained_length=2048"}).find("learned tables"), std::string::npos);
}

TEST(OverrideRefusals, TakeNoHostileWord) {
  const Plan plan = preset_plan("llama-3.1-8b");
  const std::vector<std::string> words = {"",
                                          "=",
                                          "base",
                                          "base=",
                                          "=1",
                                          ",",
                                          "base=1,",
                                          ",base=1",
                                          "base=1,,factor=2",
                                          ":base=1",
                                          "full:",
                                          "/full:base=1",
                                          "decoder/:base=1",
                                          "decoder/x:base=1",
                                          "9-3:base=1",
                                          "-1:base=1",
                                          "99999999999999999999:base=1",
                                          "77:base=1",
                                          "base=nan",
                                          "base=inf",
                                          "base=-inf",
                                          "base=1e999",
                                          "base=0x10",
                                          "base= ",
                                          "base=1 2",
                                          "base=[1,2]",
                                          "base=1e400",
                                          "base=1e300",
                                          "factor=0",
                                          "factor=-4",
                                          "original=0",
                                          "original=1.5",
                                          "original=9007199254740993e9",
                                          "original=-1",
                                          "window=0",
                                          "window=-1",
                                          "window=..",
                                          "window=1..",
                                          "window=..2",
                                          "window=1..2..3",
                                          "all:window=99999999999999999999",
                                          "all:window=5..-1",
                                          "kv_heads=0",
                                          "kv_heads=-8",
                                          "kv_heads=1e9",
                                          "rotary_dim=0",
                                          "rotary_dim=3",
                                          "rotary_dim=99999",
                                          "partial=0",
                                          "partial=2",
                                          "partial=nan",
                                          "partial=0.001",
                                          "scale=nan",
                                          "scale=1e300",
                                          "scale=1e-300",
                                          "all:soft_cap=0",
                                          "all:soft_cap=-3",
                                          "causal=maybe",
                                          "mask=sparse",
                                          "rope_scaling=longrope",
                                          "rope_scaling=longrope,short_factor=[1],long_factor=[1]",
                                          "rope_scaling=longrope,short_factor=[1,x],long_factor=[1]",
                                          "rope_scaling=longrope,short_factor=1,long_factor=2",
                                          "rope_scaling=longrope,short_factor=[1,long_factor=[2",
                                          "rope_scaling=factors,factors=[]",
                                          "rope_scaling=none,factor=2",
                                          "rope_scaling=yarn,factor=4,beta_fast=1,beta_slow=32",
                                          "rope_scaling=yarn,factor=1e999",
                                          "rope=half",
                                          "qk_norm=rms",
                                          "self_extend=4",
                                          "self_extend=0/10",
                                          "dual_chunk=10",
                                          "dual_chunk=10/10",
                                          "self_extend=none",
                                          "offset=1e300",
                                          "query_scale=none",
                                          "rope_scaling=yarn,truncate=perhaps",
                                          std::string("base=1\0", 7),
                                          std::string("ba\0se=1", 7),
                                          "base=1\n",
                                          "base=\x1b[31m1",
                                          "b\xff=1",
                                          std::string(100000, 'a'),
                                          std::string(100000, 'a') + "=1",
                                          "base=" + std::string(100000, '9'),
                                          std::string(std::size_t{1} << 20, ','),
                                          "rope_scaling=factors,factors=[" + std::string(200000, '[') + "]",
                                          "rope_scaling=factors,factors=[1" +
                                              [] {
                                                std::string all;
                                                for (int i = 0; i < 60000; ++i) all += ",1";
                                                return all;
                                              }() +
                                              "]"};
  for (const std::string& word : words) {
    const std::string told = refusal(plan, {word});
    EXPECT_TRUE(told.starts_with("[override_plan] ")) << told;
    EXPECT_LT(told.size(), 1000U) << told.substr(0, 200);
    for (const char c : told) EXPECT_TRUE(c >= ' ' && c < 127) << told;
  }
  EXPECT_NE(refusal(plan, std::vector<std::string>(2000, "base=1e6")).find("at most 1024"), std::string::npos);
}

// A plan whose sources are not of our making, as a saved one may have them.
TEST(OverrideRefusals, TakesSourcesOfAnyForm) {
  Plan plan = preset_plan("llama-2-7b");
  for (const char* where :
       {"/stacks/0/layers/0-99999999999/rotate/0/base", "/stacks/0/layers/x/rotate/0/base",
        "/stacks/0/layers/5-1/rotate/0/base", "/stacks/0/layers//rotate/0/base", "/stacks/0/layers/",
        "/stacks/0/layers/0,/rotate/0/base", "/stacks/0/layers/0-/rotate/0/base", "", "base"}) {
    plan.sources.push_back({where, "/x"});
  }
  const Plan set = overridden(plan, {"base=7"});
  EXPECT_EQ(base_of(set, 31), 7);
  EXPECT_EQ(overridden(Plan(set), {"base=8"}).stacks.front().layers.size(), 32U);
  plan.stacks.clear();
  EXPECT_NE(refusal(plan, {"base=7"}).find("layers"), std::string::npos);
}

}  // namespace
}  // namespace posenc::test::override_words_test
