// One call of attend_backward: the layer as attend lowers it, and where gradients are summed. Made once a call; threads
// read it, and add to its sums in order (task_order.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/backward/row_rotations.h"
#include "cpu/backward/term_sums.h"
#include "posenc/attend_backward.h"

namespace posenc::cpu {

// Sums of gradients of keys or values, [rows][KV heads][channels]: in the caller's tensor where that is of floats, else
// in memory of their own.
struct KeySums {
  bool is_asked = false;
  float* data = nullptr;  // null: not asked for
  RowsView at{};
  AlignedFloats own{};

  float* row(std::int64_t row, std::int64_t head) const {
    return const_cast<float*>(static_cast<const float*>(at.at(row, head)));
  }
};

struct BackwardCall {
  const AttendBackwardArgs& args;
  AttendCall call;
  RowsView out, d_out;
  Carries d_carries{};         // of args.d_carry
  std::int64_t key_width = 0;  // head_dim in whole registers: rows of channels are so far apart
  std::int64_t value_width = 0;
  bool keeps_raw_keys = false;    // gradients of keys as given are summed beside those of rotated ones
  std::vector<KeySums> d_keys{};  // of each region, or of all rows as they stand
  KeySums d_raw_keys{};           // where keeps_raw_keys
  KeySums d_values{};
  std::vector<char> wants{};  // of each term: the gradients of its numbers
  bool wants_values = false;  // of ValueDistance
  bool wants_frequencies = false;
  bool orders_bias = false;             // several tasks add to one element of d_bias
  std::vector<AlignedFloats> padded{};  // rows of KeyDistance, where channels are no whole registers: key_width apart
  std::vector<TermSums> of_terms{};     // of all heads
  std::vector<RowSums> of_rows{};       // of each term
  TermSums of_values{};
  std::vector<double> of_sinks{};               // [heads]
  std::vector<FrequencySums> of_frequencies{};  // [KV heads]

  std::int64_t regions() const { return std::max<std::int64_t>(std::ssize(call.lowered.regions.regions), 1); }
  const math::Region* region(std::int64_t r) const {
    return call.lowered.regions.regions.empty() ? nullptr : &call.lowered.regions.regions[static_cast<std::size_t>(r)];
  }
  double inverse_cap(SoftCap::Order order) const {
    const std::optional<SoftCap>& cap = call.layer.soft_cap;
    return cap && cap->order == order ? 1.0 / cap->cap : 0.0;
  }
};

}  // namespace posenc::cpu
