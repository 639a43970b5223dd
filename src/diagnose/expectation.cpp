#include "diagnose/expectation.h"

#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "posenc/error.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr const char* kWhere = "diagnose";
constexpr double kFarthest = 0x1p53;  // rotary_table.h

bool depends_on_length(const Rope& rope) {
  return std::holds_alternative<DynamicScaling>(rope.scaling) || std::holds_alternative<QwenNtkScaling>(rope.scaling) ||
         std::holds_alternative<LongRopeScaling>(rope.scaling);
}

void read_positions(const DiagnoseArgs& args, const Samples& samples, std::int64_t axes, Expectation& out) {
  const reference::Sizes all = reference::sizes_of(args.before);
  const std::int64_t shared = axes * all.tokens;
  const std::int64_t each = shared * all.batch;
  const std::int64_t given = std::ssize(args.positions);
  if (given != shared && given != each) {
    throw Error(kWhere, {"positions", formatted("have {} entries", each), formatted("{}", given)});
  }
  for (const double x : args.positions) {
    if (std::fabs(x) <= kFarthest) continue;
    throw Error(kWhere, {"positions", "be from -2^53 to 2^53", formatted("{}", x)});
  }
  const std::int64_t stride = given == shared ? all.tokens : all.batch * all.tokens;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (std::int64_t b = 0; b < samples.sequences; ++b) {
      for (std::int64_t t = 0; t < samples.tokens; ++t) {
        const std::int64_t at = axis * stride + (given == shared ? 0 : b * all.tokens) + t;
        out.axes[static_cast<std::size_t>(axis)].push_back(args.positions[static_cast<std::size_t>(at)]);
      }
    }
  }
}

}  // namespace

Expectation expectation_of(const DiagnoseArgs& args, const Samples& samples) {
  Expectation out{.plan = args.plan};
  std::int64_t offset = 0;
  if (args.rotate != nullptr) {
    if (std::holds_alternative<XPos>(args.rotate->scheme)) {
      throw Error(kWhere, {"rotate", "be RoPE", "xPos, which scales queries and keys besides"});
    }
    out.rope = posenc::rope(*args.rotate);
    offset = args.rotate->offset;
    if (auto problem = check(*out.rope, args.length)) throw Error(kWhere, *problem);
    if (samples.channels != out.rope->head_dim) {
      throw Error(kWhere, {"before.shape", formatted("end with head_dim, {},", out.rope->head_dim),
                           formatted("{}", samples.channels)});
    }
  }
  if (args.length && *args.length < 1) {
    throw Error(kWhere, {"length", "be at least 1", formatted("{}", *args.length)});
  }
  if (args.start && !args.positions.empty()) {
    throw Error(kWhere, {"start", "be omitted where positions are given", formatted("{}", *args.start)});
  }
  const std::int64_t axes = out.rope ? std::ssize(out.rope->axes.names) : 1;
  out.axes.resize(static_cast<std::size_t>(axes));
  out.start = static_cast<double>(args.start.value_or(0)) + static_cast<double>(offset);
  if (std::fabs(out.start) > kFarthest) {
    throw Error(kWhere, {"start", "be from -2^53 to 2^53", formatted("{}", out.start)});
  }
  out.counted = args.positions.empty();
  out.start_known = args.start.has_value() || !out.counted;
  if (!out.counted) {
    read_positions(args, samples, axes, out);
    for (std::vector<double>& list : out.axes) {
      for (double& x : list) x += static_cast<double>(offset);
    }
  } else {
    for (std::vector<double>& list : out.axes) {
      for (std::int64_t r = 0; r < samples.rows(); ++r) {
        list.push_back(out.start + static_cast<double>(r % samples.tokens));
      }
    }
  }
  out.length = args.length;
  if (!out.length && args.plan != nullptr) out.length = args.plan->length;
  if (!out.length && out.rope && depends_on_length(*out.rope)) {
    double most = 0.0;
    for (const std::vector<double>& list : out.axes) {
      for (const double x : list) most = std::max(most, x);
    }
    out.length = static_cast<std::int64_t>(std::floor(std::min(most, kFarthest - 1))) + 1;
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
