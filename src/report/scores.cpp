// What biases add by distance, head by head: the numbers that a formula gives, or the row of a learned table.
#include "posenc/scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/json/json_writer.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr std::int64_t kFarthest = 4096;  // distance that is drawn
constexpr std::int64_t kMostHeads = 64;

// One number for a distance, of a head.
using ByDistance = std::function<double(std::int64_t head, std::int64_t distance)>;

struct Curve {
  std::string_view kind;
  std::string_view numbers;  // what they are: "added to the score", "row of the learned table"
  bool by_head = false;
  ByDistance of{};  // nothing where the term has no number by distance, or only learned ones
};

constexpr std::string_view kAdded = "added to the score";
constexpr std::string_view kRow = "row of the learned table";
constexpr std::string_view kLearned = "learned: the weights say";
constexpr std::string_view kContent = "made of content: no number by distance";

struct CurveOf {
  double softmax_scale;

  Curve operator()(const Alibi& s) const {
    const double scale = s.scaled ? softmax_scale : 1.0;
    return {"alibi", kAdded, true, [s, scale, slopes = alibi_slopes(s)](std::int64_t h, std::int64_t d) {
              const double slope = slopes[static_cast<std::size_t>(h)];
              // The column form differs from the relative one by a number of the row, which the softmax does not see.
              return -scale * slope * static_cast<double>(s.symmetric ? std::abs(d) : d);
            }};
  }
  Curve operator()(const Sandwich& s) const {
    return {"sandwich", kAdded, true,
            [s](std::int64_t h, std::int64_t d) { return sandwich_bias(s, h, static_cast<double>(d)); }};
  }
  Curve operator()(const T5Bias& s) const {
    return {"t5", kRow, false, [s](std::int64_t, std::int64_t d) { return static_cast<double>(t5_bucket(s, d)); }};
  }
  Curve operator()(const ClippedBias& s) const {
    return {"clipped", kRow, false, [s](std::int64_t, std::int64_t d) {
              return static_cast<double>(std::clamp(d, -s.future, s.past) + s.future);
            }};
  }
  Curve operator()(const Deberta& s) const {
    return {"deberta", kRow, false,
            [s](std::int64_t, std::int64_t d) { return static_cast<double>(deberta_row(s, d)); }};
  }
  Curve operator()(const ShawKeys& s) const {
    return {"shaw", kRow, false, [s](std::int64_t, std::int64_t d) {
              return static_cast<double>(std::clamp(d, -s.right, s.left) + s.right);
            }};
  }
  Curve operator()(const MlpBias& s) const {
    return {"mlp", "what the MLP is asked", false,
            [s](std::int64_t, std::int64_t d) { return mlp_input(s, static_cast<double>(d)); }};
  }
  Curve operator()(const Kerple&) const { return {"kerple", kLearned}; }
  Curve operator()(const Fire&) const { return {"fire", kLearned}; }
  Curve operator()(const GridBias&) const { return {"grid", kLearned}; }
  Curve operator()(const TransformerXl&) const { return {"transformer_xl", kContent}; }
  Curve operator()(const XlNet&) const { return {"xlnet", kContent}; }
  Curve operator()(const DecomposedHw&) const { return {"decomposed_hw", kContent}; }
  Curve operator()(const ContextualPosition&) const { return {"contextual_position", kContent}; }
  Curve operator()(const ForgetGate&) const { return {"forget_gate", kContent}; }
  Curve operator()(const DistanceLogits&) const { return {"distance_logits", kContent}; }
};

// From the future, where it is seen, to the past: each of the nearest 64, then ever fewer.
std::vector<std::int64_t> drawn_distances(const LayerPlan& layer, std::int64_t longest) {
  constexpr std::int64_t kEach = 64;
  const std::int64_t last = std::min(longest, kFarthest);
  std::vector<std::int64_t> past;
  for (std::int64_t d = 0; d <= last; d += d < kEach ? 1 : d / 16) past.push_back(d);
  if (past.back() != last) past.push_back(last);
  std::vector<std::int64_t> out;
  if (layer.mask.kind != MaskKind::causal) {
    for (auto d = past.rbegin(); d != past.rend() && *d > 0; ++d) out.push_back(-*d);
  }
  out.insert(out.end(), past.begin(), past.end());
  return out;
}

}  // namespace

void write_biases(JsonWriter& json, const LayerPlan& layer, const Lengths& lengths) {
  json.begin_array();
  for (const ScoreTerm& term : layer.score) {
    const Curve curve = std::visit(CurveOf{layer.softmax_scale}, term);
    json.begin_object();
    json.member("kind", curve.kind);
    json.member("numbers", curve.numbers);
    json.key("distance");
    const std::vector<std::int64_t> distances = drawn_distances(layer, lengths.target);
    json.numbers(std::span(curve.of ? distances : std::vector<std::int64_t>{}));
    json.key("heads");
    json.begin_array();
    if (curve.of) {
      const std::int64_t heads = curve.by_head ? std::min(layer.heads, kMostHeads) : 1;
      for (std::int64_t h = 0; h < heads; ++h) {
        std::vector<double> numbers;
        for (const std::int64_t d : distances) numbers.push_back(curve.of(h, d));
        json.numbers(std::span<const double>(numbers));
      }
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

void write_mask(JsonWriter& json, const LayerPlan& layer) {
  const auto optional = [&](std::string_view key, const std::optional<std::int64_t>& number) {
    json.key(key);
    number ? json.value(*number) : json.null();
  };
  const auto& window = layer.mask.window;
  json.begin_object(JsonLayout::line);
  json.member("kind", name(layer.mask.kind));
  json.member("cross", layer.kind == LayerKind::cross_attention);
  optional("past", window ? std::optional(window->past) : std::nullopt);
  optional("future", window ? std::optional(window->future) : std::nullopt);
  optional("chunk", layer.mask.chunk);
  optional("compression", layer.compression);
  json.member("detail", layer.mask.detail);
  json.end_object();
}

namespace {

// After how many positions the scale takes a step, and how many positions before the first of these; 0: it has no
// steps.
struct StepOf {
  std::pair<double, std::int64_t> operator()(const Llama4Temperature& s) const { return {s.floor_scale, 1}; }
  std::pair<double, std::int64_t> operator()(const MinistralTemperature& s) const {
    return {static_cast<double>(s.original_max_position_embeddings), 0};
  }
  template <typename Other>
  std::pair<double, std::int64_t> operator()(const Other&) const {
    return {0.0, 0};
  }
};

// Powers of two, and the two sides of the first steps.
std::vector<std::int64_t> drawn_positions(const QueryScale& scheme, std::int64_t longest) {
  constexpr int kSteps = 32;
  std::vector<std::int64_t> out = doubling(1, longest);
  const auto [width, less] = std::visit(StepOf{}, scheme);
  for (int n = 1; width > 0.0 && n <= kSteps; ++n) {
    const double step = std::ceil(width * n) - static_cast<double>(less);
    if (step < 2.0) continue;
    if (step > static_cast<double>(longest)) break;
    out.push_back(static_cast<std::int64_t>(step) - 1);
    out.push_back(static_cast<std::int64_t>(step));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

void write_query_scale(JsonWriter& json, const LayerPlan& layer, const Lengths& lengths) {
  if (std::holds_alternative<std::monostate>(layer.query_scale)) {
    json.null();
    return;
  }
  const std::vector<std::int64_t> positions = drawn_positions(layer.query_scale, lengths.target);
  std::vector<double> scales;
  for (const std::int64_t position : positions) scales.push_back(query_scale(layer.query_scale, position));
  json.begin_object();
  json.key("position");
  json.numbers(std::span(positions));
  json.key("scale");
  json.numbers(std::span<const double>(scales));
  json.end_object();
}

}  // namespace posenc::report
