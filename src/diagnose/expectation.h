// What a plan, or the caller, says of the tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/positions/position_rules.h"
#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

struct Expectation {
  std::optional<Rope> rope{};
  const Plan* plan = nullptr;
  std::optional<std::int64_t> length{};   // of the sequence, for rules that depend on it
  std::vector<std::vector<double>> axes;  // positions [axes][rows]
  bool counted = true;
  bool start_known = false;
  double start = 0.0;

  Places places() const { return {.axes = axes}; }
  ExpectedPlaces along(std::size_t axis, const MeasuredTable& table) const {
    return {table.sequences, table.tokens, axes[axis], counted, start_known};
  }
};

// Throws Error for a rotation that is no rope or does not fit the tensors, and for positions that do not fit.
Expectation expectation_of(const DiagnoseArgs& args, const Samples& samples);

}  // namespace posenc::inline v0_2::port
