// A call of attention on a scheme's layer: random tensors, weights and inputs, under one of many masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "math/call_rows.h"
#include "posenc/reference_attend.h"
#include "support/all_schemes.h"

namespace posenc::test {

enum class Places : std::uint8_t { by_order, run, scattered, far, real };

// How tokens lie, and who sees whom.
struct Arrangement {
  std::string name;
  Mask mask{};
  std::int64_t batch = 0;  // 0: rank 3
  std::int64_t queries = 9;
  std::int64_t keys = 9;
  std::int64_t prefix = 0;
  std::vector<std::int32_t> cu_seqlens_q{};
  std::vector<std::int32_t> cu_seqlens_k{};
  bool arbitrary = false;         // `attn_mask` is given
  bool orders_are_given = false;  // in any order, some of them twice
};

std::vector<Arrangement> arrangements();

// Whether the scheme can be asked that.
bool fits(const SchemeCase& scheme, const Arrangement& arrangement, Places places);

class SchemeCall {
 public:
  SchemeCall(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed);
  SchemeCall(const SchemeCall&) = delete;
  SchemeCall& operator=(const SchemeCall&) = delete;

  LayerPlan layer;
  LayerWeights weights;
  LayerInputs inputs;
  math::CallSizes sizes;
  Tensor q;
  Tensor k;
  Tensor v;

  // Which rows of q see the same keys: those of a member of the batch and a key head.
  std::size_t group_of(std::size_t q_row) const;
  // Of keys or values, what a row of q may see: its head's, of its sequence of the batch. [tokens, channels]
  std::vector<double> seen_by(std::size_t q_row, const Tensor& x) const;

  struct Result {
    std::vector<double> out;
    std::vector<double> lse;
  };
  // By the formulas, or by the primitives.
  Result by_formulas();
  Result by_primitives();

 private:
  void give_inputs();
  void place(const SchemeCase& scheme, Places places);
  template <typename Attend>
  Result attended(const Attend& attend);

  Random random_;
  Tables tables_;
  std::int64_t axes_ = 1;
  std::vector<std::int64_t> q_positions_, k_positions_, q_order_, k_order_;
  std::vector<double> q_coordinates_, k_coordinates_;
  std::vector<std::int32_t> q_segments_, k_segments_, cu_seqlens_q_, cu_seqlens_k_;
};

}  // namespace posenc::test
