// Right ports pass, of every preset, scheme and dtype; spoiled ones fail, and what was done is named.
#include "vectors/ports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "posenc/error.h"
#include "posenc/read_plan.h"
#include "support/all_schemes.h"

namespace posenc::test {
namespace {

// Every kind of layer of a plan.
template <typename F>
void each_kind(const Plan& plan, const F& f) {
  for (const Stack& stack : plan.stacks) {
    for (const LayerRun& run : layer_runs(stack)) {
      const LayerPlan& layer = stack.layers[static_cast<std::size_t>(run.layers.front())];
      const bool cross = layer.kind == LayerKind::cross_attention;
      if (!cross && layer.kind != LayerKind::attention) continue;
      SCOPED_TRACE(plan.source.name + ", " + stack.name + " layer " + std::to_string(layer.index));
      f(make_vectors(plan, {.stack = stack.name, .layer = layer.index, .cross = cross}));
    }
  }
}

Plan plan_of_layer(const LayerPlan& layer) {
  return {.known = true, .source = {.name = "a layer"}, .stacks = {{.name = "decoder", .layers = {layer}}}};
}

constexpr DType kPortTypes[] = {DType::f32, DType::bf16, DType::f16};

TEST(vectors, every_preset_passes_by_the_kernels) {
  double most = 0.0;
  for (const Preset& preset : presets()) {
    each_kind(preset_plan(preset.name), [&](const Vectors& golden) {
      for (const DType dtype : kPortTypes) {
        const PortCheck check = check_port(golden, own_port(golden, dtype).outputs());
        EXPECT_TRUE(check.passes) << describe(check);
        for (const CheckedTensor& one : check.tensors) most = std::max(most, one.over_bound);
      }
    });
  }
  EXPECT_GT(most, 0.05) << "a bound that nothing comes near proves nothing";
  RecordProperty("most", std::to_string(most));
}

TEST(vectors, every_preset_passes_by_code_that_rounds_every_stage) {
  std::map<std::string, double> most;
  for (const Preset& preset : presets()) {
    each_kind(preset_plan(preset.name), [&](const Vectors& golden) {
      if (!is_eager(golden.layer) || golden.find("out") == nullptr) return;
      for (const DType dtype : kPortTypes) {
        const PortCheck check = check_port(golden, eager_port(golden, dtype).outputs());
        EXPECT_TRUE(check.passes) << describe(check);
        for (const CheckedTensor& one : check.tensors) {
          double& largest = most[std::string(name(dtype)) + " " + one.name];
          largest = std::max(largest, one.over_bound);
        }
      }
    });
  }
  for (const auto& [what, over] : most) {
    std::printf("%-15s %.3f of the bound\n", what.c_str(), over);
    EXPECT_GT(over, 0.01) << what;  // tests/support/tolerances.h: observed over bound lies in [0.01, 1]
  }
}

TEST(vectors, every_scheme_has_vectors_that_the_kernels_pass) {
  int held = 0;
  for (const SchemeCase& one : all_schemes()) {
    SCOPED_TRACE(one.name);
    LayerPlan layer = one.layer;
    layer.mask = {.kind = one.side > 0 ? MaskKind::bidirectional : MaskKind::causal};
    Vectors golden;
    try {
      golden = make_vectors(plan_of_layer(layer), {});
    } catch (const Error& error) {
      EXPECT_TRUE(one.batches_only) << error.what();
      continue;
    }
    if (golden.find("out") == nullptr) {
      EXPECT_FALSE(golden.left_out.empty());
      continue;
    }
    for (const DType dtype : kPortTypes) {
      const PortCheck check = check_port(golden, own_port(golden, dtype).outputs());
      EXPECT_TRUE(check.passes) << describe(check);
    }
    ++held;
  }
  EXPECT_GT(held, 40);
}

// ---- spoiled ports ----

struct SpoiledCase {
  const char* preset;
  std::int64_t layer;
  const char* what;
  PortFact fact;
  std::function<void(LayerPlan&)> spoil;
  const char* first_failure;
  std::vector<std::string> outputs{"q_rotated", "k_rotated", "scores", "out"};
};

Rope& rope_in(LayerPlan& layer) { return std::get<Rope>(layer.rotate.front().scheme); }

std::vector<SpoiledCase> spoiled_cases() {
  const auto pairing = [](LayerPlan& l) {
    rope_in(l).pairing = rope_in(l).pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
  };
  const auto no_scaling = [](LayerPlan& l) { rope_in(l).scaling = {}; };
  const auto no_cap = [](LayerPlan& l) { l.soft_cap.reset(); };
  const auto no_sinks = [](LayerPlan& l) { l.sinks = false; };
  const auto base = [](LayerPlan& l) { rope_in(l).base = 10000; };
  const auto scale = [](LayerPlan& l) { l.softmax_scale = 1.0; };
  return {
      {"llama-3.1-8b", 0, "pairing", PortFact::pairing, pairing, "q_rotated"},
      {"glm-4-9b", 0, "pairing", PortFact::pairing, pairing, "q_rotated"},
      {"llama-3.1-8b", 0, "no scaling", PortFact::scaling, no_scaling, "q_rotated"},
      {"deepseek-v3", 0, "no scaling", PortFact::scaling, no_scaling, "q_rotated"},
      {"qwen2.5-7b", 0, "base", PortFact::base, base, "q_rotated"},
      {"gemma-2-9b", 0, "no soft cap", PortFact::soft_cap, no_cap, "scores"},
      {"gemma-2-9b", 0, "no scale", PortFact::scale, scale, "scores"},
      {"gpt-oss-20b", 0, "no sinks", PortFact::sinks, no_sinks, "out"},
      {"llama-2-7b", 0, "no scale", PortFact::scale, scale, "scores"},
  };
}

bool names_fact(const PortCheck& check, PortFact fact) {
  const auto is_it = [&](const PortFinding& finding) { return finding.fact == fact; };
  if (check.diagnosis) return std::ranges::any_of(check.diagnosis->findings, is_it);
  return std::ranges::any_of(check.findings, is_it);
}

TEST(vectors, spoiled_ports_fail_and_are_explained) {
  for (const SpoiledCase& one : spoiled_cases()) {
    SCOPED_TRACE(std::string(one.preset) + ": " + one.what);
    const Vectors golden = make_vectors(preset_plan(one.preset), {.layer = one.layer});
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(name(dtype));
      const Port port = eager_port(golden, dtype, {.layer = one.spoil});
      const PortCheck check = check_port(golden, port.outputs(one.outputs));
      EXPECT_FALSE(check.passes);
      EXPECT_EQ(check.first_failure, one.first_failure) << describe(check);
      EXPECT_TRUE(names_fact(check, one.fact)) << describe(check);
    }
  }
}

struct MaskCase {
  const char* preset;
  std::int64_t layer;
  const char* found;
  PortFact fact;
  std::function<void(LayerPlan&)> spoil;
};

// By the output alone, as of a fused kernel, which has no scores to show.
TEST(vectors, wrong_masks_are_seen_in_the_output_alone) {
  const std::vector<MaskCase> cases = {
      {"gpt-oss-20b", 0, "128 past, off by one", PortFact::window, [](LayerPlan& l) { l.mask.window->past += 1; }},
      {"gpt-oss-20b", 0, "126 past, off by one", PortFact::window, [](LayerPlan& l) { l.mask.window->past -= 1; }},
      {"gpt-oss-20b", 0, "none", PortFact::window, [](LayerPlan& l) { l.mask.window.reset(); }},
      {"gemma-3-4b", 0, "none", PortFact::window, [](LayerPlan& l) { l.mask.window.reset(); }},
      {"llama-3.1-8b", 0, "bidirectional", PortFact::mask, [](LayerPlan& l) { l.mask.kind = MaskKind::bidirectional; }},
      {"bert-base", 0, "causal", PortFact::mask, [](LayerPlan& l) { l.mask.kind = MaskKind::causal; }},
  };
  for (const MaskCase& one : cases) {
    SCOPED_TRACE(std::string(one.preset) + ": " + one.found);
    const Vectors golden = make_vectors(preset_plan(one.preset), {.layer = one.layer});
    for (const DType dtype : kPortTypes) {
      SCOPED_TRACE(name(dtype));
      const PortCheck check = check_port(golden, own_port(golden, dtype, {.layer = one.spoil}).outputs({"out"}));
      EXPECT_EQ(check.first_failure, "out") << describe(check);
      const bool is_named = std::ranges::any_of(check.findings, [&](const PortFinding& finding) {
        return finding.fact == one.fact && finding.found == one.found;
      });
      EXPECT_TRUE(is_named) << describe(check);
    }
  }
}

TEST(vectors, alibi_is_held_in_both_of_its_forms) {
  LayerPlan layer = with_term(Alibi{.heads = kHeads});
  const Vectors golden = make_vectors(plan_of_layer(layer), {});
  const auto spoiled = [](const std::function<void(Alibi&)>& change) {
    return Spoil{.layer = [change](LayerPlan& l) { change(std::get<Alibi>(l.score.front())); }};
  };
  const Port column = eager_port(golden, DType::f32, spoiled([](Alibi& x) { x.form = AlibiForm::column; }));
  const PortCheck check = check_port(golden, column.outputs());
  EXPECT_TRUE(check.passes) << describe(check);
  EXPECT_NE(check.tensors.front().remark, "");
  const Port rising = eager_port(golden, DType::f32, spoiled([](Alibi& x) { x.max_bias = -x.max_bias; }));
  const PortCheck other = check_port(golden, rising.outputs());
  EXPECT_FALSE(other.passes);
  EXPECT_FALSE(names_fact(other, PortFact::slopes) && other.findings.empty()) << describe(other);
}

TEST(vectors, kv_heads_that_are_tiled_are_named) {
  const Vectors golden = make_vectors(preset_plan("llama-3.1-8b"));
  Vectors tiled = golden;
  for (const char* which : {"k", "v"}) {
    VectorTensor& x = *std::ranges::find(tiled.tensors, which, &VectorTensor::name);
    const VectorTensor from = x;
    const std::int64_t heads = golden.layer.heads;
    const std::int64_t kv = golden.layer.kv_heads;
    x.shape[1] = heads;
    x.values.clear();
    for (std::int64_t t = 0; t < from.shape[0]; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto row = from.values.begin() + (t * kv + h % kv) * from.shape[2];
        x.values.insert(x.values.end(), row, row + from.shape[2]);
      }
    }
  }
  tiled.layer.kv_heads = tiled.layer.heads;
  for (const DType dtype : kPortTypes) {
    const PortCheck check = check_port(golden, own_port(tiled, dtype).outputs({"out"}));
    EXPECT_FALSE(check.passes);
    EXPECT_TRUE(names_fact(check, PortFact::kv_heads)) << describe(check);
  }
}

}  // namespace
}  // namespace posenc::test
