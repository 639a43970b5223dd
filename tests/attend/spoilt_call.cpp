#include "attend/spoilt_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "posenc/attend.h"
#include "posenc/reference_attend.h"
#include "support/all_schemes.h"
#include "support/throws.h"

namespace posenc::test {
namespace {

constexpr double kUntouched = -7.0;

// Where out, lse and scores of the largest call begin in `written`.
constexpr std::int64_t kLseBegins = kTokens * kHeads * kValueDim;
constexpr std::int64_t kScoresBegin = kLseBegins + kTokens * kHeads;
constexpr std::int64_t kWritten = kScoresBegin + kHeads * kTokens * kTokens;

// The same elements as floats, unless they were taken away.
TensorView as_floats(TensorView view) {
  if (view.dtype == DType::f64) view.dtype = DType::f32;
  return view;
}

void expect_error(const SpoiltCall& call, void (SpoiltCall::*way)() const, const char* text) {
  EXPECT_ERROR((call.*way)(), text);
  EXPECT_TRUE(call.is_untouched());
}

}  // namespace

ConstTensorView zeros_of(std::initializer_list<std::int64_t> shape) {
  static const std::array<float, 2048> all{};
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  if (count > std::ssize(all)) throw std::length_error("more zeros than there are");
  return tensor(all.data(), shape);
}

SpoiltCall::SpoiltCall()
    : layer(plain_layer()),
      q(zeros_of({kTokens, kHeads, kHeadDim})),
      k(zeros_of({kTokens, kKvHeads, kHeadDim})),
      v(zeros_of({kTokens, kKvHeads, kValueDim})),
      written(kWritten, kUntouched) {
  out = tensor(written.data(), {kTokens, kHeads, kValueDim});
  lse = tensor(written.data() + kLseBegins, {kTokens, kHeads});
}

void SpoiltCall::become_batch() {
  constexpr std::int64_t batch = 2;
  constexpr std::int64_t tokens = kTokens / batch;
  q = zeros_of({batch, kHeads, tokens, kHeadDim});
  k = zeros_of({batch, kKvHeads, tokens, kHeadDim});
  v = zeros_of({batch, kKvHeads, tokens, kValueDim});
  out = tensor(written.data(), {batch, kHeads, tokens, kValueDim});
  lse = tensor(written.data() + kLseBegins, {batch, kHeads, tokens});
}

void SpoiltCall::by_formulas() const {
  (void)reference::attend(
      layer, {.out = out, .q = q, .k = k, .v = v, .weights = weights, .inputs = inputs, .lse = lse, .scores = scores});
}

void SpoiltCall::by_kernels() const {
  (void)attend(layer, {.out = as_floats(out),
                       .q = q,
                       .k = k,
                       .v = v,
                       .weights = weights,
                       .inputs = inputs,
                       .lse = as_floats(lse),
                       .parallel = {.threads = 1}});
}

bool SpoiltCall::is_untouched() const {
  return std::ranges::all_of(written, [](double x) { return x == kUntouched; });
}

void expect_refused(const std::vector<Spoils>& calls) {
  for (const Spoils& one : calls) {
    SCOPED_TRACE(one.name);
    SpoiltCall right;
    one.make(right);
    EXPECT_NO_THROW(right.by_formulas());
    EXPECT_FALSE(right.is_untouched());
    EXPECT_NO_THROW(right.by_kernels());
    for (const Spoil& spoilt : one.all) {
      SCOPED_TRACE(spoilt.text);
      SpoiltCall call;
      one.make(call);
      spoilt.spoil(call);
      if (spoilt.by != RefusedBy::kernels) expect_error(call, &SpoiltCall::by_formulas, spoilt.text);
      if (spoilt.by != RefusedBy::formulas) expect_error(call, &SpoiltCall::by_kernels, spoilt.text);
    }
  }
}

}  // namespace posenc::test
