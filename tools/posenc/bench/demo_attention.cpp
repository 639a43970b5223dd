// The last part of posenc demo: 256 tokens attend to themselves at the end of the trained length, in each dtype, drawn
// from the same seeds.
#include "bench/demo_attention.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "bench/bench_words.h"
#include "bench/demo_rotation.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "posenc/attend.h"

namespace posenc::tool {
namespace {

constexpr std::array<DType, 3> kAttendedTypes{DType::f32, DType::f16, DType::bf16};
constexpr int kRounds = 3;
constexpr std::int64_t kProducts = std::int64_t{1} << 23;  // of a dtype, in tenths of a second of the reference

// What a preset leaves open: sinks, of which any number will do; the mask where a learned indexer decides; and
// tensors after a norm that follows RoPE have been rotated.
struct DemoLayer {
  LayerPlan layer;
  LayerTables tables{};
  std::vector<float> sinks{};
  bool is_rotated = false;

  explicit DemoLayer(const LayerPlan& of) : layer(of), sinks(static_cast<std::size_t>(of.heads)) {
    if (layer.mask.kind == MaskKind::sparse) layer.mask = {.kind = MaskKind::causal};
    if (layer.sinks) tables.weights.sinks = tensor(sinks.data(), {layer.heads});
    is_rotated = layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after;
  }
};

// Times attend first, then judges what the last of those calls wrote: all calls write the same.
DemoAttentionDType measure(const DemoLayer& of, const RowPositions& positions, DType dtype) {
  const LayerPlan& layer = of.layer;
  const auto heads = [&](std::int64_t count, std::int64_t channels, std::uint32_t seed) {
    return random_heads(dtype, kDemoTokens * count * channels, seed);
  };
  const auto view = [&](auto& bytes, std::int64_t count, std::int64_t channels) {
    return tensor(bytes.data(), dtype, {kDemoTokens, count, channels});
  };
  std::vector<std::byte> q = heads(layer.heads, layer.head_dim, 1);
  std::vector<std::byte> k = heads(layer.kv_heads, layer.head_dim, 2);
  std::vector<std::byte> v = heads(layer.kv_heads, layer.value_dim, 3);
  // Numbers, so that what attend would leave unwritten is no 0 that happens to be right.
  std::vector<std::byte> out = heads(layer.heads, layer.value_dim, 4);
  const AttendCall call{.layer = layer,
                        .tables = of.tables,
                        .q = view(q, layer.heads, layer.head_dim),
                        .k = view(k, layer.kv_heads, layer.head_dim),
                        .v = view(v, layer.kv_heads, layer.value_dim),
                        .q_positions = positions,
                        .k_positions = positions,
                        .q_rotated = of.is_rotated,
                        .k_rotated = of.is_rotated};
  const TensorView to = view(out, layer.heads, layer.value_dim);
  const QueryInputs inputs(call, {.count = kDemoTokens});
  std::vector<bench::Candidate> attending{{.name = "attend", .run = [&] {
                                             (void)attend(layer, {.out = to,
                                                                  .q = call.q,
                                                                  .k = call.k,
                                                                  .v = call.v,
                                                                  .weights = of.tables.weights,
                                                                  .inputs = inputs.inputs(),
                                                                  .parallel = {.threads = 1}});
                                           }}};
  bench::take_turns(attending, kRounds);
  DemoAttentionDType result{.dtype = dtype};
  const double start = bench::thread_seconds();
  result.error = judge(call, to, kProducts);
  result.reference_seconds =
      (bench::thread_seconds() - start) / static_cast<double>(std::max<std::int64_t>(result.error.tokens, 1));
  // Of a token, as the reference's: that one has judged some of the tokens only.
  for (double& seconds : attending[0].seconds) seconds /= static_cast<double>(kDemoTokens);
  result.seconds = bench::spread(attending[0].seconds);
  return result;
}

}  // namespace

bool DemoAttention::keeps_bound() const {
  return std::ranges::all_of(dtypes, [](const DemoAttentionDType& d) { return d.error.over_bound <= 1.0; });
}

DemoAttention attend_for_demo(const Plan& plan, const Rope& rope) {
  const DemoLayer of(layer_with(plan, rope));
  const LayerPlan& layer = of.layer;
  DemoAttention out{.heads = layer.heads,
                    .kv_heads = layer.kv_heads,
                    .head_dim = layer.head_dim,
                    .value_dim = layer.value_dim,
                    .first = std::max<std::int64_t>(0, plan.trained_length.value_or(kDemoTokens) - kDemoTokens),
                    .mask = mask_text(layer.mask)};
  // Most terms need learned tables, which a preset has not.
  if (!layer.score.empty()) return out;
  const RowPositions positions({.values = out.first}, rope.axes.names, 1, kDemoTokens, 0);
  for (const DType dtype : kAttendedTypes) out.dtypes.push_back(measure(of, positions, dtype));
  return out;
}

// Nothing of a layer that was not timed; JSON has an empty list then.
void add_attention(Page& page, const DemoAttention& attention) {
  if (attention.dtypes.empty()) return;
  page.blank();
  page.line(page.paint(Style::bold,
                       formatted("attention: q [{0}, {1}, {3}], k [{0}, {2}, {3}], v [{0}, {2}, {4}]", kDemoTokens,
                                 attention.heads, attention.kv_heads, attention.head_dim, attention.value_dim)));
  std::vector<std::vector<std::string>> rows{
      {"dtype", "worst error", "of its bound", "microseconds per token", "the reference"}};
  for (const DemoAttentionDType& d : attention.dtypes) {
    rows.push_back({std::string(name(d.dtype)), formatted("{:.2g}", d.error.largest),
                    formatted("{:.2g}", d.error.over_bound), spread_text(d.seconds, 1e-6, 1),
                    formatted("{:.0f}", d.reference_seconds * 1e6)});
  }
  page.table(2, rows);
  page.entry(2, "", 2,
             formatted("Positions {} to {}; mask: {}; {} of {} tokens judged by the float64 reference. RoPE is applied "
                       "in the same call. CPU time of one thread: median (range) of {} rounds.",
                       attention.first, attention.first + kDemoTokens - 1, attention.mask,
                       attention.dtypes.front().error.tokens, kDemoTokens, kRounds));
}

std::string attention_json(const DemoAttention& attention) {
  std::vector<std::string> dtypes;
  for (const DemoAttentionDType& d : attention.dtypes) {
    dtypes.push_back(json_object({{"dtype", json_string(name(d.dtype))},
                                  {"largest_deviation", json_number(d.error.largest)},
                                  {"over_bound", json_number(d.error.over_bound)},
                                  {"judged_tokens", std::to_string(d.error.tokens)},
                                  {"seconds_per_token", spread_json(d.seconds)},
                                  {"reference_seconds_per_token", json_number(d.reference_seconds)}}));
  }
  return json_object({{"tokens", std::to_string(kDemoTokens)},
                      {"heads", std::to_string(attention.heads)},
                      {"kv_heads", std::to_string(attention.kv_heads)},
                      {"head_dim", std::to_string(attention.head_dim)},
                      {"value_dim", std::to_string(attention.value_dim)},
                      {"first_position", std::to_string(attention.first)},
                      {"rounds", std::to_string(kRounds)},
                      {"dtypes", json_array(dtypes)}});
}

}  // namespace posenc::tool
