// A block of queries at the start of the backward pass: q as attend has it, in rows as well; d_out in rows and columns;
// and for each query
//
//   delta = sum_c d_out_c out_c - d_lse exp(lse' - lse)       lse' = ln(exp(lse) + exp(sink))
//
// so that dL/dz = p (dL/dp - delta). FlashAttention-2, arXiv 2307.08691, section 3.1.
#include "cpu/backward/gradient_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <variant>

#include "cpu/attend/lane_rows.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/call/finite.h"
#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr float kSeesNothing = std::numeric_limits<float>::infinity();

// [head_dim][lanes] to rows that are `width` apart, zeros behind them.
void padded_rows(const float* columns, std::int64_t lanes, std::int64_t channels, std::int64_t width, float* rows) {
  for_lanes_and_channels(lanes, channels,
                         [=](std::int64_t l, std::int64_t c) { rows[l * width + c] = columns[c * lanes + l]; });
  for (std::int64_t l = 0; l < lanes; ++l) std::fill(rows + l * width + channels, rows + (l + 1) * width, 0.0F);
}

bool are_all_finite(std::span<const float> x) { return are_finite(kernels::Element::f32, x.data(), std::ssize(x)); }

// In several sums, so that additions need not wait for each other.
double dot(const float* a, const float* b, std::int64_t count) {
  std::array<double, 8> sums{};
  std::int64_t c = 0;
  for (; c + std::ssize(sums) <= count; c += std::ssize(sums)) {
    for (std::size_t n = 0; n < sums.size(); ++n) {
      sums[n] += static_cast<double>(a[c + static_cast<std::int64_t>(n)]) *
                 static_cast<double>(b[c + static_cast<std::int64_t>(n)]);
    }
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; c < count; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return sum;
}

double at_row(const ConstTensorView& x, std::int64_t row, std::int64_t head) {
  if (x.rank == 2) return read(x, {row, head});
  return read(x, {row / x.shape[2], head, row % x.shape[2]});
}

// As large as what the term has of lanes in GradientBlock::of_term.
std::int64_t floats_of_gradient(const AttendCall& call, std::size_t t) { return floats_of_term(call, t); }

void read_output_gradients(const BackwardCall& backward, RowRotations& angles, FrequencySums* frequencies,
                           RowScratch& scratch, GradientBlock& block) {
  const AttendCall& call = backward.call;
  const std::int64_t channels = call.layer.value_dim;
  const std::int64_t width = backward.value_width;
  const LaneBlock& lanes = block.lanes;
  float* const outputs = scratch.rows.data();  // [lanes][value_dim]
  block.d_out_rows.assign(index(lanes.lanes * width), 0.0F);
  for (std::int64_t l = 0; l < lanes.used; ++l) {
    const Lane& lane = lanes.lane[index(l)];
    if (call.has_seen_nothing(lane.row, lane.head)) {
      std::fill_n(outputs + l * channels, channels, 0.0F);
      continue;
    }
    float* const row = block.d_out_rows.data() + l * width;
    read_floats(call.kernels, backward.d_out.element, backward.d_out.at(lane.row, lane.head), channels, row);
    read_floats(call.kernels, backward.out.element, backward.out.at(lane.row, lane.head), channels,
                outputs + l * channels);
    double sum = dot(row, outputs + l * channels, channels);
    const double lse = at_row(backward.args.lse, lane.row, lane.head);
    double whole_lse = lse;
    if (call.layer.sinks) {
      const double sink = read(call.args.weights.sinks, {lane.head});
      const double most = std::max(lse, sink);
      whole_lse = most + std::log(std::exp(lse - most) + std::exp(sink - most));
      block.of_sink -= std::exp(sink - whole_lse) * sum;
    }
    if (!backward.args.d_lse.empty()) {
      sum -= at_row(backward.args.d_lse, lane.row, lane.head) * std::exp(whole_lse - lse);
    }
    block.lse[index(l)] = static_cast<float>(whole_lse - lanes.shift[index(l)]);
    block.delta[index(l)] = static_cast<float>(sum);
  }
  const auto* values = std::get_if<math::ValueRotation>(&call.lowered.values);
  if (values != nullptr && values->inverse_on_output) {
    block.outputs.assign(index(lanes.lanes * width), 0.0F);
    for (std::int64_t l = 0; l < lanes.used; ++l) {
      std::copy_n(outputs + l * channels, channels, block.outputs.data() + l * width);
    }
    angles.place(RowRotations::Of::outputs, lanes.lane[0].row, lanes.used, nullptr);
    angles.rotate_outputs(block.d_out_rows.data(), block.outputs.data(), width, frequencies);
  }
  block.d_out.resize(index(channels * lanes.lanes));
  for_lanes_and_channels(lanes.lanes, channels, [&](std::int64_t l, std::int64_t c) {
    block.d_out[index(c * lanes.lanes + l)] = block.d_out_rows[index(l * width + c)];
  });
}

// d_out . T of all places: what a weight's gradient takes by its distance.
void multiply_places(const BackwardCall& backward, GradientBlock& block) {
  const AttendCall& call = backward.call;
  const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values);
  if (values == nullptr) return;
  const std::int64_t lanes = block.lanes.lanes;
  const std::int64_t width = call.layer.value_dim;
  block.at_places.assign(index((values->count + 1) * lanes), 0.0F);
  call.attention.product(
      {.a = call.value_vectors.data() + (values->per_head ? block.lanes.head() * values->count : 0) * width,
       .a_row = width,
       .a_step = 1,
       .b = block.d_out.data(),
       .c = block.at_places.data(),
       .rows = values->count,
       .depth = width,
       .lanes = lanes});
}

}  // namespace

GradientBlock::GradientBlock(const BackwardCall& backward, std::int64_t tiles, std::pmr::memory_resource* memory)
    : lanes(backward.call, memory) {
  const AttendCall& call = backward.call;
  const std::int64_t most = call.max_lanes;
  q_rows.reserve(index(backward.regions() * most * backward.key_width));
  if (call.takes_raw_queries) raw_rows.reserve(index(most * backward.key_width));
  d_out.reserve(index(most * call.layer.value_dim));
  d_out_rows.reserve(index(most * backward.value_width));
  d_q.reserve(index(backward.regions() * most * call.layer.head_dim));
  if (call.takes_raw_queries) d_raw.reserve(index(most * call.layer.head_dim));
  if (std::holds_alternative<math::ValueRotation>(call.lowered.values)) {
    outputs.reserve(index(most * backward.value_width));
  }
  if (const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values)) {
    at_places.reserve(index((values->count + 1) * most));
  }
  of_term.resize(call.lowered.terms.size());
  of_rows.resize(call.lowered.terms.size());
  of_places.resize(call.lowered.terms.size());
  lanes.met.resize(call.lowered.terms.size());
  for (std::size_t t = 0; t < of_places.size(); ++t) {
    const bool by_place = std::holds_alternative<math::QueryDistance>(call.lowered.terms[t]);
    if (by_place || !call.projected[t].rows.empty()) of_places[t] = lanes.met[t] = PlaceRing(most);
  }
  for (std::size_t t = 0; t < of_term.size(); ++t) of_term[t].reserve(index(floats_of_gradient(call, t)));
  if (call.runs_backwards) carries.reserve(index(tiles * most));
}

void begin(const BackwardCall& backward, std::span<const Lane> lanes, RowScratch& scratch, RowRotations& angles,
           FrequencySums* frequencies, GradientBlock& block) {
  const AttendCall& call = backward.call;
  begin(call, {.lanes = lanes, .one_head = true}, scratch, block.lanes);
  const LaneBlock& own = block.lanes;
  const std::int64_t channels = call.layer.head_dim;
  block.lse.fill(kSeesNothing);  // of queries that see nothing, and of lanes without one
  block.delta.fill(0.0F);
  block.of_sink = 0.0;
  block.gates_before.fill(0.0F);
  if (const TensorView& before = backward.d_carries.gates; !before.empty()) {
    for (std::int64_t l = 0; l < own.used; ++l) {
      const Lane& lane = own.lane[index(l)];
      block.gates_before[index(l)] = number_of(before, lane.row, lane.head);
    }
  }
  block.q_rows.resize(index(backward.regions() * own.lanes * backward.key_width));
  for (std::int64_t r = 0; r < backward.regions(); ++r) {
    padded_rows(own.q.data() + r * channels * own.lanes, own.lanes, channels, backward.key_width,
                block.q_rows.data() + r * own.lanes * backward.key_width);
  }
  if (call.takes_raw_queries) {
    block.raw_rows.resize(index(own.lanes * backward.key_width));
    padded_rows(own.raw.data(), own.lanes, channels, backward.key_width, block.raw_rows.data());
    block.d_raw.assign(index(own.lanes * channels), 0.0F);
  }
  read_output_gradients(backward, angles, frequencies, scratch, block);
  multiply_places(backward, block);
  block.d_q.assign(index(backward.regions() * own.lanes * channels), 0.0F);
  for (std::size_t t = 0; t < block.of_term.size(); ++t) {
    block.of_term[t].assign(index(floats_of_gradient(call, t) / call.max_lanes * own.lanes), 0.0F);
    block.of_rows[t].fill(0.0);
    block.of_places[t].begin(own.lanes);
  }
  block.is_finite = are_all_finite(own.q) && are_all_finite(block.d_out);
}

}  // namespace posenc::cpu
