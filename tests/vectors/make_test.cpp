// What vectors hold: inputs that every dtype holds exactly, tokens on both sides of edges, heads in the model's
// relation; what make_vectors and check_port refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "posenc/error.h"
#include "posenc/read_plan.h"
#include "support/throws.h"
#include "vectors/ports.h"

namespace posenc::test {
namespace {

std::vector<double> values_of(const Vectors& golden, const char* name) {
  const VectorTensor* found = golden.find(name);
  return found == nullptr ? std::vector<double>{} : found->values;
}

bool has_all(const std::vector<double>& positions, std::initializer_list<double> wanted) {
  return std::ranges::all_of(wanted, [&](double x) { return std::ranges::count(positions, x) == 1; });
}

TEST(vectors, inputs_are_exact_in_every_dtype) {
  for (const char* preset : {"gpt-oss-20b", "gemma-2-9b", "t5-base", "llama-3.1-8b"}) {
    const Plan plan = preset_plan(preset);
    const Vectors golden = make_vectors(plan, {.stack = plan.stacks.back().name, .layer = 1});
    for (const VectorTensor& tensor : golden.tensors) {
      if (!tensor.is_input || tensor.is_whole) continue;
      double sum = 0.0;
      for (const double x : tensor.values) {
        int exponent = 0;
        const double mantissa = std::frexp(x, &exponent) * 128;  // 7 bits
        EXPECT_EQ(mantissa, std::nearbyint(mantissa)) << tensor.name;
        EXPECT_TRUE(x == 0.0 || exponent > -14) << tensor.name;  // no subnormal number of float16
        sum += x;
      }
      EXPECT_NE(sum, 0.0) << tensor.name;
    }
  }
}

TEST(vectors, tokens_stand_on_both_sides_of_edges) {
  const auto positions = [](const char* preset, std::int64_t layer) {
    return values_of(make_vectors(preset_plan(preset), {.layer = layer}), "positions");
  };
  EXPECT_TRUE(has_all(positions("gpt-oss-20b", 0), {0, 1, 127, 128}));        // its window is 128
  EXPECT_TRUE(has_all(positions("gemma-2-9b", 0), {0, 1, 4095, 4096}));       // 4096
  EXPECT_TRUE(has_all(positions("phi-3-mini-128k", 0), {4095, 4096}));        // LongRoPE's original length
  EXPECT_TRUE(has_all(positions("internlm3-8b", 0), {32767, 32768, 65536}));  // dynamic NTK's
  const Plan t5 = preset_plan("t5-base");
  EXPECT_TRUE(has_all(values_of(make_vectors(t5, {.stack = "decoder", .layer = 0}), "positions"), {15, 16, 127, 128}));
}

TEST(vectors, windows_hide_what_is_one_further_back) {
  const Vectors golden = make_vectors(preset_plan("gpt-oss-20b"), {.layer = 0});
  const std::vector<double> positions = values_of(golden, "positions");
  const std::vector<double> mask = values_of(golden, "mask");
  const std::size_t tokens = positions.size();
  for (std::size_t i = 0; i < tokens; ++i) {
    for (std::size_t j = 0; j < tokens; ++j) {
      const double distance = positions[i] - positions[j];
      EXPECT_EQ(mask[i * tokens + j] != 0.0, distance >= 0 && distance < 128);
    }
  }
}

TEST(vectors, a_start_and_a_number_of_tokens_are_kept_to) {
  const Vectors golden = make_vectors(preset_plan("llama-2-7b"), {.tokens = 5, .start = 100});
  EXPECT_EQ(values_of(golden, "positions"), (std::vector<double>{100, 101, 102, 103, 104}));
  EXPECT_EQ(golden.options.length, 105);
}

TEST(vectors, heads_keep_their_relation) {
  const Vectors grouped = make_vectors(preset_plan("llama-3.1-8b"));
  EXPECT_EQ(grouped.layer.heads, 8);
  EXPECT_EQ(grouped.layer.kv_heads, 2);
  EXPECT_EQ(grouped.plan_heads, 32);
  const Vectors alone = make_vectors(preset_plan("llama-2-7b"));
  EXPECT_EQ(alone.layer.heads, 2);
  EXPECT_EQ(alone.layer.kv_heads, 2);
}

TEST(vectors, cos_and_sin_are_those_of_the_positions) {
  const Vectors golden = make_vectors(preset_plan("gpt-oss-20b"), {.layer = 1});
  const std::vector<double> positions = values_of(golden, "positions");
  const std::vector<double> inv_freq = values_of(golden, "inv_freq");
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::size_t p = 0; p < inv_freq.size(); ++p) {
      const double angle = positions[t] * inv_freq[p];
      const double factor = golden.attention_factor.front();
      EXPECT_NEAR(values_of(golden, "cos")[t * inv_freq.size() + p], factor * std::cos(angle), 1e-12);
      EXPECT_NEAR(values_of(golden, "sin")[t * inv_freq.size() + p], factor * std::sin(angle), 1e-12);
    }
  }
}

TEST(vectors, what_cannot_be_made_is_refused_by_name) {
  const Plan gemma = preset_plan("gemma-2-9b");
  EXPECT_THROW((void)make_vectors(gemma), Error);
  try {
    (void)make_vectors(gemma);
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().field, "layer");
    EXPECT_NE(std::string(error.what()).find("layers differ"), std::string::npos);
  }
  const Plan llama = preset_plan("llama-2-7b");
  EXPECT_ERROR((void)make_vectors(llama, {.stack = "vision"}),
               "[make_vectors] stack must be one of the plan's: decoder but is \"vision\"");
  EXPECT_ERROR((void)make_vectors(llama, {.layer = 32}), "[make_vectors] layer must be one of the plan's but is 32");
  EXPECT_ERROR((void)make_vectors(llama, {.tokens = 0}), "[make_vectors] tokens must be from 1 to 256 but is 0");
  EXPECT_ERROR((void)make_vectors(llama, {.tokens = 257}), "[make_vectors] tokens must be from 1 to 256 but is 257");
  EXPECT_ERROR((void)make_vectors(llama, {.start = -1}),
               "[make_vectors] start must be from 0 to 1099511627776 but is -1");
  EXPECT_ERROR((void)make_vectors(llama, {.length = 0}), "[make_vectors] length must be at least 1 but is 0");
  EXPECT_ERROR((void)make_vectors(llama, {.cross = true}),
               "[make_vectors] plan must have cross-attention but is attention");
  Plan unknown = llama;
  unknown.stacks.front().known = false;
  unknown.stacks.front().unknown = {"the pairing"};
  EXPECT_ERROR((void)make_vectors(unknown),
               "[make_vectors] stack must have positions that are known but is the pairing");
  unknown.stacks.front().layers.clear();  // as read_plan leaves a stack that it could not read
  EXPECT_ERROR((void)make_vectors(unknown, {.layer = 0}),
               "[make_vectors] stack must have positions that are known but is the pairing");
  Plan wide = llama;
  for (LayerPlan& layer : wide.stacks.front().layers) layer.head_dim = layer.value_dim = 1 << 28;
  EXPECT_THROW((void)make_vectors(wide), Error);
}

TEST(vectors, a_norm_behind_the_rotation_leaves_scores_out) {
  Plan plan = preset_plan("llama-2-7b");
  for (LayerPlan& layer : plan.stacks.front().layers) layer.qk_norm = QkNorm{.order = QkNorm::Order::after};
  const Vectors golden = make_vectors(plan);
  EXPECT_NE(golden.find("q_rotated"), nullptr);
  EXPECT_EQ(golden.find("scores"), nullptr);
  ASSERT_EQ(golden.left_out.size(), 1U);
}

TEST(vectors, check_port_refuses_what_does_not_fit) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 4});
  const std::vector<float> numbers(1000);
  const auto check = [&](std::vector<NamedTensor> outputs) { (void)check_port(golden, outputs); };
  EXPECT_ERROR(check({}),
               "[check_port] outputs must have one of inv_freq, cos, sin, q_rotated, k_rotated, scores, out at least "
               "but is empty");
  EXPECT_ERROR(check({{"q", tensor(numbers.data(), {4, 2, 64})}}),
               "[check_port] outputs[\"q\"] must be a result of the vectors: inv_freq, cos, sin, q_rotated, k_rotated, "
               "scores, out but is none");
  EXPECT_ERROR(check({{"out", tensor(numbers.data(), {4, 3, 64})}}),
               "[check_port] outputs[\"out\"] must have shape [4, 2, 64] (tokens, heads, value_dim) but is [4, 3, 64]");
  const ConstTensorView fits = tensor(numbers.data(), {4, 2, 64});
  EXPECT_ERROR(check({{"out", fits}, {"out", fits}}),
               "[check_port] outputs[\"out\"] must be given once but is given again");
}

TEST(vectors, other_orders_of_axes_are_seen) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 4});
  const VectorTensor& expected = *golden.find("q_rotated");
  const auto at = [&](std::size_t t, std::size_t h, std::size_t c) { return expected.values[(t * 2 + h) * 64 + c]; };
  std::vector<double> heads_first;
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t c = 0; c < 64; ++c) heads_first.push_back(at(t, h, c));
    }
  }
  const double* const first = heads_first.data();
  const double* const own = expected.values.data();
  const auto layout = [&](const ConstTensorView& view) {
    const PortCheck check = check_port(golden, std::vector<NamedTensor>{{"q_rotated", view}});
    EXPECT_TRUE(check.passes);
    return check.tensors.front().layout;
  };
  EXPECT_EQ(layout(tensor(own, {4, 2, 64})), "tokens, heads, head_dim");
  EXPECT_EQ(layout(tensor(own, {1, 4, 2, 64})), "tokens, heads, head_dim");
  EXPECT_EQ(layout(tensor(first, {2, 4, 64})), "heads, tokens, head_dim");
  EXPECT_EQ(layout(tensor(first, {1, 2, 4, 64})), "heads, tokens, head_dim");
  EXPECT_EQ(layout(tensor(own, {4, 128})), "tokens, heads and channels on one axis");
  EXPECT_EQ(layout(tensor(own, {1, 4, 128})), "tokens, heads and channels on one axis");
}

// Queries that were not rotated, as [batch, heads, tokens, head_dim].
TEST(vectors, other_orders_of_axes_are_diagnosed) {
  const Vectors golden = make_vectors(preset_plan("llama-3.1-8b"));
  const VectorTensor& q = *golden.find("q");
  const ConstTensorView own = tensor(q.values.data(), {1, q.shape[0], q.shape[1], q.shape[2]});
  std::vector<double> heads_first;
  for (std::int64_t h = 0; h < q.shape[1]; ++h) {
    for (std::int64_t t = 0; t < q.shape[0]; ++t) {
      const auto from = q.values.begin() + (t * q.shape[1] + h) * q.shape[2];
      heads_first.insert(heads_first.end(), from, from + q.shape[2]);
    }
  }
  const ConstTensorView first = tensor(std::as_const(heads_first).data(), {1, q.shape[1], q.shape[0], q.shape[2]});
  for (const ConstTensorView& view : {own, first}) {
    const PortCheck check = check_port(golden, std::vector<NamedTensor>{{"q_rotated", view}});
    ASSERT_TRUE(check.diagnosis.has_value()) << describe(check);
    EXPECT_EQ(check.diagnosis->verdict, PortVerdict::differs);
    ASSERT_FALSE(check.diagnosis->findings.empty());
    EXPECT_EQ(check.diagnosis->findings.front().fact, PortFact::rotation);
  }
}

TEST(vectors, a_nan_fails_and_is_named) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 4});
  std::vector<double> values = golden.find("out")->values;
  values[130] = std::nan("");
  const PortCheck check =
      check_port(golden, std::vector<NamedTensor>{{"out", tensor(std::as_const(values).data(), {4, 2, 64})}});
  EXPECT_FALSE(check.passes);
  EXPECT_EQ(check.tensors.front().worst, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_TRUE(std::isinf(check.tensors.front().over_bound));
}

// Scores before the mask have numbers everywhere; behind it, none where the layer hides a key.
TEST(vectors, scores_are_held_before_and_behind_the_mask) {
  const Vectors golden = make_vectors(preset_plan("pythia-410m"), {.tokens = 4});
  const auto verdict = [&](double first_hidden, double other_hidden) {
    std::vector<double> scores = golden.find("scores")->values;
    bool is_first = true;
    for (double& x : scores) {
      if (std::isfinite(x)) continue;
      x = is_first ? first_hidden : other_hidden;
      is_first = false;
    }
    return check_port(golden, std::vector<NamedTensor>{{"scores", tensor(std::as_const(scores).data(), {2, 4, 4})}});
  };
  EXPECT_TRUE(verdict(0.5, 0.25).passes);
  EXPECT_TRUE(verdict(-HUGE_VAL, -65504.0).passes);
  const PortCheck half = verdict(0.5, -1e9);
  EXPECT_FALSE(half.passes);
  EXPECT_NE(half.tensors.front().remark, "");
}

}  // namespace
}  // namespace posenc::test
