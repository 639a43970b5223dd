// The rotation in `posenc demo`: queries and keys of a preset's shape rotated, judged by the float64 reference, and
// timed against XOR in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/rotation_speed.h"
#include "line/page.h"
#include "posenc/plan.h"
#include "rotate/rotation_error.h"

namespace posenc::tool {

inline constexpr std::int64_t kDemoTokens = 256;

struct DemoDType {
  DType dtype = DType::f32;
  RotationError error;  // of queries and keys
  RotationSpeed speed;  // one thread
};

struct DemoRotation {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t first = 0;   // position: the last kDemoTokens of the trained length are rotated
  std::int64_t judged = 0;  // tokens
  std::vector<DemoDType> dtypes;

  bool keeps_bound() const;
};

// Of the first layer of the plan that has that rotation.
DemoRotation rotate_for_demo(const Plan& plan, const Rope& rope);

// The first layer of the plan that has that rotation.
const LayerPlan& layer_with(const Plan& plan, const Rope& wanted);
// Numbers of either sign from 2^-7 to 2, every bit of their significands at random.
std::vector<std::byte> random_heads(DType dtype, std::int64_t count, std::uint32_t seed);

void add_rotation(Page& page, const DemoRotation& rotation);
std::string rotation_json(const DemoRotation& rotation);

}  // namespace posenc::tool
