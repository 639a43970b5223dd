// RoPE in posenc demo: q and k of random numbers are rotated as posenc rotate does (rotated_rows.h), a sample is judged
// as --check does, and the time is that of posenc bench rotate.
#include "bench/demo_rotation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "bench/bench_words.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "rotate/rotate_report.h"
#include "rotate/rotated_rows.h"

namespace posenc::tool {
namespace {

constexpr std::array<DType, 3> kShownTypes{DType::f32, DType::f16, DType::bf16};
constexpr std::int64_t kJudgedValues = std::int64_t{1} << 20;  // of a dtype, in tenths of a second of the reference

// Of queries and keys: each figure is the worse of the two, values are counted together.
void take_worse(RotationError& worst, const RotationError& other) {
  const std::int64_t values = worst.values + other.values;
  const double ulp = std::max(worst.ulp, other.ulp);
  if (other.over_bound > worst.over_bound) worst = other;
  worst.values = values;
  worst.ulp = ulp;
}

// Different seeds: keys that are equal to queries would be judged twice.
RotationError judge(const DemoRotation& shape, const Rope& rope, DType dtype) {
  const auto count = [&](std::int64_t heads) { return kDemoTokens * heads * shape.head_dim; };
  // Rotated in place; rows that are judged are copied before.
  std::vector<std::byte> q = random_heads(dtype, count(shape.heads), 1);
  std::vector<std::byte> k = random_heads(dtype, count(shape.kv_heads), 2);
  const RotatedTensors tensors{.q = tensor(q.data(), dtype, {kDemoTokens, shape.heads, shape.head_dim}),
                               .k = tensor(k.data(), dtype, {kDemoTokens, shape.kv_heads, shape.head_dim})};
  const std::vector<Row> rows = spread_rows(1, kDemoTokens, shape.judged);
  const RowSample q_before(tensors.q, rows);
  const RowSample k_before(tensors.k, rows);
  const RowPositions positions({.values = shape.first}, rope.axes.names, 1, kDemoTokens, 0);
  const RotationAsked rotation{.rope = rope};
  rotate_rows(tensors, rotation, positions, [](std::int64_t, std::int64_t) {});
  RotationError worst = q_before.judge(tensors.q, rotation, positions);
  take_worse(worst, k_before.judge(tensors.k, rotation, positions));
  return worst;
}

}  // namespace

const LayerPlan& layer_with(const Plan& plan, const Rope& wanted) {
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        if (rotate.role != RotateRole::indexer && rope(rotate) == wanted) return layer;
      }
    }
  }
  return plan.stacks.front().layers.front();  // not reached: the rotation was found in the plan
}

std::vector<std::byte> random_heads(DType dtype, std::int64_t count, std::uint32_t seed) {
  struct Bits {
    std::uint32_t one;           // 1.0
    std::uint32_t exponent_one;  // the lowest bit of the exponent
  };
  const Bits bits = dtype == DType::f32    ? Bits{0x3F800000U, 0x00800000U}
                    : dtype == DType::bf16 ? Bits{0x3F80U, 0x0080U}
                                           : Bits{0x3C00U, 0x0400U};
  const auto width = static_cast<std::size_t>(bytes_of(dtype));
  const std::uint32_t sign = 1U << (8 * width - 1);
  std::mt19937 random(seed);
  std::vector<std::byte> out(static_cast<std::size_t>(count) * width);
  for (std::byte* to = out.data(); to != out.data() + out.size(); to += width) {
    const auto drawn = static_cast<std::uint32_t>(random());
    // Bits 29 to 31 lower the exponent by 0 to 7, bit 28 is the sign, the lowest are the significand's. memcpy takes
    // the lower half of x for types of 16 bits: the machine is little-endian.
    const std::uint32_t x = (bits.one - (drawn >> 29U) * bits.exponent_one) | (drawn & (bits.exponent_one - 1)) |
                            ((drawn >> 28U & 1U) != 0 ? sign : 0U);
    std::memcpy(to, &x, width);
  }
  return out;
}

bool DemoRotation::keeps_bound() const {
  return std::all_of(dtypes.begin(), dtypes.end(), [](const DemoDType& d) { return d.error.over_bound <= 1.0; });
}

DemoRotation rotate_for_demo(const Plan& plan, const Rope& rope) {
  const LayerPlan& layer = layer_with(plan, rope);
  DemoRotation out{.heads = layer.heads,
                   .kv_heads = layer.kv_heads,
                   .head_dim = rope.head_dim,
                   .first = std::max<std::int64_t>(0, plan.trained_length.value_or(kDemoTokens) - kDemoTokens)};
  const std::int64_t values_per_token = (out.heads + out.kv_heads) * out.head_dim;
  // At least one token of any model, at most all that are rotated.
  out.judged = std::clamp<std::int64_t>(kJudgedValues / std::max<std::int64_t>(values_per_token, 1), 1, kDemoTokens);
  for (const DType dtype : kShownTypes) {
    out.dtypes.push_back(
        {dtype, judge(out, rope, dtype), measure_rotation({rope, out.heads, out.kv_heads, kDemoTokens, dtype})});
  }
  return out;
}

void add_rotation(Page& page, const DemoRotation& rotation) {
  page.blank();
  page.line(page.paint(Style::bold, formatted("RoPE: q [{0}, {1}, {3}] and k [{0}, {2}, {3}], measured now",
                                              kDemoTokens, rotation.heads, rotation.kv_heads, rotation.head_dim)));
  std::vector<std::vector<std::string>> rows{{"dtype", "worst error", "of its bound", "microseconds", "time over RMW"}};
  for (const DemoDType& d : rotation.dtypes) {
    rows.push_back({std::string(name(d.dtype)), formatted("{:.3f} ulp", d.error.ulp),
                    formatted("{:.3f}", d.error.over_bound), spread_text(d.speed.rotate, 1e-6, 0),
                    spread_text(d.speed.over_rmw, 1.0, 2)});
  }
  page.table(2, rows);
  page.entry(2, "", 2,
             formatted("Positions {} to {}; {} of {} tokens judged by the float64 reference, in ulps of the dtype at "
                       "the length of the rotated pair. In place, CPU time of one thread: median (range) of {} "
                       "rounds. RMW: 64-byte integer XOR with a constant over the same bytes, interleaved with it.",
                       rotation.first, rotation.first + kDemoTokens - 1, rotation.judged, kDemoTokens, kSpeedRounds));
}

std::string rotation_json(const DemoRotation& rotation) {
  std::vector<std::string> dtypes;
  for (const DemoDType& d : rotation.dtypes) {
    dtypes.push_back(json_object({{"dtype", json_string(name(d.dtype))},
                                  {"error", error_json(d.error)},
                                  {"bytes", std::to_string(d.speed.bytes)},
                                  {"seconds", spread_json(d.speed.rotate)},
                                  {"time_over_rmw", spread_json(d.speed.over_rmw)}}));
  }
  return json_object({{"tokens", std::to_string(kDemoTokens)},
                      {"judged_tokens", std::to_string(rotation.judged)},
                      {"heads", std::to_string(rotation.heads)},
                      {"kv_heads", std::to_string(rotation.kv_heads)},
                      {"head_dim", std::to_string(rotation.head_dim)},
                      {"first_position", std::to_string(rotation.first)},
                      {"rounds", std::to_string(kSpeedRounds)},
                      {"dtypes", json_array(dtypes)}});
}

}  // namespace posenc::tool
