// Linear attention's recurrence on the caller's state, for decode:
//
//   S += (R_j f(k_j)) v_j^T,  z += f(k_j),  o_i = (R_i f(q_i))^T S / f(q_i)^T z
#include "cpu/linear/linear_step.h"

#include <algorithm>

#include "cpu/call/row_floats.h"
#include "cpu/linear/linear_division.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

std::int64_t few_lanes(std::int64_t heads) { return whole(heads, kernels::kDecodeLanes); }

}  // namespace

// S must be one matrix without gaps, since the kernel writes its rows of channels one after another, and head_dim fills
// its groups of lanes.
bool takes_steps(const AttendCall& call, const LinearState& state) {
  const bool is_few = std::ranges::all_of(
      call.rows.sequences, [](const math::SequenceRows& s) { return std::max(s.q_count, s.k_count) <= kDecodeRows; });
  return is_few && !state.products.empty() && state.products.strides[2] == call.layer.value_dim &&
         call.layer.head_dim % kernels::kDecodeLanes == 0;
}

// nothing_ stays zeros: running_totals wants a running sum, and here all keys are in totals_ already.
LinearStepper::LinearStepper(const AttendCall& call, kernels::Feature feature, const LinearState& state)
    : call_(call),
      state_(state),
      keys_(call, feature, kDecodeRows),
      query_(call, feature, 1),
      values_(index(kDecodeRows * call.layer.value_dim)),
      lanes_(index(call.layer.head_dim * few_lanes(call.group))),
      out_(index(few_lanes(call.group) * call.layer.value_dim)),
      denominators_(index(call.group)),
      nothing_(index(call.layer.head_dim)) {}

// Causal: before each query the keys up to its own are added; the last query stands with the last key. Keys that no
// query of this call sees still belong to the state.
void LinearStepper::attend(std::int64_t sequence, std::int64_t kv_head) {
  const math::SequenceRows& s = call_.rows.sequences[index(sequence)];
  const TensorView& products = state_.products;
  const TensorView& totals = state_.totals;
  products_ = static_cast<float*>(products.data) + sequence * products.strides[0] + kv_head * products.strides[1];
  totals_ = static_cast<float*>(totals.data) + sequence * totals.strides[0] + kv_head * totals.strides[1];
  keys_.read(math::Side::key, s.k_first, kv_head, s.k_count);
  for (std::int64_t key = 0; key < s.k_count; ++key) {
    read_floats(call_.kernels, call_.v.element, call_.v.at(s.k_first + key, kv_head), call_.layer.value_dim,
                values_.data() + key * call_.layer.value_dim);
  }
  const bool is_causal = call_.layer.mask.kind == MaskKind::causal;
  std::int64_t key = 0;
  for (std::int64_t row = 0; row < s.q_count; ++row) {
    const std::int64_t end = is_causal ? row + 1 + s.k_count - s.q_count : s.k_count;
    while (key < end) add_key(key++);
    attend_row(s.q_first + row, kv_head);
  }
  while (key < s.k_count) add_key(key++);
}

// S += k~ v^T: channels of the key are lanes, and the value the one row that is weighted.
void LinearStepper::add_key(std::int64_t key) {
  const std::int64_t channels = call_.layer.head_dim;
  call_.attention.decode_weighted({.a = values_.data() + key * call_.layer.value_dim,
                                   .a_row = call_.layer.value_dim,
                                   .p = keys_.rotated() + key * channels,
                                   .out = products_,
                                   .rows = 1,
                                   .depth = call_.layer.value_dim,
                                   .lanes = channels,
                                   .each = channels});
  for (std::int64_t c = 0; c < channels; ++c) totals_[c] += keys_.plain()[key * channels + c];
}

// S^T q~ of the heads that share the KV head: they are lanes, and the rows of S are weighted.
void LinearStepper::attend_row(std::int64_t row, std::int64_t kv_head) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t width = call_.layer.value_dim;
  const std::int64_t lanes = few_lanes(call_.group);
  for (std::int64_t g = 0; g < call_.group; ++g) {
    query_.read(math::Side::query, row, kv_head * call_.group + g, 1);
    for (std::int64_t c = 0; c < channels; ++c) lanes_[index(c * lanes + g)] = query_.rotated()[c];
    call_.attention.running_totals({.q = query_.plain(),
                                    .before = totals_,
                                    .sum = nothing_.data(),
                                    .totals = denominators_.data() + g,
                                    .rows = 1,
                                    .width = channels});
  }
  std::ranges::fill(out_, 0.0F);
  call_.attention.decode_weighted({.a = products_,
                                   .a_row = width,
                                   .p = lanes_.data(),
                                   .out = out_.data(),
                                   .rows = channels,
                                   .depth = width,
                                   .lanes = lanes,
                                   .each = lanes});
  const RowsView out = rows_view(call_.args.out);
  for (std::int64_t g = 0; g < call_.group; ++g) {
    float* const own = out_.data() + g * width;
    divide(own, width, denominators_[index(g)], own);
    write_floats(call_.kernels, own, width, out.element, const_cast<void*>(out.at(row, kv_head * call_.group + g)));
  }
}

}  // namespace posenc::cpu
