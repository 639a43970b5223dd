// RowSample::judge: the sampled rows go through the float64 reference; each rotated channel is held against its
// expected value with the bound of docs/rotation.md, each channel outside RoPE has to be what it was. Pairs with NaN or
// Inf before RoPE are counted and not judged.
#include "rotate/rotation_error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tensors/spacing.h"

namespace posenc::tool {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Sizes and strides of either rank by the same names.
struct Axes {
  std::int64_t tokens, heads, head_dim;
  std::int64_t sequence_stride, token_stride, head_stride;
};

Axes axes_of(const ConstTensorView& x) {
  if (x.rank == 3) return {x.shape[0], x.shape[1], x.shape[2], 0, x.strides[0], x.strides[1]};
  return {x.shape[2], x.shape[1], x.shape[3], x.strides[0], x.strides[2], x.strides[1]};
}

double element(const ConstTensorView& x, const Row& row, std::int64_t head, std::int64_t channel) {
  if (x.rank == 3) return reference::element(x, {row.token, head, channel});
  return reference::element(x, {row.sequence, head, row.token, channel});
}

// ---- the bound of docs/rotation.md ----

// What |c| and |s| are at most, and how far those that are used are from the reference's.
struct AngleBound {
  double size;
  double error;
};

// Exact: 0.501 ulp of a float below the attention factor a, up to 2^31, or 2^20 for what is not whole; beyond that
// 6e-8 a (docs/angles.md). In the model's float steps cos and sin are two roundings of one number, neighbours at most,
// and so are their products with a. Of bfloat16's this is what holds before they are rounded to it (BfloatTurns).
double table_error(double a, Angles angles, const RowPositions& positions) {
  const double farthest = std::max(std::abs(positions.least()), std::abs(positions.most()));
  switch (angles) {
    case Angles::exact:
      return farthest <= (positions.whole() ? 0x1p31 : 0x1p20) ? 0.501 * ulp_below(DType::f32, a) : 6e-8 * a;
    case Angles::float32:
    case Angles::bfloat16: return a * 0x1p-24 + (a == 1.0 ? 0.0 : ulp_below(DType::f32, a));
  }
  return 0.0;
}

// The inverse multiplies by 1 / a^2 in float: that is rounded, and so is the product.
AngleBound angle_bound(double a, double error, const RotationAsked& rotation) {
  if (rotation.direction != Direction::inverse) return {a + error, error};
  return {1 / a + error / (a * a), a == 1.0 ? error : error / (a * a) + 0x1p-23 / a};
}

// x c - partner s: what the angles are off, the rounded product, the rounded sum, and the rounding to a shorter dtype.
// The reference's own angles are off by 1e-15. Products of two errors are below 2^-20 of them.
double bound_of(DType dtype, double x, double partner, double result, const AngleBound& angles) {
  const double by_angles = (std::abs(x) + std::abs(partner)) * (angles.error + angles.size * 1e-15);
  const double product = 0.5 * ulp(DType::f32, std::abs(partner) * angles.size * (1 + 0x1p-20));
  const double before = (by_angles + product) * (1 + 0x1p-20);
  const double sum = before + 0.5 * ulp(DType::f32, std::abs(result) + before);
  return dtype == DType::f32 ? sum : sum + 0.5 * ulp(dtype, std::abs(result) + sum);
}

// How far a number that is `error` from x, at most, can be from x when both are rounded to bfloat16: hardly ever at
// all.
double error_in_bfloat16(double x, double error) {
  const auto rounded = [](double y) { return std::nearbyint(y / ulp(DType::bf16, y)) * ulp(DType::bf16, y); };
  return std::max(rounded(x + error) - rounded(x), rounded(x) - rounded(x - error));
}

// What rounding to bfloat16 makes of the error of a pair's cos and sin, of the rotated channels: [rows, head_dim].
std::vector<double> errors_in_bfloat16(const RotationAsked& rotation, const std::vector<std::int64_t>& partners,
                                       const Positions& positions, std::int64_t rows, double error) {
  const std::int64_t width = rotation.rope.head_dim;
  std::vector<double> x(static_cast<std::size_t>(rows * width));  // 1 and 0 in each pair: they rotate to cos and sin
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t c = static_cast<std::int64_t>(i) % width;
    x[i] = c < partners[static_cast<std::size_t>(c)] ? 1.0 : 0.0;
  }
  std::vector<double> out(x.size());
  (void)reference::rotate(rotation.rope, {.out = tensor(out.data(), {rows, 1, width}),
                                          .x = tensor(static_cast<const double*>(x.data()), {rows, 1, width}),
                                          .positions = positions,
                                          .length = rotation.length,
                                          .angles = Angles::float32});
  std::vector<double> of_pair(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % static_cast<std::size_t>(width);
    if (partners[c] < 0) continue;
    const std::size_t other = i - c + static_cast<std::size_t>(partners[c]);
    of_pair[i] = std::max(error_in_bfloat16(out[i], error), error_in_bfloat16(out[other], error));
  }
  return of_pair;
}

// For each channel the other one of its pair; -1 where it is not rotated.
std::vector<std::int64_t> partners_of(const Rope& rope) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(rope.head_dim), -1);
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const bool half = rope.pairing == Pairing::half;
    const std::int64_t a = rope.first_channel + (half ? p : 2 * p);
    const std::int64_t b = half ? a + rope.dim / 2 : a + 1;
    out[static_cast<std::size_t>(a)] = b;
    out[static_cast<std::size_t>(b)] = a;
  }
  return out;
}

bool are_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// What holds for every head.
struct Judge {
  DType dtype;
  std::vector<AngleBound> angles;  // [head_dim], of the row
  std::vector<std::int64_t> partners;
};

// One channel: itself and the other of its pair before RoPE, and what became of it.
struct Value {
  double before, partner, expected, got;
  AngleBound angles;
};

// Error in ulps and over the bound.
struct Judged {
  double ulp = kInfinite;
  double over_bound = kInfinite;
};

// A sum of products that passes the format's end becomes infinite, as it must: and who asks whether the output is sound
// is told that it is not.
Judged judged(const Judge& judge, const Value& v) {
  const double error = std::abs(v.got - v.expected);
  if (!std::isfinite(error)) return {};
  // The length of the rotated pair, as RotationError::ulp has it.
  const double length = std::hypot(v.before, v.partner) * v.angles.size;
  return {error / ulp(judge.dtype, length), error / bound_of(judge.dtype, v.before, v.partner, v.expected, v.angles)};
}

// One head before and after, and what it must be. [head_dim]
struct HeadValues {
  std::vector<double> before, expected, got;
};

void judge_head(const Judge& judge, const HeadValues& head, const Row& row, std::int64_t number, RotationError& worst) {
  const auto add = [&](const Judged& found, std::size_t channel) {
    ++worst.values;
    worst.ulp = std::max(worst.ulp, found.ulp);
    if (found.over_bound <= worst.over_bound) return;
    worst.over_bound = found.over_bound;
    worst.row = row;
    worst.head = number;
    worst.channel = static_cast<std::int64_t>(channel);
  };
  for (std::size_t c = 0; c < head.before.size(); ++c) {
    if (judge.partners[c] < 0) {
      // Judged{}: infinite.
      if (!are_same(head.before[c], head.got[c])) add({}, c);
      continue;
    }
    const auto other = static_cast<std::size_t>(judge.partners[c]);
    if (std::isfinite(head.before[c]) && std::isfinite(head.before[other])) {
      add(judged(judge, {head.before[c], head.before[other], head.expected[c], head.got[c], judge.angles[c]}), c);
    } else {
      worst.not_finite += c < other ? 1 : 0;
    }
  }
}

}  // namespace

std::vector<Row> spread_rows(std::int64_t batch, std::int64_t tokens, std::int64_t most) {
  const std::int64_t all = batch * tokens;
  const std::int64_t taken = std::min(all, most);
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < taken; ++i) {
    // i * (all - 1) / (taken - 1) without the product, which may be large.
    const std::int64_t gaps = std::max<std::int64_t>(taken - 1, 1);
    const std::int64_t at = i * ((all - 1) / gaps) + i * ((all - 1) % gaps) / gaps;
    rows.push_back({at / tokens, at % tokens});
  }
  return rows;
}

RowSample::RowSample(const ConstTensorView& x, std::vector<Row> rows)
    : rows_(std::move(rows)), dtype_(x.dtype), heads_(axes_of(x).heads), head_dim_(axes_of(x).head_dim) {
  const Axes axes = axes_of(x);
  const auto width = static_cast<std::size_t>(bytes_of(dtype_));
  const std::size_t head_bytes = static_cast<std::size_t>(head_dim_) * width;
  bytes_.resize(rows_.size() * static_cast<std::size_t>(heads_) * head_bytes);
  std::byte* to = bytes_.data();
  for (const Row& row : rows_) {
    for (std::int64_t h = 0; h < heads_; ++h, to += head_bytes) {
      const std::int64_t from =
          row.sequence * axes.sequence_stride + row.token * axes.token_stride + h * axes.head_stride;
      std::memcpy(to, static_cast<const std::byte*>(x.data) + from * bytes_of(dtype_), head_bytes);
    }
  }
}

RotationError RowSample::judge(const ConstTensorView& rotated, const RotationAsked& rotation,
                               const RowPositions& positions) const {
  RotationError worst;
  if (rows_.empty() || heads_ == 0) return worst;
  const ConstTensorView x =
      tensor(static_cast<const void*>(bytes_.data()), dtype_, {std::ssize(rows_), heads_, head_dim_});
  std::vector<double> truth(rows_.size() * static_cast<std::size_t>(heads_ * head_dim_));
  const RowPositions::List list = positions.of(rows_);
  (void)reference::rotate(rotation.rope, {.out = tensor(truth.data(), {std::ssize(rows_), heads_, head_dim_}),
                                          .x = x,
                                          .positions = view(list),
                                          .direction = rotation.direction,
                                          .length = rotation.length,
                                          .angles = rotation.angles});
  const Arithmetic arithmetic = rotation.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  const double factor = frequencies(rotation.rope, rotation.length, arithmetic).attention_factor;
  const double error = table_error(factor, rotation.angles, positions);
  const auto width = static_cast<std::size_t>(head_dim_);
  Judge judge{dtype_, std::vector(width, angle_bound(factor, error, rotation)), partners_of(rotation.rope)};
  std::vector<double> rounded;
  if (rotation.angles == Angles::bfloat16) {
    rounded = errors_in_bfloat16(rotation, judge.partners, view(list), std::ssize(rows_), error);
  }
  // [rows, heads, head_dim], as the rows were taken.
  auto expected = truth.cbegin();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    // cos and sin rounded to bfloat16 are off by other amounts in each row and channel.
    for (std::size_t c = 0; c < width && !rounded.empty(); ++c) {
      judge.angles[c] = angle_bound(factor, rounded[r * width + c], rotation);
    }
    for (std::int64_t h = 0; h < heads_; ++h, expected += head_dim_) {
      HeadValues head{.expected = {expected, expected + head_dim_}};
      for (std::int64_t c = 0; c < head_dim_; ++c) {
        head.before.push_back(reference::element(x, {static_cast<std::int64_t>(r), h, c}));
        head.got.push_back(element(rotated, rows_[r], h, c));
      }
      judge_head(judge, head, rows_[r], h, worst);
    }
  }
  return worst;
}

}  // namespace posenc::tool
