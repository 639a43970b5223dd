// What holds for every scheme, whatever its formula: which rows of a call an output may depend on, and that it does not
// matter where in the call they lie.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attend/comparison.h"
#include "attend/fused/picked_rows.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "support/all_schemes.h"
#include "support/tolerances.h"

namespace posenc::test::properties_test {
namespace {

constexpr std::uint64_t kSeed = 31415;

bool is_one_sequence(const Arrangement& arrangement) {
  return arrangement.batch == 0 && arrangement.cu_seqlens_q.empty();
}

// Every scheme under the arrangements that are asked for, its tokens placed in each way in turn.
template <typename Wanted, typename Check>
void for_each_call(const Wanted& is_wanted, const Check& check) {
  std::uint64_t calls = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    for (const Arrangement& arrangement : arrangements()) {
      const auto places = static_cast<Places>(calls % 3);  // by order, in a run, scattered
      if (!is_wanted(arrangement) || !fits(scheme, arrangement, places)) continue;
      SCOPED_TRACE(scheme.name + ", " + arrangement.name + ", seed " + std::to_string(kSeed + calls));
      SchemeCall call(scheme, arrangement, places, kSeed + calls++);
      check(scheme, call);
    }
  }
  EXPECT_GT(calls, 50U);
}

void expect_same(const SchemeCall::Result& is, const SchemeCall::Result& wanted) {
  EXPECT_EQ(is.out, wanted.out);
  EXPECT_EQ(is.lse, wanted.lse);
}

// To the bit: the sums have the same terms in the same order.
TEST(EveryScheme, TreatsASequenceAsIfItWereAlone) {
  for_each_call([](const Arrangement& arrangement) { return !is_one_sequence(arrangement); },
                [](const SchemeCase& scheme, SchemeCall& call) {
                  if (scheme.batches_only) return;  // XLNet's halves of a batch are not alike
                  const SchemeCall::Result whole = call.by_formulas();
                  const std::vector<SequenceRows> sequences = sequences_of(call);
                  EXPECT_GT(sequences.size(), 1U);
                  for (std::size_t s = 0; s < sequences.size(); ++s) {
                    const auto n = static_cast<std::int64_t>(s);
                    const TokenList queries = tokens(0, sequences[s].queries);
                    const PickedRows alone(call, n, queries, tokens(0, sequences[s].keys));
                    expect_same(alone.by_formulas(), picked(call, whole, n, queries));
                  }
                });
}

TEST(EveryScheme, AnswersAQueryWhicheverOthersAreAsked) {
  for_each_call(is_one_sequence, [](const SchemeCase&, SchemeCall& call) {
    const SchemeCall::Result whole = call.by_formulas();
    const TokenList keys = tokens(0, call.sizes.keys);
    for (const std::int64_t query : {std::int64_t{0}, call.sizes.queries / 2, call.sizes.queries - 1}) {
      expect_same(PickedRows(call, 0, {query}, keys).by_formulas(), picked(call, whole, 0, {query}));
    }
  });
}

// Sums come in another order.
TEST(EveryScheme, TakesKeysInAnyOrder) {
  ErrorRatio ratio("keys in another order");
  ErrorRatio lse_ratio("keys in another order, lse");
  for_each_call(is_one_sequence, [&](const SchemeCase& scheme, SchemeCall& call) {
    const TokenList queries = tokens(0, call.sizes.queries);
    TokenList keys;
    for (std::int64_t j = 0; j < call.sizes.keys; ++j) keys.push_back((5 * j + 3) % call.sizes.keys);
    const PickedRows other(call, 0, queries, keys);
    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const Apartness apart = apartness(call, lowered, other.by_formulas(), call.by_formulas());
    ratio.add(apart.out, 1.0, scheme.name);
    lse_ratio.add(apart.lse, 1.0, scheme.name);
  });
  ratio.expect();
  lse_ratio.expect();
}

// Causal masks: what comes later is as if it were not there.
TEST(EveryScheme, AnswersAPrefixAsIfItWereAll) {
  for_each_call(
      [](const Arrangement& arrangement) {
        return arrangement.mask.kind == MaskKind::causal && !arrangement.orders_are_given &&
               is_one_sequence(arrangement) && arrangement.queries == arrangement.keys;
      },
      [](const SchemeCase&, SchemeCall& call) {
        const SchemeCall::Result whole = call.by_formulas();
        for (std::int64_t n = 1; n < call.sizes.queries; ++n) {
          const PickedRows prefix(call, 0, tokens(0, n), tokens(0, n));
          expect_same(prefix.by_formulas(), picked(call, whole, 0, tokens(0, n)));
        }
      });
}

// Two tokens of padding in front and one behind, hidden from all: the others are answered as if they were alone, and
// whatever lies in the padding's keys and values.
TEST(EveryScheme, DoesNotReadPadding) {
  for_each_call(
      [](const Arrangement& arrangement) {
        return is_one_sequence(arrangement) && !arrangement.orders_are_given && arrangement.queries == arrangement.keys;
      },
      [](const SchemeCase&, SchemeCall& call) {
        const std::int64_t last = call.sizes.keys - 1;
        Tensor seen = zeros({1, call.sizes.keys});
        for (std::int64_t j = 2; j < last; ++j) seen.values[static_cast<std::size_t>(j)] = 1.0;
        for (Tensor* x : {&call.k, &call.v}) {
          const auto row = static_cast<std::size_t>(x->shape[1] * x->shape[2]);
          for (std::size_t n = 0; n < x->values.size(); ++n) {
            if (seen.values[n / row] == 0.0) x->values[n] = std::numeric_limits<double>::quiet_NaN();
          }
        }
        const PickedRows alone(call, 0, tokens(2, last), tokens(2, last));
        const SchemeCall::Result wanted = alone.by_formulas();
        call.inputs.attn_mask = seen;
        expect_same(picked(call, call.by_formulas(), 0, tokens(2, last)), wanted);
      });
}

// Keys and values belong to the heads of their group, queries to one.
TEST(EveryScheme, KeepsHeadsApart) {
  for_each_call(is_one_sequence, [](const SchemeCase&, SchemeCall& call) {
    const SchemeCall::Result before = call.by_formulas();
    for (Tensor* x : {&call.q, &call.k, &call.v}) {
      const auto heads = static_cast<std::size_t>(x->shape[1]);
      const auto channels = static_cast<std::size_t>(x->shape[2]);
      for (std::size_t n = 0; n < x->values.size(); ++n) {
        const bool is_second_half = n / channels % heads >= heads / 2;
        if (is_second_half) x->values[n] = 1.0 - x->values[n];
      }
    }
    const SchemeCall::Result after = call.by_formulas();
    for (std::size_t row = 0; row < after.lse.size(); ++row) {
      if (row % kHeads >= kHeads / 2) continue;
      EXPECT_EQ(after.lse[row], before.lse[row]) << row;
      for (std::int64_t c = 0; c < call.layer.value_dim; ++c) {
        const std::size_t at = row * static_cast<std::size_t>(call.layer.value_dim) + static_cast<std::size_t>(c);
        EXPECT_EQ(after.out[at], before.out[at]) << row;
      }
    }
    EXPECT_NE(after.out, before.out);
  });
}

}  // namespace
}  // namespace posenc::test::properties_test
