// A call of linear attention in floats: by the kernels, by the reference from the very same numbers, and how far apart
// the two may be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "posenc/attend_linear.h"
#include "support/random_tensor.h"

namespace posenc::test {

// Rows of a call. Packed sequences: where they end.
struct LinearRows {
  std::string name;
  MaskKind mask = MaskKind::causal;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t batch = 0;  // 0: rank 3
  std::vector<std::int32_t> ends_q{};
  std::vector<std::int32_t> ends_k{};
};

// Every mask that there is, of lengths that end in a chunk, at its end and behind it.
std::vector<LinearRows> every_linear_rows();

// 4 query heads to 2 key heads, 16 channels of which 12 rotate (with an attention factor, which must not be seen).
LayerPlan linear_layer(std::int64_t value_dim, Pairing pairing = Pairing::half);

// Of a call with a state: what is there, and what comes back.
struct LinearNumbers {
  std::vector<float> products{};
  std::vector<float> totals{};
  std::int64_t padding = 0;  // floats between two rows of products
};

class LinearCall {
 public:
  LinearCall(const LayerPlan& layer, LinearRows rows, FeatureMap map, DType dtype, std::uint64_t seed);
  LinearCall(const LinearCall&) = delete;
  LinearCall& operator=(const LinearCall&) = delete;

  std::vector<double> by_formulas() const;
  // With a state where one is given; positions are those of the whole call.
  std::vector<double> by_kernels(Isa isa, std::int64_t threads = 1, LinearNumbers* state = nullptr) const;
  // Tokens first .. first + count - 1 of a causal call of as many queries as keys, of rank 3, beside a state.
  std::vector<double> part(Isa isa, std::int64_t first, std::int64_t count, LinearNumbers& state) const;
  // Whether it came to its end.
  bool until(const std::function<bool()>& keep_going, std::int64_t threads) const;
  // Of the whole call, or of tokens one by one.
  std::vector<double> bounds(const std::vector<double>& outputs, bool one_by_one = false) const;
  LinearNumbers no_state(std::int64_t padding = 0) const;

  LayerPlan layer;
  LinearRows rows;
  Tensor q, k, v;

 private:
  AttendLinearArgs args_for(std::vector<std::byte>& out) const;
  std::vector<double> numbers(const std::vector<std::byte>& out) const;
  LinearState view(LinearNumbers& state) const;
  std::int64_t batch() const { return rows.batch > 0 ? rows.batch : 1; }
  bool sees(std::int64_t i, std::int64_t j) const;

  FeatureMap map_;
  DType dtype_;
  std::vector<double> q_places_, k_places_;
  std::vector<std::byte> q_, k_, v_;
};

}  // namespace posenc::test
