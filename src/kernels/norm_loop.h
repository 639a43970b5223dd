// QK norm: the norms of q and k, written once over a vector of floats V and compiled once per instruction set.
//
//   RMSNorm    x / sqrt(mean(x^2) + epsilon) * weight                        arXiv 1910.07467
//   LayerNorm  (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias        arXiv 1607.06450
//   L2         x / sqrt(sum(x^2) + epsilon) * weight
//
// and what a loss gives of their inputs and weights, from what it gives of their results (docs/training.md).
//
// Reference: src/reference/normalise.cpp. Callers: src/cpu/cache/cache_rows.h, row_gradients.h.
//
// A row passes several times, out of L1. The order of a sum depends on the length of the row and on V alone, so a row's
// result does not depend on its neighbours.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// sum = step(sum, i, part) over the registers of a row, the last of them in part.
template <class V, class Step>
double sum_of(std::int64_t count, Step step) noexcept {
  typename V::Floats sums[kSums];
  for (auto& sum : sums) sum = V::all(0.0F);
  std::int64_t i = 0;
  for (; i + kSums * V::kLanes <= count; i += kSums * V::kLanes) {
#pragma GCC unroll 4
    for (int k = 0; k < kSums; ++k) sums[k] = step(sums[k], i + k * V::kLanes, All{});
  }
  int next = 0;
  for (; i + V::kLanes <= count; i += V::kLanes, ++next) sums[next] = step(sums[next], i, All{});
  if (i < count) sums[next] = step(sums[next], i, Some{count - i});

  static_assert(kSums == 4 && V::kLanes % 2 == 0);
  float lanes[V::kLanes];
  V::store(lanes, V::add(V::add(sums[0], sums[1]), V::add(sums[2], sums[3])), All{});
  double even = 0.0;
  double odd = 0.0;
  for (std::int64_t lane = 0; lane < V::kLanes; lane += 2) {
    even += static_cast<double>(lanes[lane]);
    odd += static_cast<double>(lanes[lane + 1]);
  }
  return even + odd;
}

// x[i] = f(x[i], i, count) of whole registers, then of the rest.
template <class V, class F>
void change_each(float* x, std::int64_t count, F f) noexcept {
  std::int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(x + i, f(V::load(x + i, All{}), i, All{}), All{});
  if (i == count) return;
  const Some rest{count - i};
  V::store(x + i, f(V::load(x + i, rest), i, rest), rest);
}

// The sum of a row, in f32 in kSums registers, then in double: the order depends on the length and V alone.
template <class V>
double sum(const float* x, std::int64_t count) noexcept {
  using Floats = typename V::Floats;
  return sum_of<V>(
      count, [x](Floats total, std::int64_t i, auto part) noexcept { return V::add(total, V::load(x + i, part)); });
}

// The sum of a[i] b[i], likewise.
template <class V>
double dot(const float* a, const float* b, std::int64_t count) noexcept {
  return sum_of<V>(count, [a, b](typename V::Floats total, std::int64_t i, auto part) noexcept {
    return V::fma(V::load(a + i, part), V::load(b + i, part), total);
  });
}

template <class V>
void subtract(float* x, std::int64_t count, float y) noexcept {
  change_each<V>(x, count, [y](typename V::Floats a, std::int64_t, auto) noexcept { return V::sub(a, V::all(y)); });
}

// Twice: the first mean is as wrong as its sum was rounded, which counts where it is far above the deviations; the
// second is that of numbers around zero.
template <class V>
void centre(float* x, std::int64_t count) noexcept {
  const auto n = static_cast<double>(count);
  subtract<V>(x, count, static_cast<float>(sum<V>(x, count) / n));
  subtract<V>(x, count, static_cast<float>(sum<V>(x, count) / n));
}

// x less its mean (LayerNorm); what is to be multiplied with it, in double up to its one rounding.
template <class V>
float norm_factor(const NormRows& r, float* x) noexcept {
  if (r.centred) centre<V>(x, r.count);
  return static_cast<float>(1.0 / __builtin_sqrt(dot<V>(x, x, r.count) / r.divisor + r.epsilon));
}

// Mean (LayerNorm), sum of squares, factor in double, then weight and bias in one pass.
//
//   x -> (x - mean) / sqrt(sum((x - mean)^2) / divisor + epsilon) * weight + bias      divisor: count, or 1 for L2
template <class V>
void normalise_row(const NormRows& r, std::int64_t row) noexcept {
  using Floats = typename V::Floats;
  float* const x = r.x + row * r.count;
  const Floats factor = V::all(norm_factor<V>(r, x));
  if (r.weight == nullptr) {
    change_each<V>(x, r.count, [factor](Floats a, std::int64_t, auto) noexcept { return V::mul(a, factor); });
    return;
  }
  const float* const weight = r.weight + row * r.weight_row;
  if (r.bias == nullptr) {
    change_each<V>(x, r.count, [factor, weight](Floats a, std::int64_t i, auto count) noexcept {
      return V::mul(V::mul(a, factor), V::load(weight + i, count));
    });
    return;
  }
  const float* const bias = r.bias + row * r.weight_row;
  change_each<V>(x, r.count, [factor, weight, bias](Floats a, std::int64_t i, auto count) noexcept {
    return V::fma(V::mul(a, factor), V::load(weight + i, count), V::load(bias + i, count));
  });
}

// sums[i] = add(sums[i], i, part)
template <class V, class Add>
void add_each(float* sums, std::int64_t count, Add add) noexcept {
  if (sums == nullptr) return;
  change_each<V>(sums, count, add);
}

// With n = factor (x - mean) and g = d weight, less its mean too where x is:
//
//   d_weight += d n      d_bias += d      d -> factor (g - n sum(g n) / divisor)
template <class V>
void normalise_backward_row(const NormBackwardRows& r, std::int64_t row) noexcept {
  using Floats = typename V::Floats;
  const NormRows& norm = r.norm;
  const std::int64_t count = norm.count;
  float* const x = norm.x + row * count;
  float* const d = r.d + row * count;
  const float factor = norm_factor<V>(norm, x);
  change_each<V>(x, count, [f = V::all(factor)](Floats a, std::int64_t, auto) noexcept { return V::mul(a, f); });
  const std::int64_t own = row * r.sums_row;
  add_each<V>(r.d_weight == nullptr ? nullptr : r.d_weight + own, count,
              [x, d](Floats sum, std::int64_t i, auto part) noexcept {
                return V::fma(V::load(d + i, part), V::load(x + i, part), sum);
              });
  add_each<V>(r.d_bias == nullptr ? nullptr : r.d_bias + own, count,
              [d](Floats sum, std::int64_t i, auto part) noexcept { return V::add(sum, V::load(d + i, part)); });
  if (norm.weight != nullptr) {
    const float* const weight = norm.weight + row * norm.weight_row;
    change_each<V>(d, count, [weight](Floats a, std::int64_t i, auto part) noexcept {
      return V::mul(a, V::load(weight + i, part));
    });
  }
  if (norm.centred) centre<V>(d, count);
  const Floats along = V::all(static_cast<float>(dot<V>(d, x, count) / norm.divisor));
  change_each<V>(d, count, [x, along, f = V::all(-factor)](Floats g, std::int64_t i, auto part) noexcept {
    return V::mul(f, V::fms(V::load(x + i, part), along, g));
  });
}

// The entries of KernelTable::normalise and normalise_backward.
template <class V>
void normalise(const NormRows& r) noexcept {
  for (std::int64_t row = 0; row < r.rows; ++row) normalise_row<V>(r, row);
}
template <class V>
void normalise_backward(const NormBackwardRows& r) noexcept {
  for (std::int64_t row = 0; row < r.norm.rows; ++row) normalise_backward_row<V>(r, row);
}

}  // namespace posenc::kernels
