// What attend_backward refuses, before anything is written; what is hidden stays hidden; and how a call is cancelled.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "posenc/error.h"
#include "support/every_isa.h"
#include "support/random_tensor.h"
#include "support/throws.h"

namespace posenc::test::backward_refusals_test {
namespace {

constexpr std::int64_t kTokens = 70;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kKvHeads = 2;
constexpr std::int64_t kDim = 16;

// A causal layer with T5's biases and sinks, and all that a call of it may have.
struct Call {
  LayerPlan layer{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kDim, .value_dim = kDim, .softmax_scale = 0.25};
  std::vector<float> q, k, v, out, lse, d_out, d_lse, d_q, d_k, d_v, table, d_table, sinks, d_sinks, inv_freq;
  std::vector<NamedGradient> named;
  AttendBackwardArgs args;

  Call() {
    layer.sinks = true;
    layer.score = {T5Bias{.buckets = 8, .max_distance = 20}};
    layer.rotate = {Rotate{.scheme = Rope{.pairing = Pairing::half, .head_dim = kDim, .dim = kDim}}};
    Random random(5);
    const auto drawn = [&](std::int64_t count) {
      std::vector<float> x(static_cast<std::size_t>(count));
      for (float& y : x) y = static_cast<float>(random.number());
      return x;
    };
    q = drawn(kTokens * kHeads * kDim);
    k = drawn(kTokens * kKvHeads * kDim);
    v = drawn(kTokens * kKvHeads * kDim);
    out = d_q = q;
    d_k = d_v = k;
    d_out = drawn(kTokens * kHeads * kDim);
    lse = d_lse = drawn(kTokens * kHeads);
    table = d_table = drawn(8 * kHeads);
    sinks = d_sinks = drawn(kHeads);
    inv_freq = drawn(kDim / 2);
    named = {{"table", tensor(d_table.data(), {8, kHeads})},
             {"sinks", tensor(d_sinks.data(), {kHeads})},
             {"inv_freq", tensor(inv_freq.data(), {kDim / 2})}};
    const auto heads = [](std::vector<float>& x, std::int64_t count) {
      return tensor(x.data(), {kTokens, count, kDim});
    };
    args = {.q = heads(q, kHeads),
            .k = heads(k, kKvHeads),
            .v = heads(v, kKvHeads),
            .weights = {.score = {T5Weights{tensor(std::as_const(table).data(), {8, kHeads})}},
                        .sinks = tensor(std::as_const(sinks).data(), {kHeads})},
            .out = heads(out, kHeads),
            .lse = tensor(std::as_const(lse).data(), {kTokens, kHeads}),
            .d_out = heads(d_out, kHeads),
            .d_lse = tensor(std::as_const(d_lse).data(), {kTokens, kHeads}),
            .d_q = heads(d_q, kHeads),
            .d_k = heads(d_k, kKvHeads),
            .d_v = heads(d_v, kKvHeads),
            .d_weights = named};
    forward();
  }
  void forward() {
    (void)attend(layer, {.out = tensor(out.data(), {kTokens, kHeads, kDim}),
                         .q = args.q,
                         .k = args.k,
                         .v = args.v,
                         .weights = args.weights,
                         .inputs = args.inputs,
                         .lse = tensor(lse.data(), {kTokens, kHeads})});
  }
};

// Each spoils a call that is right, which must then be refused by that field's name and leave what it would write.
struct Spoilt {
  std::string field;
  std::function<void(Call&)> by;
};

std::vector<Spoilt> spoilt() {
  return {
      {"out", [](Call& c) { c.args.out = {}; }},
      {"lse", [](Call& c) { c.args.lse = {}; }},
      {"d_out", [](Call& c) { c.args.d_out = {}; }},
      {"q", [](Call& c) { c.args.q.rank = 2; }},
      {"k", [](Call& c) { c.args.k.shape[1] = 3; }},
      {"d_out", [](Call& c) { c.args.d_out.shape[2] = 8; }},
      {"d_out.dtype", [](Call& c) { c.args.d_out.dtype = DType::f64; }},
      {"d_out.dtype", [](Call& c) { c.args.d_out.dtype = static_cast<DType>(77); }},
      {"d_out.strides[2]", [](Call& c) { c.args.d_out.strides[2] = 2; }},
      {"d_out.data", [](Call& c) { c.args.d_out.data = nullptr; }},
      {"d_lse", [](Call& c) { c.args.d_lse.shape[0] = 3; }},
      {"d_lse.dtype", [](Call& c) { c.args.d_lse.dtype = DType::f16; }},
      {"carry", [](Call& c) { c.args.carry = c.args.d_lse; }},  // T5 sums nothing along the keys
      {"d_carry",
       [](Call& c) {
         c.args.d_carry = tensor(c.d_lse.data(), {kTokens, kHeads});
       }},
      {"d_q", [](Call& c) { c.args.d_q.shape[0] = 1; }},
      {"d_q.dtype", [](Call& c) { c.args.d_q.dtype = DType::f64; }},
      {"d_q.strides[2]", [](Call& c) { c.args.d_q.strides[2] = 3; }},
      {"d_k", [](Call& c) { c.args.d_k.rank = 4; }},
      {"d_k", [](Call& c) { c.args.d_k.rank = -1; }},
      {"d_v", [](Call& c) { c.args.d_v.shape[2] = 17; }},
      {"d_v.data", [](Call& c) { c.args.d_v.data = reinterpret_cast<char*>(c.d_v.data()) + 1; }},
      {"d_q", [](Call& c) { c.args.d_q.strides[0] = 0; }},
      {"d_q", [](Call& c) { c.args.d_q.data = c.q.data(); }},
      {"d_k", [](Call& c) { c.args.d_k.data = c.v.data(); }},
      {"d_v", [](Call& c) { c.args.d_v.data = c.d_k.data(); }},
      {"d_q", [](Call& c) { c.args.d_q.data = c.d_out.data(); }},
      {"d_bias",
       [](Call& c) {
         c.args.d_bias = tensor(c.d_q.data(), {kTokens, kTokens});
       }},
      {"d_log_forget",
       [](Call& c) {
         c.args.d_log_forget = tensor(c.d_q.data(), {kTokens, kHeads});
       }},
      {"d_row_gate",
       [](Call& c) {
         c.args.d_row_gate = tensor(c.d_q.data(), {kTokens, kHeads});
       }},
      {"d_weights[\"tables\"]", [](Call& c) { c.named[0].name = "tables"; }},
      {"d_weights[\"table\"]", [](Call& c) { c.named[1] = c.named[0]; }},
      {"d_weights[\"table\"]", [](Call& c) { c.named[0].gradient.shape[0] = 9; }},
      {"d_weights[\"table\"].dtype", [](Call& c) { c.named[0].gradient.dtype = DType::bf16; }},
      {"d_weights[\"table\"].data", [](Call& c) { c.named[0].gradient.data = nullptr; }},
      {"d_weights[\"sinks\"]", [](Call& c) { c.named[1].gradient.data = c.sinks.data(); }},
      {"d_weights[\"inv_freq\"]", [](Call& c) { c.named[2].gradient.strides[0] = 0; }},
      {"isa", [](Call& c) { c.args.isa = static_cast<Isa>(99); }},
      {"sinks", [](Call& c) { c.args.weights.sinks = {}; }},
  };
}

TEST(BackwardRefusals, NameTheFieldAndWriteNothing) {
  for (const Spoilt& one : spoilt()) {
    SCOPED_TRACE(one.field);
    Call call;
    const auto before = std::pair{call.d_q, call.d_table};
    one.by(call);
    try {
      (void)attend_backward(call.layer, call.args);
      ADD_FAILURE() << "is not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(one.field.substr(0, one.field.find('['))), std::string::npos)
          << error.what();
    }
    EXPECT_EQ((std::pair{call.d_q, call.d_table}), before);
  }
}

// Gradients that are not asked for change none that are.
TEST(BackwardRefusals, EachGradientMayBeOmitted) {
  Call all;
  ASSERT_TRUE(attend_backward(all.layer, all.args));
  for (int left = 0; left < 6; ++left) {
    Call call;
    TensorView* const of[] = {&call.args.d_q, &call.args.d_k, &call.args.d_v};
    for (int n = 0; n < 3; ++n) {
      if (n != left) *of[n] = {};
    }
    if (left < 3) {
      call.args.d_weights = {};
    } else {
      call.args.d_weights = std::span(call.named).subspan(static_cast<std::size_t>(left - 3), 1);
    }
    ASSERT_TRUE(attend_backward(call.layer, call.args));
    if (left == 0) {
      EXPECT_EQ(call.d_q, all.d_q);
    }
    if (left == 1) {
      EXPECT_EQ(call.d_k, all.d_k);
    }
    if (left == 2) {
      EXPECT_EQ(call.d_v, all.d_v);
    }
    if (left == 3) {
      EXPECT_EQ(call.d_table, all.d_table);
    }
    if (left == 4) {
      EXPECT_EQ(call.d_sinks, all.d_sinks);
    }
    if (left == 5) {
      EXPECT_EQ(call.inv_freq, all.inv_freq);
    }
  }
}

TEST(BackwardRefusals, KeepGoingCancels) {
  for (const std::int64_t threads : {1, 2, 4}) {
    Call call;
    int asked = 0;
    call.args.parallel.threads = threads;
    call.args.keep_going = [&] { return ++asked < 2; };
    EXPECT_FALSE(attend_backward(call.layer, call.args));
    call.args.keep_going = [&]() -> bool { throw std::runtime_error("enough"); };
    EXPECT_THROW((void)attend_backward(call.layer, call.args), std::runtime_error);
  }
}

// Keys that a mask hides from all, and queries that see nothing, may hold NaN: no other gradient has any.
TEST(BackwardRefusals, WhatIsHiddenMayHoldAnything) {
  for (const Isa isa : every_isa("attend_backward, hidden NaN")) {
    Call clean;
    Call call;
    std::vector<std::int64_t> q_order(kTokens);
    std::vector<std::int64_t> k_order(kTokens);
    for (std::int64_t t = 0; t < kTokens; ++t)
      q_order[static_cast<std::size_t>(t)] = k_order[static_cast<std::size_t>(t)] = t;
    for (const std::int64_t hidden : {3, 40, 69}) k_order[static_cast<std::size_t>(hidden)] = 1000;
    q_order[9] = -5;  // sees nothing
    for (Call* one : {&clean, &call}) {
      one->layer.score.clear();
      one->args.weights.score.clear();
      one->args.d_weights = std::span(one->named).subspan(1, 1);
      one->args.inputs.q_order = q_order;
      one->args.inputs.k_order = k_order;
      one->args.isa = isa;
    }
    for (const std::int64_t hidden : {3, 40, 69}) {
      for (std::int64_t c = 0; c < kKvHeads * kDim; ++c) {
        call.k[static_cast<std::size_t>(hidden * kKvHeads * kDim + c)] = NAN;
        call.v[static_cast<std::size_t>(hidden * kKvHeads * kDim + c)] = INFINITY;
      }
    }
    for (std::int64_t c = 0; c < kHeads * kDim; ++c) {
      call.q[static_cast<std::size_t>(9 * kHeads * kDim + c)] = NAN;
      call.d_out[static_cast<std::size_t>(9 * kHeads * kDim + c)] = NAN;
    }
    for (Call* one : {&clean, &call}) {
      one->forward();
      ASSERT_TRUE(attend_backward(one->layer, one->args));
    }
    const auto expect_near = [](const std::vector<float>& is, const std::vector<float>& wanted) {
      for (std::size_t n = 0; n < is.size(); ++n) ASSERT_NEAR(is[n], wanted[n], 1e-5) << n;
    };
    expect_near(call.d_q, clean.d_q);
    expect_near(call.d_k, clean.d_k);
    expect_near(call.d_v, clean.d_v);
    expect_near(call.d_sinks, clean.d_sinks);
  }
}

}  // namespace
}  // namespace posenc::test::backward_refusals_test
