// Attention in `posenc demo`: a layer of a preset attends over random tensors, is judged by the float64 reference, and
// both are timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/attend_error.h"
#include "line/page.h"
#include "posenc/plan.h"
#include "taking_turns.h"

namespace posenc::tool {

struct DemoAttentionDType {
  DType dtype = DType::f32;
  AttendError error;
  bench::Spread seconds;           // of a token, CPU time of one thread
  double reference_seconds = 0.0;  // likewise, of the judged tokens
};

struct DemoAttention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t first = 0;  // position
  std::string mask;
  std::vector<DemoAttentionDType> dtypes;  // none: the layer has learned tables of distances, which a preset has not

  bool keeps_bound() const;
};

// By the first layer of the plan that has that rotation, as many tokens as kDemoTokens at the end of the trained
// length.
DemoAttention attend_for_demo(const Plan& plan, const Rope& rope);

void add_attention(Page& page, const DemoAttention& attention);
std::string attention_json(const DemoAttention& attention);

}  // namespace posenc::tool
