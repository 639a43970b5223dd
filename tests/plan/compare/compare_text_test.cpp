// Comparisons in words and in JSON, to the letter, for plans that are made up here; and their limits for all others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "plan/compare/changed_plan.h"
#include "plan/random_plan.h"
#include "posenc/compare.h"

namespace posenc::test::compare_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plan model(std::int64_t layers) {
  Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
  rope.head_dim = rope.dim = 4;
  LayerPlan layer;
  layer.heads = 32;
  layer.kv_heads = 8;
  layer.head_dim = layer.value_dim = 4;
  layer.softmax_scale = 0.5;
  layer.rotate.push_back({RotateRole::main, 32, rope});
  Plan plan;
  plan.known = true;
  plan.family = "llama";
  plan.source = {SourceKind::config_json, "a.json"};
  plan.trained_length = 1001;
  plan.stacks.push_back({"decoder", {}, {}});
  for (std::int64_t l = 0; l < layers; ++l) {
    layer.index = l;
    plan.stacks[0].layers.push_back(layer);
  }
  return plan;
}

Plan other_model() {
  Plan plan = model(5);
  plan.source = {SourceKind::gguf, "b.gguf"};
  for (LayerPlan& layer : plan.stacks[0].layers) {
    if (layer.index % 2 == 0) layer.mask.window = Window{7, 0};
    Rope rope = posenc::rope(layer.rotate[0]);
    rope.pairing = Pairing::interleaved;
    rope.scaling = LinearScaling{4};
    layer.rotate[0].scheme = rope;
  }
  return plan;
}

// inv_freq 1 and 0.01 against 0.25 and 0.0025: pair 0 is apart by 0.75, at position 1000 by 750 radians, 119.366 turns.
TEST(CompareText, is_a_page) {
  EXPECT_EQ(describe(compare(model(4), other_model())),
            R"(differ in substance: mask.window, rotate.pairing, rotate.scaling, number of
  layers
  A  a.json: config.json, family llama, trained on 1001 tokens
  B  b.gguf: gguf, family llama, trained on 1001 tokens

what differs                  A              B
  decoder layers 0, 2
    mask.window               none           past 7, future 0
  decoder layers 0-3
    rotate.pairing            half           interleaved
    rotate.scaling            none           linear, factor 4
  decoder layer 4
    kind                      no such layer  attention

what follows
  decoder layers 0-3: cached keys are not usable as they are (another pairing;
    angles differ by more than the tolerance); with the channels of each head
    reordered, and rotated again by the difference of the angles, they are
  decoder layer 4: cached keys are not usable (only one plan has these layers)
  the hidden states that keys are made from differ all the same, by mask.window
  beyond decoder layer 0 keys are made from hidden states that differ as well:
    fill the cache again
  decoder layers 0-3: A pairs channels half-split (NeoX, rotate_half), B
    interleaved (GPT-J); for one set of weights, rows 2p and 2p+1 of each head
    of q and k in B are rows p and p+2 in A
  a config.json and a GGUF or params.json of the Llama line differ so: the
    conversion permutes those rows
  decoder layers 0-3: inv_freq of pair 0 of 2 is apart by 0.75; its angle by
    more than 0.001 rad from position 1 on, by 750 rad (119.366 turns) at
    position 1000
)");
}

TEST(CompareText, of_equal_plans_is_short) {
  EXPECT_EQ(describe(compare(model(4), model(4))), R"(same in substance
  A  a.json: config.json, family llama, trained on 1001 tokens
  B  a.json: config.json, family llama, trained on 1001 tokens

what follows
  decoder layers 0-3: cached keys are usable as they are
)");
}

TEST(CompareText, lists_of_one_length_and_range_are_told_apart) {
  const auto with_factors = [](double fourth) {
    Plan plan = model(1);
    Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
    rope.head_dim = rope.dim = 16;
    rope.scaling = FactorListScaling{{1, 2, 3, fourth, 5, 6, 7, 8}};
    plan.stacks[0].layers[0].rotate[0].scheme = rope;
    return plan;
  };
  const std::string page = describe(compare(with_factors(4), with_factors(4.5)));
  EXPECT_THAT(page, HasSubstr("A  8 numbers, 1 to 8, [3] is 4\n"));
  EXPECT_THAT(page, HasSubstr("B  8 numbers, 1 to 8, [3] is 4.5\n"));
}

TEST(CompareText, keys_of_another_attention_factor_need_its_ratio) {
  const auto with = [](std::int64_t layers, const Scaling& scaling, std::int64_t from) {
    Plan plan = model(layers);
    for (LayerPlan& layer : plan.stacks[0].layers) {
      Rope rope = posenc::rope(layer.rotate[0]);
      rope.scaling = scaling;
      if (layer.index >= from) layer.rotate[0].scheme = rope;
    }
    return plan;
  };
  YarnScaling yarn;
  yarn.factor = 4;
  yarn.original_max_position_embeddings = 1001;
  yarn.attention_factor = 2;
  const std::string all = describe(compare(model(4), with(4, yarn, 0)));
  EXPECT_THAT(all,
              HasSubstr("; rotated again by the\n    difference of the angles, and with what rotates multiplied by the "
                        "ratio of\n    the attention factors, they are\n"));
  EXPECT_THAT(all, HasSubstr("the attention factor of B is 2 times that of A\n"));
  EXPECT_THAT(all, HasSubstr("beyond decoder layer 0 keys are made from"));
  // Layers below the first that differs keep their inputs; a last one has none above it.
  EXPECT_THAT(describe(compare(model(4), with(4, yarn, 2))), HasSubstr("beyond decoder layer 2 keys are made from"));
  EXPECT_THAT(describe(compare(model(4), with(4, yarn, 3))), Not(HasSubstr("beyond decoder")));
}

TEST(CompareText, a_size_of_0_is_not_known) {
  Plan open = model(1);
  open.known = false;
  open.stacks[0].layers[0].kv_heads = 0;
  EXPECT_THAT(describe(compare(model(1), open)), HasSubstr("kv_heads                  8         not known\n"));
}

TEST(CompareText, fits_a_terminal_whatever_the_plans_say) {
  for (std::uint32_t seed = 0; seed < kRandomPlans; ++seed) {
    const Plan a = RandomPlan(seed).plan();
    const Plan b = seed % 2 == 0 ? with_other_rotations(a) : RandomPlan(seed + kRandomPlans).plan();
    if (!is_sound(b)) continue;
    std::istringstream lines(describe(compare(a, b)));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    }
  }
}

TEST(CompareJson, follows_the_schema_to_the_letter) {
  EXPECT_EQ(to_json(compare(model(4), other_model())),
            R"({
  "schema_version": 2,
  "verdict": "differ",
  "tolerance": 0.001,
  "length": 1001,
  "a": {"name": "a.json", "kind": "config.json", "family": "llama", "known": true, )"
            R"("trained_length": 1001},
  "b": {"name": "b.gguf", "kind": "gguf", "family": "llama", "known": true, "trained_length": 1001},
  "differences": [
    {"kind": "substance", "where_a": "/stacks/0/layers/0,2/mask/window", )"
            R"("where_b": "/stacks/0/layers/0,2/mask/window", "a": null, "b": {"past": 7, "future": 0}},
    {"kind": "substance", "where_a": "/stacks/0/layers/0-3/rotate/0/pairing", )"
            R"("where_b": "/stacks/0/layers/0-3/rotate/0/pairing", "a": "half", "b": "interleaved"},
    {"kind": "substance", "where_a": "/stacks/0/layers/0-3/rotate/0/scaling", )"
            R"("where_b": "/stacks/0/layers/0-3/rotate/0/scaling", "a": null, "b": {"rule": "linear", )"
            R"("factor": 4}},
    {"kind": "substance", "where_a": null, "where_b": "/stacks/0/layers/4/kind", "a": null, )"
            R"("b": "attention"},
    {"kind": "note", "where_a": "/source/kind", "where_b": "/source/kind", "a": "config.json", )"
            R"("b": "gguf"},
    {"kind": "note", "where_a": "/source/name", "where_b": "/source/name", "a": "a.json", )"
            R"("b": "b.gguf"}
  ],
  "cached_keys": [
    {"stack": "decoder", "layers_a": "0-3", "layers_b": "0-3", "use": "reordered_and_rotated", )"
            R"("because": ["pairing", "frequencies"]},
    {"stack": "decoder", "layers_a": null, "layers_b": "4", "use": "not_at_all", )"
            R"("because": ["absent"]}
  ],
  "pairings": [
    {"stack": "decoder", "layers_a": "0-3", "layers_b": "0-3", "rotation": 0, "a": "half", )"
            R"("b": "interleaved", "first_channel": 0, "dim": 4, "rows": [0, 2, 1, 3]}
  ],
  "angles": [
    {"stack": "decoder", "layers_a": "0-3", "layers_b": "0-3", "rotation": 0, "role": "main", )"
            R"("pairs": 2, "pair": 0, "inv_freq_difference": 0.75, "first_position": 1, "end_difference": 750, )"
            R"("attention_factor_ratio": 1}
  ],
  "softmax_scales": []
})");
}

TEST(CompareNames, are_those_of_the_schema) {
  EXPECT_EQ(name(Verdict::same_but_pairing), "same_but_pairing");
  EXPECT_EQ(name(DifferenceKind::note), "note");
  EXPECT_EQ(name(KeyUse::not_at_all), "not_at_all");
  EXPECT_EQ(name(KeyReason::absent), "absent");
  EXPECT_EQ(name(KeyReason::kv_heads), "kv_heads");
  EXPECT_EQ(name(KeyReason::pairing), "pairing");
  EXPECT_EQ(name(KeyReason::added), "added");
  EXPECT_EQ(name(KeyReason::norm_after), "norm_after");
}

}  // namespace
}  // namespace posenc::test::compare_text_test
