// The sums S and z over the keys, in columns that are as wide as a product's lanes; from and to the caller's state. A
// chunk is summed apart before it is added, which keeps the rounding error of long contexts small.
#include "cpu/linear/linear_sums.h"

#include <algorithm>

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// value_dim in parts of max_lanes channels, the last of them rounded up to whole registers.
std::vector<ValueColumn> columns_of(const AttendCall& call) {
  const std::int64_t wide = call.attention.register_lanes;
  std::vector<ValueColumn> out;
  std::int64_t place = 0;
  for (std::int64_t channel = 0; channel < call.layer.value_dim; channel += call.max_lanes) {
    const std::int64_t used = std::min(call.max_lanes, call.layer.value_dim - channel);
    const std::int64_t lanes = (used + wide - 1) / wide * wide;
    out.push_back({.channel = channel, .used = used, .lanes = lanes, .place = place});
    place += lanes;
  }
  return out;
}

// The first channel of a row of the state: [sequences, kv_heads, head_dim, value_dim], or without the last axis.
float* row_of(const TensorView& x, std::int64_t sequence, std::int64_t kv_head, std::int64_t channel) {
  const std::int64_t along = x.rank == 4 ? channel * x.strides[2] : 0;
  return static_cast<float*>(x.data) + sequence * x.strides[0] + kv_head * x.strides[1] + along;
}

}  // namespace

LinearSums::LinearSums(const AttendCall& call)
    : kernels_(call.attention), head_dim_(call.layer.head_dim), columns_(columns_of(call)) {
  products_.resize(index(head_dim_ * lanes()));
  products_of_chunk_.resize(index(head_dim_ * call.max_lanes));
  totals_.resize(index(head_dim_));
  totals_of_chunk_.resize(index(head_dim_));
}

// The state's rows are [value_dim]; here each column has its own block, [head_dim][lanes], with zeros beyond `used`.
void LinearSums::begin(const LinearState& state, std::int64_t sequence, std::int64_t kv_head) {
  std::ranges::fill(products_, 0.0F);
  std::ranges::fill(totals_, 0.0F);
  if (state.products.empty()) return;
  for (const ValueColumn& column : columns_) {
    float* to = products_.data() + column.place * head_dim_;
    for (std::int64_t c = 0; c < head_dim_; ++c, to += column.lanes) {
      std::copy_n(row_of(state.products, sequence, kv_head, c) + column.channel, column.used, to);
    }
  }
  std::copy_n(row_of(state.totals, sequence, kv_head, 0), head_dim_, totals_.data());
}

void LinearSums::end(const LinearState& state, std::int64_t sequence, std::int64_t kv_head) const {
  if (state.products.empty()) return;
  for (const ValueColumn& column : columns_) {
    const float* from = products(column);
    for (std::int64_t c = 0; c < head_dim_; ++c, from += column.lanes) {
      std::copy_n(from, column.used, row_of(state.products, sequence, kv_head, c) + column.channel);
    }
  }
  std::copy_n(totals_.data(), head_dim_, row_of(state.totals, sequence, kv_head, 0));
}

// A product takes its rows from a with a_row 1 and a_step head_dim: that is the transpose of the keys.
void LinearSums::add(const ChunkKeys& keys) {
  for (const ValueColumn& column : columns_) {
    kernels_.product({.a = keys.rotated,
                      .a_row = 1,
                      .a_step = head_dim_,
                      .b = keys.values + column.place * keys.count,
                      .c = products_of_chunk_.data(),
                      .rows = head_dim_,
                      .depth = keys.count,
                      .lanes = column.lanes});
    kernels_.add_rows(
        {.to = {.scores = products_.data() + column.place * head_dim_, .keys = head_dim_, .lanes = column.lanes},
         .added = products_of_chunk_.data(),
         .step = column.lanes});
  }
  std::ranges::fill(totals_of_chunk_, 0.0F);
  for (std::int64_t m = 0; m < keys.count; ++m) {
    for (std::int64_t c = 0; c < head_dim_; ++c) totals_of_chunk_[index(c)] += keys.plain[m * head_dim_ + c];
  }
  for (std::int64_t c = 0; c < head_dim_; ++c) totals_[index(c)] += totals_of_chunk_[index(c)];
}

}  // namespace posenc::cpu
