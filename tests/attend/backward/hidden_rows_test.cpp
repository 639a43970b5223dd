// Tokens of padding: keys that a mask hides from all, queries that see nothing, and whatever lies in their rows. No
// gradient of another row, of a learned table or of an input has anything of it, of any scheme, and their own are 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attend/backward/kernel_gradients.h"
#include "attend/fused/fused_call.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/gradient_tolerances.h"

namespace posenc::test::hidden_rows_test {
namespace {

constexpr std::uint64_t kSeed = 141421;
constexpr std::int64_t kTokens = 67;    // the last tile of keys, and the last block of queries, are not full
constexpr std::int64_t kFewTokens = 9;  // for the reference, which takes its time

// The first and the last of all, of tiles and of blocks, and some between others.
std::vector<std::int64_t> hidden_keys(std::int64_t tokens) { return {0, 1, tokens / 2, tokens - 4, tokens - 1}; }
std::vector<std::int64_t> hidden_queries(std::int64_t tokens) { return {0, tokens / 4, tokens - 1}; }

Arrangement padded(const SchemeCase& scheme, MaskKind kind, std::int64_t tokens) {
  return {.name = "padded",
          .mask = {.kind = kind},
          .batch = scheme.batches_only ? 2 : 0,
          .queries = tokens,
          .keys = tokens};
}

Places near_by(const SchemeCase& scheme) { return scheme.side == 0 ? Places::run : Places::scattered; }

// 1 where a query sees a key: no one the hidden keys, and the hidden queries none.
Tensor shown(std::int64_t tokens) {
  Tensor out = zeros({tokens, tokens});
  std::fill(out.values.begin(), out.values.end(), 1.0);
  for (std::int64_t n = 0; n < tokens; ++n) {
    for (const std::int64_t key : hidden_keys(tokens)) out.values[static_cast<std::size_t>(n * tokens + key)] = 0.0;
    for (const std::int64_t q : hidden_queries(tokens)) out.values[static_cast<std::size_t>(q * tokens + n)] = 0.0;
  }
  return out;
}

double largest(const std::vector<double>& x) {
  double out = 0.0;
  for (const double y : x) out = std::max(out, std::abs(y));
  return out;
}

// A call in which hidden rows hold `with`, each number of them.
struct Padded {
  Padded(const SchemeCase& scheme, MaskKind kind, const Tensor& mask, double with)
      : gradients(scheme, padded(scheme, kind, mask.shape[0]), near_by(scheme), kSeed) {
    gradients.call.inputs.attn_mask = mask;
    gradients.spoil(hidden_keys(mask.shape[0]), hidden_queries(mask.shape[0]), with);
  }
  KernelGradients gradients;
};

void expect_same(const Gradients& is, const Gradients& wanted) {
  ASSERT_EQ(is.all.size(), wanted.all.size());
  for (std::size_t n = 0; n < is.all.size(); ++n) EXPECT_EQ(is.all[n].values, wanted.all[n].values) << is.all[n].name;
}

// Of sums that may be taken in another order, since rows that are no numbers are not multiplied.
void expect_near(const Gradients& is, const Gradients& wanted, ErrorRatio& ratio) {
  ASSERT_EQ(is.all.size(), wanted.all.size());
  for (std::size_t n = 0; n < is.all.size(); ++n) {
    const double bound = reordered_gradient(kHeads * kTokens, largest(wanted.all[n].values));
    for (std::size_t e = 0; e < is.all[n].values.size(); ++e) {
      const double error = std::abs(is.all[n].values[e] - wanted.all[n].values[e]);
      ASSERT_FALSE(std::isnan(error)) << is.all[n].name << ", element " << e;
      ratio.add(error, bound, is.all[n].name);
    }
  }
}

// use(clean, NaN, infinity): of every scheme, causal and bidirectional; the clean one has zeros.
template <typename Use>
void for_each_padded(std::int64_t tokens, const Use& use) {
  const Tensor mask = shown(tokens);
  for (const SchemeCase& scheme : all_schemes()) {
    for (const MaskKind kind : {MaskKind::causal, MaskKind::bidirectional}) {
      SCOPED_TRACE(scheme.name + (kind == MaskKind::causal ? ", causal" : ", bidirectional"));
      Padded clean(scheme, kind, mask, 0.0);
      Padded nan(scheme, kind, mask, std::numeric_limits<double>::quiet_NaN());
      Padded infinity(scheme, kind, mask, std::numeric_limits<double>::infinity());
      use(clean.gradients, nan.gradients, infinity.gradients);
    }
  }
}

TEST(HiddenRows, AreInNoGradientOfAnyScheme) {
  const std::vector<Isa> isas = every_isa("gradients, hidden rows");
  ErrorRatio ratio("gradients, hidden rows");
  for_each_padded(kTokens, [&](KernelGradients& clean, KernelGradients& nan, KernelGradients& infinity) {
    for (const Isa isa : isas) {
      const Gradients is = nan.by_kernels(isa);
      expect_near(is, clean.by_kernels(isa), ratio);
      expect_same(infinity.by_kernels(isa), is);
    }
  });
  ratio.expect();
}

TEST(HiddenRows, AreInNoOutputOfAnyScheme) {
  const std::vector<Isa> isas = every_isa("outputs, hidden rows");
  for_each_padded(kTokens, [&](KernelGradients& clean, KernelGradients& nan, KernelGradients& infinity) {
    const double apart = reordered_mean_bound(kTokens, largest(clean.call.v.values), false);
    for (const Isa isa : isas) {
      const SchemeCall::Result wanted = FusedCall(clean.call).by_kernels(isa);
      for (KernelGradients* const one : {&nan, &infinity}) {
        const SchemeCall::Result is = FusedCall(one->call).by_kernels(isa);
        EXPECT_EQ(is.lse, wanted.lse);
        for (std::size_t n = 0; n < is.out.size(); ++n) ASSERT_NEAR(is.out[n], wanted.out[n], apart) << n;
      }
    }
  });
}

TEST(HiddenRows, AreInNoGradientOfTheReference) {
  for_each_padded(kFewTokens, [&](KernelGradients& clean, KernelGradients& nan, KernelGradients& infinity) {
    const Gradients wanted = clean.by_formulas();
    expect_same(nan.by_formulas(), wanted);
    expect_same(infinity.by_formulas(), wanted);
  });
}

}  // namespace
}  // namespace posenc::test::hidden_rows_test
