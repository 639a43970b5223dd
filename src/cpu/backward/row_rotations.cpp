// Rotations of rows and their transposes, by the kernel of rotate(): cos and sin as the forward pass has them, with
// other signs.
#include "cpu/backward/row_rotations.h"

#include <algorithm>
#include <array>

#include "cpu/lower/weight_reader.h"
#include "math/rope/rotation.h"

namespace posenc::cpu {

FrequencySums no_frequencies(const AttendCall& call) {
  FrequencySums none;
  for (const CallRotation& rotation : call.rotations) none.emplace_back(index(rotation.pairs));
  return none;
}

FrequencySums summed(std::span<const FrequencySums> parts) {
  FrequencySums out = parts.front();
  for (const FrequencySums& part : parts.subspan(1)) {
    for (std::size_t n = 0; n < out.size(); ++n) {
      for (std::size_t p = 0; p < out[n].size(); ++p) out[n][p] += part[n][p];
    }
  }
  return out;
}

RowRotations::RowRotations(const AttendCall& call, std::pmr::memory_resource* memory)
    : call_(call), scratch_(call, memory) {}

void RowRotations::place(Of of, std::int64_t first, std::int64_t count, const math::Region* region) {
  of_ = of;
  first_ = first;
  count_ = count;
  region_ = region;
}

bool RowRotations::write(const CallRotation& rotation) {
  const bool is_query = of_ == Of::queries || of_ == Of::outputs;
  const bool is_value = of_ == Of::values || of_ == Of::outputs;
  const bool rotates = is_value || (is_query ? rotation.rule->rotates_queries : rotation.rule->rotates_keys);
  if (!rotates && (is_value || rotation.rule->decay.empty())) return false;
  const AlignedFloats& kept = is_query ? rotation.of_queries : rotation.of_keys;
  if (rotates && region_ == nullptr && !kept.empty()) {
    for (std::int64_t n = 0; n < count_; ++n) {
      scratch_.cos[index(n)] = kept.data() + (first_ + n) * 2 * rotation.pairs;
    }
    return true;
  }
  std::array<double, kTileKeys> beyond{};
  for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
    const math::Coordinate& own = call_.lowered.coordinates[axis];
    const std::vector<double>& along = is_query ? own.q : own.k;
    const std::vector<double>& at =
        region_ == nullptr ? along : (is_query ? region_->q_positions : region_->k_positions);
    for (std::int64_t n = 0; n < count_; ++n) {
      scratch_.positions[axis * kTileKeys + index(n)] = at[index(first_ + n)];
      if (axis == 0) beyond[index(n)] = along[index(first_ + n)] - along[index(first_)];
    }
  }
  write_angles(call_, rotation, rotates, is_query ? math::Side::query : math::Side::key, count_,
               scratch_.positions.data(), is_value ? nullptr : beyond.data(), scratch_, scratch_.cos_sin.data());
  for (std::int64_t n = 0; n < count_; ++n) scratch_.cos[index(n)] = scratch_.cos_sin.data() + n * 2 * rotation.pairs;
  return true;
}

void RowRotations::apply(const CallRotation& rotation, float cos_scale, float sin_scale, float* rows,
                         std::int64_t stride) const {
  const math::Rotation& rule = *rotation.rule;
  call_.kernels.rotate({.rows = count_,
                        .heads = 1,
                        .pairs = rotation.pairs,
                        .partner = rule.pairing == Pairing::half ? rule.dim / 2 : 0,
                        .cos = scratch_.cos.data(),
                        .sin_offset = rotation.pairs,
                        .cos_scale = cos_scale,
                        .sin_scale = sin_scale,
                        .from = rows + rule.first_channel,
                        .from_row = stride,
                        .to = rows + rule.first_channel,
                        .to_row = stride});
}

// Of rotated rows y and their gradients d: what is hidden has none, and adds nothing, whatever it is.
// Positions are those of the pair's axis, with the rotation's offset.
void RowRotations::sum_frequencies(const CallRotation& rotation, const float* y, const float* d, std::int64_t stride,
                                   double sign, std::vector<double>& to) const {
  const math::Rotation& rule = *rotation.rule;
  const bool is_query = of_ == Of::queries || of_ == Of::outputs;
  const bool is_value = of_ == Of::values || of_ == Of::outputs;
  if (!is_value && !(is_query ? rule.rotates_queries : rule.rotates_keys)) return;
  for (std::int64_t p = 0; p < rotation.pairs; ++p) {
    const auto [a, b] = math::channels_of_pair(rule.pairing, rule.first_channel, rule.dim, p);
    const std::size_t axis = rule.axis_of_pair.empty() ? 0 : index(rule.axis_of_pair[index(p)]);
    const math::Coordinate& own = call_.lowered.coordinates[axis];
    const std::vector<double>& along = is_query ? own.q : own.k;
    const std::vector<double>& at =
        region_ == nullptr ? along : (is_query ? region_->q_positions : region_->k_positions);
    double sum = 0.0;
    for (std::int64_t n = 0; n < count_; ++n) {
      const float* const row = y + n * stride;
      const float* const gradient = d + n * stride;
      if (gradient[a] == 0.0F && gradient[b] == 0.0F) continue;
      const double of_angle = static_cast<double>(row[a]) * static_cast<double>(gradient[b]) -
                              static_cast<double>(row[b]) * static_cast<double>(gradient[a]);
      sum += (at[index(first_ + n)] + rule.offset) * of_angle;
    }
    to[index(p)] += sign * sum;
  }
}

void RowRotations::rotate(std::size_t count, float* rows, std::int64_t stride) {
  for (const CallRotation& rotation : std::span(call_.rotations).first(count)) {
    if (write(rotation)) apply(rotation, 1.0F, 1.0F, rows, stride);
  }
}

void RowRotations::rotate_back(float* gradients, std::int64_t stride, const float* given, float* scratch,
                               FrequencySums* frequencies) {
  for (std::size_t n = call_.rotations.size(); n-- > 0;) {
    const CallRotation& rotation = call_.rotations[n];
    if (frequencies != nullptr) {
      std::copy_n(given, count_ * stride, scratch);
      rotate(n + 1, scratch, stride);
      sum_frequencies(rotation, scratch, gradients, stride, 1.0, (*frequencies)[n]);
    }
    if (write(rotation)) apply(rotation, 1.0F, -1.0F, gradients, stride);
  }
}

// The output was o = R'_0 R'_1 ... o', R' = R^T / f: each R' passes gradients on by R / f, and what it made was o times
// f R so far.
void RowRotations::rotate_outputs(float* gradients, float* outputs, std::int64_t stride, FrequencySums* frequencies) {
  for (std::size_t n = 0; n < call_.rotations.size(); ++n) {
    const CallRotation& rotation = call_.rotations[n];
    if (!write(rotation)) continue;
    if (frequencies != nullptr) sum_frequencies(rotation, outputs, gradients, stride, -1.0, (*frequencies)[n]);
    const auto once = static_cast<float>(1.0 / (rotation.rule->factor * rotation.rule->factor));
    apply(rotation, once, once, gradients, stride);
    apply(rotation, 1.0F, 1.0F, outputs, stride);
  }
}

}  // namespace posenc::cpu
