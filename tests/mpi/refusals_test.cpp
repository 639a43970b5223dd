// What one rank refuses of the ring's and the tree's arguments all refuse, and where ranks disagree, all say so.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "math/learned_tensors.h"
#include "mpi/dealt.h"
#include "support/all_schemes.h"

namespace posenc::test::mpi_test {
namespace {

constexpr std::uint64_t kSeed = 92;
constexpr std::int64_t kTokens = 23;

const Arrangement kCausal{.name = "dealt", .mask = {.kind = MaskKind::causal}, .queries = kTokens, .keys = kTokens};

bool is_odd() { return rank() == ranks() - 1; }
std::string last() { return std::to_string(ranks() - 1); }

// Where the last rank alone is given something else.
void expect_refused(const std::string& where, const std::string& own, const std::string& said) {
  if (is_odd()) {
    EXPECT_NE(said.find(own), std::string::npos) << said;
  } else {
    EXPECT_EQ(said, "[" + where + "] args must be accepted by all ranks but is refused by rank " + last()) << own;
  }
}

void expect_others(const std::string& where, const std::string& said) {
  if (ranks() == 1) return;
  EXPECT_EQ(said,
            "[" + where +
                "] call, layer, shardings, dtypes and inputs must be the same on all ranks but is another on rank " +
                last() + " than on rank 0");
}

TEST(Mpi, WhatOneRankRefusesOfARingAllRefuse) {
  const std::string where = "mpi::attend_ring";
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  Dealt dealt(call, Dealing::zigzag, {});
  std::vector<float> wide(dealt.q.size() * 4);
  const auto said = [&](const std::function<void(mpi::RingArgs&)>& spoil) {
    return error_of([&] {
      (void)dealt.run([&](mpi::RingArgs& args) {
        if (is_odd()) spoil(args);
      });
    });
  };
  const auto refused = [&](const std::string& own, const std::function<void(mpi::RingArgs&)>& spoil) {
    expect_refused(where, own, said(spoil));
  };
  const std::string rows = std::to_string(dealt.own_queries().rows.size());
  const std::string k_rows = std::to_string(dealt.own_keys().rows.size());
  refused("q must have rank 3 and " + rows + " rows", [](auto& args) { args.local.q.shape[0] -= 1; });
  refused("q must be of shape [" + rows + ", 4, 8]", [&](auto& args) {
    args.local.q = tensor(wide.data(), {args.local.q.shape[0], 2, 8});
  });
  refused("k must have rank 3 and " + k_rows + " rows but is of rank 0", [](auto& args) { args.local.k = {}; });
  refused("v must be of shape [" + k_rows + ", 2, 6]", [&](auto& args) {
    args.local.v = tensor(wide.data(), {args.local.v.shape[0], 2, 5});
  });
  refused("v must point to its numbers but is null", [](auto& args) { args.local.v.data = nullptr; });
  refused("k must lie row after row in memory", [](auto& args) { args.local.k.strides[0] += 1; });
  refused("out must be of shape [" + rows + ", 4, 6]", [](auto& args) { args.local.out.shape[2] = 5; });
  refused("out must be f32, f16 or bf16 but is f64", [](auto& args) { args.local.out.dtype = DType::f64; });
  refused("lse must be of shape [" + rows + ", 4]", [](auto& args) { args.local.lse.shape[1] = 1; });
  refused("lse must be f32 but is bf16", [](auto& args) { args.local.lse.dtype = DType::bf16; });
  refused("local must have neither pages nor carry", [&](auto& args) {
    args.local.carry = tensor(wide.data(), {1, 1});
  });
  refused("local.keep_going must be omitted", [](auto& args) { args.local.keep_going = [] { return true; }; });
  refused("part_rows must be 1 or more but is 0", [](auto& args) { args.part_rows = 0; });
  refused("sharding must deal to", [](auto& args) { args.sharding = nullptr; });
  Sharding broken = dealt.queries;
  broken.ranks.front().order.pop_back();
  refused(
      "sharding must have rows that ascend, an order, a document and positions of each, and cu_seqlens from 0 to their "
      "count but is otherwise of rank 0",
      [&](auto& args) { args.sharding = args.key_sharding = &broken; });
  const auto refused_rows = [&](const std::string& own, const std::function<void(Shard&)>& spoil) {
    broken = dealt.queries;
    spoil(broken.ranks.back());
    refused(own, [&](auto& args) { args.key_sharding = &broken; });
  };
  const std::string ill = "key_sharding must have rows that ascend, an order";
  refused_rows(ill, [](Shard& one) { one.cu_seqlens.back() += 1; });
  refused_rows(ill, [](Shard& one) { one.rows.back() = kTokens; });
  refused_rows(ill, [](Shard& one) { one.rows.front() = -1; });
  refused_rows(ill, [](Shard& one) { std::swap(one.rows.front(), one.rows.back()); });
  refused_rows(ill, [](Shard& one) { one.documents.back() = 1; });
  refused_rows("key_sharding must give each token to one rank", [&](Shard& one) {
    if (ranks() > 1) one.rows.front() = dealt.queries.ranks.front().rows.front();
    if (ranks() == 1) broken.tokens += 1;
  });
  refused("log_forget", [&](auto& args) {
    args.local.inputs.log_forget = tensor(wide.data(), {args.local.k.shape[0], args.local.q.shape[1]});
  });
  // What is computed of a part is written while others are still to be read, or on their way.
  refused("out must not share memory with q but is memory of both",
          [](auto& args) { args.local.out.data = const_cast<void*>(args.local.q.data); });
  refused("out must not share memory with k", [](auto& args) {
    args.local.out.data = static_cast<float*>(const_cast<void*>(args.local.k.data)) + args.local.k.shape[0] - 1;
  });
  refused("lse must not share memory with out", [](auto& args) { args.local.lse.data = args.local.out.data; });
  refused("local must have no k_quantised or v_quantised", [](auto& args) { args.local.k_quantised.rank = 3; });
  const auto other = [&](const std::function<void(mpi::RingArgs&)>& spoil) { expect_others(where, said(spoil)); };
  other([](auto& args) { args.part_rows = 4; });
  other([](auto& args) { args.local.angles = Angles::float32; });
  other([](auto& args) { args.local.products = Products::bf16; });
  other([](auto& args) { args.local.inputs.length = 7; });
  other([](auto& args) { args.local.k.dtype = args.local.v.dtype = DType::f16; });
  const Sharding other_dealing = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = kTokens});
  if (other_dealing.ranks.back().rows.size() == dealt.keys.ranks.back().rows.size()) {  // on all ranks, or on none
    other([&](auto& args) { args.key_sharding = &other_dealing; });
  }
  EXPECT_EQ(said([](auto&) {}), "nothing");
}

TEST(Mpi, RanksOfARingThatDisagreeAllSaySo) {
  const std::string where = "mpi::attend_ring";
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  {
    Dealt dealt(call, Dealing::zigzag, {});
    LayerPlan other = call.layer;
    if (is_odd()) dealt.instead = &other;
    other.mask = {.kind = MaskKind::bidirectional};
    expect_others(where, error_of([&] { (void)dealt.run(); }));
    other = call.layer;
    for (std::int64_t* const size : {&other.heads, &other.kv_heads, &other.head_dim, &other.value_dim}) {
      const std::int64_t kept = *size;
      for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
        *size = wrong;
        const std::string own = wrong < 1 ? " must be 1 or more but is " + std::to_string(wrong) : "must be of shape";
        expect_refused(where, own, error_of([&] { (void)dealt.run(); }));
      }
      *size = kept;
    }
  }
  {
    Dealt dealt(call, is_odd() ? Dealing::striped : Dealing::zigzag, {});
    if (ranks() > 1) {
      EXPECT_NE(error_of([&] { (void)dealt.run(); }).find("must be the same on all ranks"), std::string::npos);
    }
  }
  {
    Dealt dealt(call, Dealing::zigzag, {});
    if (is_odd()) dealt.queries = shard({.ranks = ranks() + 1, .tokens = kTokens});
    const std::string said = error_of([&] { (void)dealt.run(); });
    EXPECT_EQ(said, is_odd()
                        ? "[mpi::attend_ring] sharding must deal to the " + std::to_string(ranks()) +
                              " ranks of the communicator but is to " + std::to_string(ranks() + 1)
                        : "[mpi::attend_ring] args must be accepted by all ranks but is refused by rank " + last());
  }
  Dealt dealt(call, Dealing::zigzag, {});
  EXPECT_EQ(error_of([&] { (void)dealt.run(); }), "nothing");
}

// Flips a bit of a tensor's last number; again: as it was.
void flip(const ConstTensorView& x) {
  std::int64_t at = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(x.rank); ++axis)
    at += (x.shape[axis] - 1) * x.strides[axis];
  auto* const bytes = static_cast<unsigned char*>(const_cast<void*>(x.data));
  bytes[at * bytes_of(x.dtype)] ^= 1;
}

// The last rank's tables, each in turn, in one bit.
TEST(Mpi, RanksWhoseLearnedNumbersDifferAllSaySo) {
  Arrangement few = kCausal;  // there are tables of 15 distances
  few.queries = few.keys = 12;
  std::size_t count = 0;
  for (const SchemeCase& scheme : dealt_schemes()) {
    SCOPED_TRACE(scheme.name);
    SchemeCall call(scheme, few, Places::by_order, kSeed);
    InFloats rounding(call);
    Dealt dealt(call, Dealing::zigzag, {});
    const bool is_of_rings = call.inputs.row_gate.empty();
    const auto refused = [&] {
      if (is_of_rings) expect_others("mpi::attend_ring", error_of([&] { (void)dealt.run(); }));
      if (sums(call.layer) == 0) expect_others("mpi::attend_tree", error_of([&] { (void)dealt.run_tree(); }));
    };
    for (const math::LearnedTensor& one : math::learned_tensors(call.layer, call.weights)) {
      if (one.tensor.data == nullptr) continue;
      SCOPED_TRACE(one.name);
      ++count;
      if (is_odd()) flip(one.tensor);
      refused();
      if (is_odd()) flip(one.tensor);
    }
    for (ScoreWeights& one : call.weights.score) {
      if (auto* const fire = std::get_if<FireWeights>(&one)) {
        SCOPED_TRACE("threshold");
        ++count;
        const double right = fire->threshold;
        if (is_odd()) fire->threshold = std::nextafter(right, 2 * right);
        refused();
        fire->threshold = right;
      }
    }
    if (is_of_rings) {
      EXPECT_EQ(error_of([&] { (void)dealt.run(); }), "nothing");
    }
  }
  EXPECT_GE(count, 20U);
}

// The last rank is on its way back, or in a tree, while the others are in a ring.
TEST(Mpi, RanksThatDisagreeInTheCallAllSaySo) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  Dealt dealt(call, Dealing::zigzag, {});
  const Results forward = dealt.run();
  const auto back = [&] { (void)dealt.run_backward(forward, call.q, call.k); };
  const auto ring = [&] { (void)dealt.run(); };
  const auto tree = [&] { (void)dealt.run_tree(); };
  using Calls = std::vector<std::pair<std::string, std::function<void()>>>;
  const Calls calls{{"mpi::attend_ring", ring}, {"mpi::attend_ring_backward", back}, {"mpi::attend_tree", tree}};
  for (const auto& [name, most] : calls) {
    for (const auto& [last_name, of_last] : calls) {
      if (name == last_name) continue;
      SCOPED_TRACE(name);
      SCOPED_TRACE(last_name);
      const std::string said = error_of(is_odd() ? of_last : most);
      if (ranks() > 1) expect_others(is_odd() ? last_name : name, said);
    }
  }
  EXPECT_EQ(forward, dealt.run());
}

// Kernels find too little scratch once messages are on their way.
TEST(Mpi, WhatFailsWhileItIsComputedFailsOnAll) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  Dealt dealt(call, Dealing::zigzag, {});
  const Results made = dealt.run();
  std::vector<std::byte> scratch(1);
  const std::string said = error_of([&] {
    (void)dealt.run([&](mpi::RingArgs& args) {
      if (is_odd()) args.local.scratch = scratch;
    });
  });
  if (is_odd()) {
    EXPECT_NE(said.find("scratch must have at least"), std::string::npos) << said;
  } else {
    EXPECT_EQ(said, "[mpi::attend_ring] args must be computed by all ranks but is refused by rank " + last());
  }
  EXPECT_EQ(made, dealt.run());
}

// A receive that the caller has open, of any rank and any tag, gets the caller's message and none of the library's.
TEST(Mpi, MessagesOfTheCallerAreItsOwn) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  InFloats rounding(call);
  Dealt dealt(call, Dealing::zigzag, {});
  const Results made = dealt.run();
  std::vector<char> coming(1U << 20U);  // large enough for any
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(coming.data(), static_cast<int>(coming.size()), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
            &request);
  EXPECT_EQ(made, dealt.run());
  (void)dealt.run_tree();
  int is_here = 0;
  MPI_Test(&request, &is_here, MPI_STATUS_IGNORE);
  EXPECT_EQ(is_here, 0);
  MPI_Barrier(MPI_COMM_WORLD);  // or another's own would be here before this rank has looked
  const char own = 'x';
  MPI_Request sending = MPI_REQUEST_NULL;
  MPI_Isend(&own, 1, MPI_BYTE, (rank() + 1) % ranks(), 5, MPI_COMM_WORLD, &sending);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  EXPECT_EQ(coming.front(), own);
}

// Tiles of all parts, not of the last alone.
TEST(Mpi, WorkIsOfAllParts) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, kCausal, Places::by_order, kSeed);
  Dealt dealt(call, Dealing::zigzag, {});
  AttendWork all;
  (void)dealt.run([&](mpi::RingArgs& args) { args.local.work = &all; });
  EXPECT_GE(all.tiles, ranks());
}

TEST(Mpi, RingsWhoseSchemesSumAlongTheKeysRefuseStripes) {
  SchemeCall call(cases_of(Case<ContextualPosition>{}).front(), kCausal, Places::by_order, kSeed);
  Dealt dealt(call, Dealing::striped, {});
  const std::string said = error_of([&] { (void)dealt.run(); });
  if (ranks() > 1) {
    EXPECT_TRUE(said.starts_with("[mpi::attend_ring] sharding must deal neighbours together, contiguous or zigzag")) << said;
  }
}

TEST(Mpi, WhatOneRankRefusesOfATreeAllRefuse) {
  const std::string where = "mpi::attend_tree";
  SchemeCase scheme = cases_of(Case<Rope>{}).front();
  scheme.layer.sinks = true;
  scheme.weights = [](Tables& tables) { return LayerWeights{.sinks = tables({kHeads})}; };
  SchemeCall call(scheme, kCausal, Places::scattered, kSeed);
  InFloats rounding(call);
  Dealt dealt(call, Dealing::striped, call.layer.mask);
  std::vector<float> wide(call.q.values.size() * 4);
  std::vector<std::int64_t> orders(static_cast<std::size_t>(kTokens), 3);
  const auto said = [&](const std::function<void(AttendArgs&)>& spoil) {
    return error_of([&] {
      (void)dealt.run_tree([&](AttendArgs& args) {
        if (is_odd()) spoil(args);
      });
    });
  };
  const auto refused = [&](const std::string& own, const std::function<void(AttendArgs&)>& spoil) {
    expect_refused(where, own, said(spoil));
  };
  refused("q must have rank 3 but is 0", [](auto& args) { args.q = {}; });
  refused("q must be of shape [23, 4, 8] but is of [23, 4, 7]", [](auto& args) { args.q.shape[2] = 7; });
  refused("q must point to its numbers but is null", [](auto& args) { args.q.data = nullptr; });
  refused("out must be of shape [23, 4, 6] but is omitted", [](auto& args) { args.out = {}; });
  refused("out must be of shape [23, 4, 6] but is of [22, 4, 6]", [](auto& args) { args.out.shape[0] = 22; });
  refused("lse must be of shape [23, 4]", [](auto& args) { args.lse.shape[1] = 3; });
  refused("weights.sinks must be of shape [4] but is omitted", [](auto& args) { args.weights.sinks = {}; });
  refused("weights.sinks must be of shape [4]", [](auto& args) { args.weights.sinks.shape[0] = 3; });
  refused("keep_going must be omitted", [](auto& args) { args.keep_going = [] { return false; }; });
  refused("q_order must be given but is omitted", [](auto& args) { args.inputs.q_order = {}; });
  refused("k", [](auto& args) { args.k.shape[2] = 7; });
  refused("v", [](auto& args) { args.v.shape[0] -= 1; });
  const auto other = [&](const std::function<void(AttendArgs&)>& spoil) { expect_others(where, said(spoil)); };
  other([&](auto& args) {  // one bit of a query
    const auto* const q = static_cast<const float*>(args.q.data);
    std::copy_n(q, call.q.values.size(), wide.begin());
    wide[5] = std::nextafter(wide[5], 9.0F);
    args.q.data = wide.data();
  });
  other([&](auto& args) { args.inputs.q_order = orders; });
  other([](auto& args) { args.inputs.q_positions = args.inputs.k_positions = PositionRange{.start = 4}; });
  other([](auto& args) { args.inputs.length = 7; });
  other([](auto& args) { args.inputs.q_rotated = true; });
  EXPECT_EQ(said([](auto&) {}), "nothing");
  // A rank without keys says what it was given wrong, too.
  EXPECT_EQ(said([](auto& args) {
              args.k = args.v = {};
              args.inputs.k_order = {};
              args.inputs.k_positions.reset();
            }),
            "nothing");
  refused("weights.sinks must be of shape [4]", [](auto& args) {
    args.k = args.v = {};
    args.weights.sinks.shape[0] = 3;
  });
}

// Ranks that have nothing of a sequence take part all the same.
TEST(Mpi, RanksMayHaveNoRows) {
  for (const SchemeCase& scheme : dealt_schemes()) {
    SCOPED_TRACE(scheme.name);
    const SchemeCall probe(scheme, {.name = "few", .queries = 1, .keys = 1}, Places::scattered, kSeed);
    if (!probe.inputs.row_gate.empty()) continue;
    SchemeCall call(scheme, {.name = "few", .mask = {.kind = MaskKind::bidirectional}, .queries = 1, .keys = 1},
                    Places::scattered, kSeed);
    InFloats rounding(call);
    Dealt dealt(call, Dealing::contiguous, call.layer.mask);
    Results made;
    EXPECT_EQ(error_of([&] { made = dealt.run(); }), "nothing");
    const SchemeCall::Result wanted = call.by_formulas();
    for (std::size_t n = 0; n < made.lse.size(); ++n) {
      EXPECT_NEAR(static_cast<double>(made.lse[n]), wanted.lse[n], 1e-4 * std::max(1.0, std::abs(wanted.lse[n])));
    }
  }
}

}  // namespace
}  // namespace posenc::test::mpi_test
