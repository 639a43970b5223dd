// Calls of attention that are right, and what is refused once one thing of them is spoilt: by the reference and by the
// kernels, in the same words, with nothing written.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::test {

inline constexpr std::int64_t kTokens = 4;

// Zeros of that shape: of calls that are refused nothing is computed. Nobody owns them.
ConstTensorView zeros_of(std::initializer_list<std::int64_t> shape);

// [tokens, heads, channels] of floats, some of which the test spoils.
struct SpoiltCall {
  SpoiltCall();
  SpoiltCall(const SpoiltCall&) = delete;
  SpoiltCall& operator=(const SpoiltCall&) = delete;

  LayerPlan layer;
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  TensorView out;  // f64, and f32 for the kernels; views of `written`
  TensorView lse;
  TensorView scores{};  // for the reference alone
  LayerWeights weights{};
  LayerInputs inputs{};

  // [batch, heads, tokens, channels], two sequences of two tokens.
  void become_batch();
  void by_formulas() const;
  void by_kernels() const;
  bool is_untouched() const;

 private:
  std::vector<double> written;
};

// Who refuses it: both, but for what only the reference gives, or only tables by distance cannot hold.
enum class RefusedBy : std::uint8_t { both, formulas, kernels };

struct Spoil {
  const char* text;
  std::function<void(SpoiltCall&)> spoil;
  RefusedBy by = RefusedBy::both;
};

// A call that is right once it is made, and ways to spoil it.
struct Spoils {
  const char* name;
  std::function<void(SpoiltCall&)> make;
  std::vector<Spoil> all;
};

void expect_refused(const std::vector<Spoils>& calls);

}  // namespace posenc::test
