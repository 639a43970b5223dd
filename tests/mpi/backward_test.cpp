// The backward pass of the ring: every scheme under masks and documents against the float64 reference of all tokens,
// the same bits from run to run, bytes as the formula says; mistakes are seen; what is refused is refused by all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attend/backward/kernel_gradients.h"
#include "mpi/counted.h"
#include "mpi/dealt.h"
#include "support/all_schemes.h"
#include "support/error_ratio.h"
#include "support/gradient_tolerances.h"

namespace posenc::test::mpi_test {
namespace {

constexpr std::uint64_t kSeed = 3141;
constexpr std::int64_t kTokens = 23;
// Of the schemes; under sanitizers, which make the reference ten times as slow, some. One and three ranks take some
// too.
std::size_t every() {
  if (is_whole()) return 1;
#if defined(__SANITIZE_ADDRESS__)
  return 9;
#else
  return ranks() % 2 == 0 ? 1 : 3;
#endif
}

double largest(const std::vector<double>& x) {
  double out = 0.0;
  for (const double y : x) out = std::max(out, std::abs(y));
  return out;
}

Arrangement arrangement(std::uint64_t turn) {
  const std::vector<Arrangement> all = dealt_arrangements(kTokens);
  return all[turn % all.size()];
}

// One scheme: the call, how it is dealt, and, on one of the ranks, what the reference says and how far off floats may
// be.
struct OneCall {
  std::string name;
  std::unique_ptr<KernelGradients> gradients;
  InFloats rounding;
  Mask mask;
  int judge = 0;
  Gradients wanted{};
  struct Bound {
    double fused;
    double size;  // of the gradient
  };
  std::vector<Bound> bounds{};

  OneCall(const SchemeCase& scheme, const Arrangement& of, std::uint64_t turn)
      : name(scheme.name + ", " + of.name),
        gradients(std::make_unique<KernelGradients>(scheme, of, Places::scattered, kSeed + turn)),
        rounding(gradients->call),
        mask(of.mask),
        judge(static_cast<int>(turn % static_cast<std::uint64_t>(ranks()))) {
    SchemeCall& call = gradients->call;
    for (const auto& [to, from] :
         {std::pair{&call.q, &numbers().q}, {&call.k, &numbers().k}, {&call.v, &numbers().v}}) {
      *to = *from;
    }
    if (rank() == judge) ask_reference();
  }

  bool has_gates() const { return !gradients->call.inputs.log_forget.empty(); }
  const KernelGradients::Numbers& numbers() const { return gradients->numbers(); }

  void ask_reference() {
    wanted = gradients->by_formulas();
    std::vector<double> most(wanted.all.size());
    for (std::uint64_t draw = 0; draw < kGradientDraws; ++draw) {
      const Gradients moved = gradients->moved(kGradientStep, draw);
      for (std::size_t n = 0; n < most.size(); ++n) {
        for (std::size_t e = 0; e < moved.all[n].values.size(); ++e) {
          most[n] = std::max(most[n], std::abs(moved.all[n].values[e] - wanted.all[n].values[e]));
        }
      }
    }
    const LayerPlan& layer = gradients->call.layer;
    GradientSizes sizes{.channels = static_cast<double>(std::max(layer.head_dim, layer.value_dim)),
                        .length = static_cast<double>(kTokens)};
    for (const double lse : gradients->call.by_formulas().lse) {
      if (std::isfinite(lse)) sizes.scores = std::max(sizes.scores, std::abs(lse));
    }
    for (std::size_t n = 0; n < most.size(); ++n) {
      const double size = most[n] / kGradientStep + largest(wanted.all[n].values);
      bounds.push_back(
          {fused_gradient(most[n] / kGradientStep, largest(wanted.all[n].values), sizes, DType::f32), size});
    }
  }

  // Of all ranks together, on the judge alone: the largest error by its bound.
  double ratio(const Dealt& dealt, const BackwardResults& made) const {
    double out = 0.0;
    const auto judged = [&](const std::string& of, const std::vector<double>& own) {
      std::vector<double> all(own.size());
      MPI_Reduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM, judge, MPI_COMM_WORLD);
      if (rank() != judge) return;
      const auto found = std::ranges::find(wanted.all, of, &Gradients::One::name);
      ASSERT_NE(found, wanted.all.end()) << of;
      ASSERT_EQ(found->values.size(), all.size()) << of;
      const Bound& of_one = bounds[static_cast<std::size_t>(found - wanted.all.begin())];
      // Parts add two roundings each time that they are merged, or added.
      const double bound = of_one.fused + 2.0 * dealt.additions() * kFloatRounding * of_one.size;
      for (std::size_t e = 0; e < all.size(); ++e) {
        const double error = std::abs(all[e] - found->values[e]);
        const double is = error == 0.0 ? 0.0 : error / bound;
        if (!(is <= out)) out = is;
      }
    };
    const auto rows = [&](const std::string& of, const std::vector<float>& own, const Shard& shard) {
      const std::int64_t tokens = of == "q" ? gradients->call.sizes.queries : gradients->call.sizes.keys;
      std::vector<double> spread(static_cast<std::size_t>(tokens) * width(of));
      for (std::size_t n = 0; n < own.size(); ++n) {
        spread[static_cast<std::size_t>(shard.rows[n / width(of)]) * width(of) + n % width(of)] =
            static_cast<double>(own[n]);
      }
      judged(of, spread);
    };
    rows("q", made.q, dealt.own_queries());
    rows("k", made.k, dealt.own_keys());
    rows("v", made.v, dealt.own_keys());
    if (has_gates()) rows("log_forget", made.gates, dealt.own_keys());
    for (std::size_t n = 0; n < made.names.size(); ++n) judged(made.names[n], made.learned[n]);
    return out;
  }

  std::size_t width(const std::string& of) const {
    const LayerPlan& layer = gradients->call.layer;
    if (of == "q") return static_cast<std::size_t>(layer.heads * layer.head_dim);
    if (of == "k") return static_cast<std::size_t>(layer.kv_heads * layer.head_dim);
    if (of == "v") return static_cast<std::size_t>(layer.kv_heads * layer.value_dim);
    return static_cast<std::size_t>(layer.heads);
  }
};

TEST(MpiBackward, IsTheReferencesForEveryScheme) {
  ErrorRatio ratio("gradients of a ring");
  const std::vector<Arrangement> arrangements = dealt_arrangements(kTokens);
  std::uint64_t turn = 0;
  std::size_t carried = 0;
  std::size_t calls = 0;
  for (const SchemeCase& scheme : dealt_schemes()) {
    if (!SchemeCall(scheme, arrangements.front(), Places::scattered, kSeed).inputs.row_gate.empty()) continue;
    std::vector<Arrangement> asked{arrangements[turn % arrangements.size()]};
    if (is_whole()) asked = arrangements;
    for (const Arrangement& of : asked) {
      const std::uint64_t own_turn = turn++;
      if (own_turn % every() != 0 && sums(scheme.layer) == 0) continue;
      OneCall one(scheme, of, own_turn);
      SCOPED_TRACE(one.name);
      for (const Dealing dealing : dealings(scheme.layer, own_turn + own_turn / arrangements.size())) {
        Dealt dealt(one.gradients->call, dealing, one.mask);
        const Results forward = dealt.run();
        const std::int64_t before = bytes_sent();
        const BackwardResults made = dealt.run_backward(forward, one.numbers().d_out, one.numbers().d_lse);
        EXPECT_EQ(bytes_sent() - before, made.sent);
        EXPECT_EQ(made, dealt.run_backward(forward, one.numbers().d_out, one.numbers().d_lse));
        const std::vector<RankCost> costs = shard_cost(one.gradients->call.layer, dealt.queries, dealt.keys, one.mask,
                                                       one.gradients->call.inputs.prefix,
                                                       {.has_forget_gates = one.has_gates(),
                                                        .has_segments = !one.gradients->call.inputs.q_segments.empty(),
                                                        .sums_along_keys = sums(scheme.layer) > 0});
        EXPECT_EQ(made.sent, costs[static_cast<std::size_t>(rank())].backward_sent);
        ratio.add(one.ratio(dealt, made), 1.0, one.name);
        carried += sums(scheme.layer);
        ++calls;
      }
    }
  }
  EXPECT_GE(turn, 40U);
  EXPECT_GE(carried, 3U);
  if (rank() == 0) std::printf("gradients of %zu rings on %d ranks\n", calls, ranks());
  ratio.expect();
}

// What others have got wrong, on all ranks alike, so that they agree.
TEST(MpiBackward, MistakesAreSeen) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has no others to mistake";
  using Spoil = std::function<void(Sharding & q, Sharding & k, std::vector<float> & carries)>;
  const auto off = [&](const SchemeCase& scheme, std::uint64_t turn, Dealing dealing, const Spoil& spoil) {
    OneCall one(scheme, arrangement(turn), turn);
    Dealt dealt(one.gradients->call, dealing, one.mask);
    const Results forward = dealt.run();
    Sharding q = dealt.queries;
    Sharding k = dealt.keys;
    std::vector<float> carries = forward.carries;
    spoil(q, k, carries);
    const BackwardResults made =
        dealt.run_backward(forward, one.numbers().d_out, one.numbers().d_lse, [&](mpi::RingBackwardArgs& args) {
          args.sharding = &q;
          args.key_sharding = &k;
          args.carries = carries;
        });
    const double is = one.ratio(dealt, made);
    if (rank() == one.judge) {
      EXPECT_GT(is, 10.0) << scheme.name;
    }
  };
  const auto count = [](Sharding& of) {
    for (Shard& one : of.ranks) std::iota(one.order.begin(), one.order.end(), 0);
  };
  const SchemeCase plain{.name = "ids", .layer = plain_layer()};
  off(plain, 0, Dealing::zigzag, [&](Sharding& q, Sharding& k, auto&) { count(q), count(k); });
  off(plain, 1, Dealing::contiguous, [&](Sharding&, Sharding& k, auto&) { count(k); });
  const SchemeCase rotated{.name = "positions of another rank", .layer = with_rotation(half_rope())};
  off(rotated, 0, Dealing::contiguous, [&](Sharding&, Sharding& k, auto&) {
    const std::vector<double> first = k.ranks.front().positions;
    for (std::size_t r = 0; r < k.ranks.size(); ++r) {
      const std::vector<double>& other = r + 1 < k.ranks.size() ? k.ranks[r + 1].positions : first;
      std::copy_n(other.begin(), std::min(other.size(), k.ranks[r].positions.size()), k.ranks[r].positions.begin());
    }
  });
  for (const SchemeCase& scheme :
       {cases_of(Case<ContextualPosition>{}).front(), cases_of(Case<ForgetGate>{}).front()}) {
    off(scheme, 0, Dealing::contiguous, [&](Sharding&, Sharding&, auto& carries) {
      const auto half = std::ssize(carries) / 2;  // those of other runs
      std::rotate(carries.begin(), carries.begin() + half, carries.end());
    });
  }
}

TEST(MpiBackward, WhatOneRankRefusesAllRefuse) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  OneCall one(scheme, arrangement(0), 0);
  Dealt dealt(one.gradients->call, Dealing::zigzag, one.mask);
  const Results forward = dealt.run();
  const bool is_odd = rank() == ranks() - 1;
  const std::string last = std::to_string(ranks() - 1);
  const auto said = [&](const std::function<void(mpi::RingBackwardArgs&)>& spoil) {
    return error_of([&] {
      (void)dealt.run_backward(forward, one.numbers().d_out, one.numbers().d_lse, [&](mpi::RingBackwardArgs& args) {
        if (is_odd) spoil(args);
      });
    });
  };
  const std::string others =
      "[mpi::attend_ring_backward] args must be accepted by all ranks but is refused by rank " + last;
  const std::string rows = std::to_string(dealt.own_queries().rows.size());
  const auto refused = [&](const std::string& own, const std::function<void(mpi::RingBackwardArgs&)>& spoil) {
    const std::string is = said(spoil);
    if (is_odd) {
      EXPECT_NE(is.find(own), std::string::npos) << is;
    } else {
      EXPECT_EQ(is, others) << own;
    }
  };
  std::vector<float> wide(dealt.q.size() * 4);
  refused("d_out must have rank 3 and " + rows + " rows", [](auto& args) { args.local.d_out.shape[0] -= 1; });
  refused("out must be as attend_ring writes it", [&](auto& args) {
    args.local.out = tensor(wide.data(), {args.local.out.shape[0], args.local.out.shape[1], 1});
  });
  refused("lse must have rank 2", [](auto& args) { args.local.lse = {}; });
  refused("d_k must be f32, in which ranks add", [](auto& args) { args.local.d_k.dtype = DType::f64; });
  refused("d_q must have", [&](auto& args) {
    args.local.d_q = tensor(wide.data(), {args.local.q.shape[0], 1, args.local.q.shape[2]});
  });
  refused("d_v must lie row after row in memory", [](auto& args) { args.local.d_v.strides[0] += 1; });
  refused("d_log_forget must be of log_forget but is of none", [&](auto& args) {
    args.local.d_log_forget = tensor(wide.data(), {std::ssize(dealt.own_keys().rows), args.local.q.shape[1]});
  });
  const NamedGradient unknown{"table", tensor(wide.data(), {4})};
  refused("name must be omitted for a layer that has learned nothing", [&](auto& args) {
    args.local.d_weights = {&unknown, 1};
  });
  refused("keep_going must be omitted", [](auto& args) { args.local.keep_going = [] { return true; }; });
  refused("sharding must deal to", [](auto& args) {
    static const Sharding more = shard({.ranks = ranks() + 1, .tokens = kTokens});
    args.sharding = &more;
  });
  refused("sharding must deal to", [](auto& args) { args.sharding = nullptr; });
  refused("part_rows must be 1 or more but is 0", [](auto& args) { args.part_rows = 0; });
  if (ranks() > 1) {
    const std::string differ =
        "[mpi::attend_ring_backward] call, layer, shardings, dtypes and inputs must be the same on all ranks but is "
        "another "
        "on rank " +
        last + " than on rank 0";
    EXPECT_EQ(said([](auto& args) { args.local.d_k = {}; }), differ);
    EXPECT_EQ(said([](auto& args) { args.local.inputs.length = 7; }), differ);
    EXPECT_EQ(said([](auto& args) { args.part_rows = 4; }), differ);
    EXPECT_EQ(said([&](auto& args) { args.local.k.dtype = args.local.v.dtype = DType::f16; }), differ);
    // One calls the forward pass meanwhile: neither waits for the other.
    EXPECT_NE(error_of([&] {
                if (is_odd) {
                  (void)dealt.run();
                } else {
                  (void)dealt.run_backward(forward, one.numbers().d_out, one.numbers().d_lse);
                }
              }),
              "nothing");
  }
  EXPECT_EQ(said([](auto&) {}), "nothing");
}

// Of keys that the last rank alone sees; no message has gone.
TEST(MpiBackward, GatesThatAreNotFiniteAllRefuse) {
  OneCall one(cases_of(Case<ForgetGate>{}).front(), arrangement(0), 0);
  Dealt dealt(one.gradients->call, Dealing::contiguous, one.mask);
  const Results forward = dealt.run();
  std::vector<float> gates = dealt.gates;
  const bool is_odd = rank() == ranks() - 1;
  const auto expect = [&](const std::string& call, const std::string& is) {
    const std::string begin = "[" + call + "] ";
    if (is_odd) {
      EXPECT_EQ(is,
                begin + "log_forget must be finite, for sums from the start of the sequence but is NaN or infinite");
    } else {
      EXPECT_EQ(is, begin + "args must be accepted by all ranks but is refused by rank " + std::to_string(ranks() - 1));
    }
  };
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    if (is_odd) gates.front() = wrong;
    const std::int64_t before = bytes_sent();
    expect("mpi::attend_ring_backward", error_of([&] {
             (void)dealt.run_backward(
                 forward, one.numbers().d_out, one.numbers().d_lse,
                 [&](mpi::RingBackwardArgs& args) { args.local.inputs.log_forget.data = gates.data(); });
           }));
    std::swap(dealt.gates, gates);
    expect("mpi::attend_ring", error_of([&] { (void)dealt.run(); }));
    std::swap(dealt.gates, gates);
    EXPECT_EQ(bytes_sent(), before);
  }
  EXPECT_EQ(forward, dealt.run());
}

}  // namespace
}  // namespace posenc::test::mpi_test
