#include "support/usable_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "io/json/json.h"
#include "posenc/attend.h"
#include "posenc/compare.h"
#include "posenc/rotary_table.h"

namespace posenc::test {
namespace {

// The first number that is no float; empty when there is none. 0 is a float, what becomes 0 is none.
std::string number_beyond_float(const io::JsonValue& value) {
  if (value.kind() == io::JsonKind::number) {
    const Result<double> number = value.as_double();
    if (!number) return formatted("{} is {}", value.pointer(), value.text());
    const auto rounded = static_cast<float>(*number);
    const bool is_float = std::isfinite(rounded) && (rounded != 0 || *number == 0);
    return is_float ? "" : formatted("{} is {}", value.pointer(), *number);
  }
  for (const io::JsonValue& item : value.items()) {
    if (std::string found = number_beyond_float(item); !found.empty()) return found;
  }
  return "";
}

std::string wrong_in_json(const Plan& plan) {
  const std::string json = to_json(plan);
  const Result<io::JsonDocument> document = io::JsonDocument::parse(json, "plan.json");
  if (!document) return document.error().message();
  if (std::string found = number_beyond_float(document->root()); !found.empty()) return found;
  const Result<Plan> again = plan_from_json(json);
  if (!again) return again.error().message();
  return *again == plan ? "" : "its JSON reads back as another plan";
}

bool attends(const LayerPlan& layer) {
  constexpr std::int64_t kMost = 1024;  // heads and channels: a call costs their product
  if (layer.kind != LayerKind::attention && layer.kind != LayerKind::cross_attention) return false;
  if (layer.heads < 1 || layer.kv_heads < 1 || layer.head_dim < 1 || layer.value_dim < 1) return false;
  if (layer.heads > kMost || layer.head_dim > kMost || layer.value_dim > kMost) return false;
  const auto needs_no_table = [](const ScoreTerm& term) { return std::holds_alternative<Alibi>(term); };
  return std::ranges::all_of(layer.score, needs_no_table) && !std::holds_alternative<ShawValues>(layer.value);
}

// Two tokens; what a sparse mask allows is the caller's, and here all of it.
void attend_to_two(const LayerPlan& layer, std::optional<std::int64_t> length) {
  constexpr std::int64_t kTokens = 2;
  const auto floats = [](std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), 0.5F); };
  std::vector<float> q = floats(kTokens * layer.heads * layer.head_dim);
  std::vector<float> k = floats(kTokens * layer.kv_heads * layer.head_dim);
  std::vector<float> v = floats(kTokens * layer.kv_heads * layer.value_dim);
  std::vector<float> out = floats(kTokens * layer.heads * layer.value_dim);
  std::vector<float> sinks = floats(layer.heads);
  std::vector<float> mask(kTokens * kTokens, 1.0F);
  AttendArgs args{.out = tensor(out.data(), {kTokens, layer.heads, layer.value_dim}),
                  .q = tensor(std::as_const(q).data(), {kTokens, layer.heads, layer.head_dim}),
                  .k = tensor(std::as_const(k).data(), {kTokens, layer.kv_heads, layer.head_dim}),
                  .v = tensor(std::as_const(v).data(), {kTokens, layer.kv_heads, layer.value_dim})};
  if (layer.sinks) args.weights.sinks = tensor(std::as_const(sinks).data(), {layer.heads});
  if (layer.mask.kind == MaskKind::sparse)
    args.inputs.attn_mask = tensor(std::as_const(mask).data(), {kTokens, kTokens});
  args.inputs.length = length;
  if (layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after)
    args.inputs.q_rotated = args.inputs.k_rotated = true;
  (void)attend(layer, args);
}

// The same layer with numbers that every model could have.
LayerPlan with_usual_numbers(LayerPlan layer) {
  layer.softmax_scale = 0.125;
  if (layer.soft_cap) layer.soft_cap->cap = 50;
  for (ScoreTerm& term : layer.score) {
    if (auto* alibi = std::get_if<Alibi>(&term)) alibi->max_bias = 8;
  }
  layer.query_scale = {};
  if (auto* rerope = std::get_if<ReRope>(&layer.regions)) rerope->step = {};
  for (Rotate& rotate : layer.rotate) {
    auto* xpos = std::get_if<XPos>(&rotate.scheme);
    if (xpos != nullptr) xpos->scale_base = 512;
    Rope& scheme = xpos != nullptr ? xpos->rope : std::get<Rope>(rotate.scheme);
    scheme.base = 10000;
    scheme.scaling = {};
  }
  return layer;
}

// What attend() says against it, by its numbers: not where it would refuse it with any.
std::string refused_for_its_numbers(const LayerPlan& layer, std::optional<std::int64_t> length) {
  try {
    attend_to_two(layer, length);
    return "";
  } catch (const Error& error) {
    try {
      attend_to_two(with_usual_numbers(layer), length);
    } catch (const Error&) {
      return "";
    }
    return error.what();
  }
}

std::string wrong_in_use(const LayerPlan& layer, std::optional<std::int64_t> length) {
  for (const Rotate& rotate : layer.rotate) (void)make_table(rope(rotate), {.count = 2, .length = length});
  return attends(layer) ? refused_for_its_numbers(layer, length) : "";
}

std::string wrong_in_use(const Plan& plan) {
  for (const Stack& stack : plan.stacks) {
    LayerPlan last;
    for (LayerPlan layer : stack.layers) {
      const std::int64_t index = layer.index;
      layer.index = last.index;
      if (layer == last) continue;
      try {
        if (const std::string wrong = wrong_in_use(layer, plan.length); !wrong.empty()) {
          return formatted("{}, layer {}: {}", stack.name, index, wrong);
        }
      } catch (const Error& error) {
        return formatted("{}, layer {}: {}", stack.name, index, error.what());
      }
      last = layer;
    }
  }
  return "";
}

}  // namespace

std::string unusable(const Plan& plan) {
  try {
    if (std::string wrong = wrong_in_json(plan); !wrong.empty()) return "JSON: " + wrong;
    if (compare(plan, plan).verdict != Verdict::same) return "compare: not the same as itself";
  } catch (const Error& error) {
    return error.what();
  }
  return wrong_in_use(plan);
}

}  // namespace posenc::test
