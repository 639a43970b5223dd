// From sums to outputs: o = out / (sum + exp(sink - m)), lse = m + ln(sum), values rotated back by the query's position
// where the plan says so (DeepSeek V4), vectors of values by distance (Shaw), and one rounding to the output's dtype.
#include "cpu/attend/write_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/attend/query_numbers.h"
#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// To what has been summed for one lane, the vectors of its places: [value_dim].
void add_places(const AttendCall& call, const LaneBlock& block, std::int64_t l, float* row) {
  const std::int64_t width = call.layer.value_dim;
  const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values);
  if (values == nullptr) return;
  const std::int64_t first = (values->per_head ? block.lane[index(l)].head * values->count : 0) * width;
  for (std::int64_t place = 0; place < values->count; ++place) {
    const float mass = block.mass[index(place * block.lanes + l)];
    const float* const vector = call.value_vectors.data() + first + place * width;
    for (std::int64_t c = 0; c < width; ++c) row[c] += mass * vector[c];
  }
}

// Values that were rotated by their positions, rotated back by the query's.
void rotate_back(const AttendCall& call, const Lane& lane, float* row, RowScratch& scratch) {
  const auto* values = std::get_if<math::ValueRotation>(&call.lowered.values);
  if (values == nullptr || !values->inverse_on_output) return;
  for (auto rotation = call.rotations.rbegin(); rotation != call.rotations.rend(); ++rotation) {
    for (std::size_t axis = 0; axis < call.lowered.coordinates.size(); ++axis) {
      scratch.positions[axis * kTileKeys] = call.lowered.coordinates[axis].q[index(lane.row)];
    }
    rotate_rows(call, *rotation, true, math::Side::query, 1, scratch.positions.data(), nullptr, Direction::inverse, row,
                scratch);
  }
}

// Gates of CoPE have been summed on the way; forget gates of these keys are what the query's row has.
void write_carries(const AttendCall& call, const LaneBlock& block, std::int64_t l) {
  const Lane& lane = block.lane[index(l)];
  const auto& [gates, forget] = call.carries;
  if (!gates.empty()) number_of(gates, lane.row, lane.head) = block.carry[index(l)];
  if (forget.empty()) return;
  for (const math::Term& term : call.lowered.terms) {
    const auto* column = std::get_if<math::Column>(&term);
    if (column == nullptr || !column->is_of_past()) continue;
    const double own = column->of_row(lane.head, lane.row, call.lowered.k_rows);
    number_of(forget, lane.row, lane.head) = static_cast<float>(static_cast<double>(block.came_along[index(l)]) + own);
  }
}

}  // namespace

// lse is of the exact weights and without the sink; the divisor may be that of rounded ones, and has the sink.
void write_block(const AttendCall& call, const LaneBlock& block, RowScratch& scratch) {
  const RowsView out = rows_view(call.args.out);
  const std::int64_t width = call.layer.value_dim;
  // The largest weight is 1, or one is NaN.
  const auto sees_any = [&](std::int64_t l) { return block.sum[index(l)] != 0.0F; };
  std::array<float, kMaxLanes> by{};
  for (std::int64_t l = 0; l < block.used; ++l) {
    const bool rounds_weights = call.value_pairs != nullptr && !block.decode;
    auto total = static_cast<double>(rounds_weights ? block.divisor[index(l)] : block.sum[index(l)]);
    const auto max = static_cast<double>(block.max[index(l)]);
    if (call.layer.sinks && sees_any(l)) {
      total += std::exp(read(call.args.weights.sinks, {block.lane[index(l)].head}) - max);
    }
    by[index(l)] = static_cast<float>(sees_any(l) ? 1.0 / total : 0.0);
  }
  // Vectors by distance are added before.
  const bool is_divided = !block.decode && !std::holds_alternative<math::ValueDistance>(call.lowered.values);
  if (block.decode) {
    std::copy_n(block.out.begin(), block.used * width, scratch.rows.begin());
  } else {
    call.attention.rows_of_columns({.from = block.out.data(),
                                    .to = scratch.rows.data(),
                                    .by = is_divided ? by.data() : nullptr,
                                    .lanes = block.lanes,
                                    .channels = width});
  }
  for (std::int64_t l = 0; l < block.used; ++l) {
    float* const row = scratch.rows.data() + l * width;
    const Lane& lane = block.lane[index(l)];
    if (!is_divided) {
      add_places(call, block, l, row);
      for (std::int64_t c = 0; c < width; ++c) row[c] *= by[index(l)];
    }
    rotate_back(call, lane, row, scratch);
    write_floats(call.kernels, row, width, out.element, const_cast<void*>(out.at(lane.row, lane.head)));
    if (!call.args.lse.empty()) {
      const double lse = static_cast<double>(block.max[index(l)]) + std::log(static_cast<double>(block.sum[index(l)])) +
                         block.shift[index(l)];
      number_of(call.args.lse, lane.row, lane.head) =
          static_cast<float>(sees_any(l) ? lse : -std::numeric_limits<double>::infinity());
    }
    write_carries(call, block, l);
  }
}

}  // namespace posenc::cpu
