// Specimens of RoPE, its scaling rules (linear, NTK, YaRN, LongRoPE, Llama 3, ...) and regions (SelfExtend, ReRoPE,
// dual chunk attention). Rules and regions extend what was trained for kTrainedPlaces.
#include <algorithm>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "properties/specimens.h"

namespace posenc::properties {
namespace {

// By which rules extend the trained length.
constexpr double kFactor = 4.0;

using MakeRope = std::function<Rope(const Size&)>;

LayerPlan rotated(const Size& size, const Rope& rope) {
  LayerPlan layer = plain_layer(size);
  layer.rotate = {{.heads = size.heads, .scheme = rope}};
  return layer;
}

Entry of_rope(std::string name, std::string about, MakeRope make) {
  return {{std::move(name), Stage::rotate, std::move(about)},
          [make = std::move(make)](const Size& size, Tables&) { return Specimen{.layer = rotated(size, make(size))}; }};
}

// From 1 for the fastest pair to kFactor for the slowest, as searched lists roughly are.
std::vector<double> ascending_factors(const Size& size) {
  const std::int64_t last = plain_rope(size).pairs() - 1;
  std::vector<double> out;
  for (std::int64_t p = 0; p <= last; ++p) {
    out.push_back(1.0 +
                  (kFactor - 1.0) * static_cast<double>(p) / static_cast<double>(std::max<std::int64_t>(last, 1)));
  }
  return out;
}

// RoPE trained without a rule, extended by one.
Entry of_rule(std::string name, std::string about, std::function<Scaling(const Size&)> make) {
  return {{"rope-" + std::move(name), Stage::rotate, std::move(about)},
          [make = std::move(make)](const Size& size, Tables&) {
            Rope extended = plain_rope(size);
            extended.scaling = make(size);
            return Specimen{.layer = rotated(size, extended), .trained = rotated(size, plain_rope(size))};
          }};
}

Entry of_rule(std::string name, std::string about, const Scaling& rule) {
  return of_rule(std::move(name), std::move(about), [=](const Size&) { return rule; });
}

// RoPE trained as it is, whose positions are moved when the text is longer.
Entry of_regions(std::string name, std::string about, const Regions& regions) {
  return {{std::move(name), Stage::rotate, std::move(about)}, [=](const Size& size, Tables&) {
            const LayerPlan trained = rotated(size, plain_rope(size));
            Specimen out{.layer = trained, .trained = trained};
            out.layer.regions = regions;
            return out;
          }};
}

std::string beyond_trained() { return formatted("factor {} beyond {} tokens", kFactor, kTrainedPlaces); }

// Qwen2-VL's M-RoPE: chunks of pairs for time, row and column, 3/8 for each of the last two, as its sections 16, 24, 24
// are; all axes share one ladder of frequencies.
Rope m_rope(const Size& size) {
  Rope out = plain_rope(size);
  const std::int64_t pairs = out.pairs();
  out.axes = chunked_axes({"t", "h", "w"}, {pairs - 2 * (3 * pairs / 8), 3 * pairs / 8, 3 * pairs / 8});
  out.axis_frequencies = AxisFrequencies::shared;
  return out;
}

}  // namespace

Rope plain_rope(const Size& size) {
  Rope out{.pairing = Pairing::half, .head_dim = size.head_dim, .dim = size.head_dim};
  if (!size.on_square) return out;
  out.axes.names = {"h", "w"};
  for (std::int64_t p = 0; p < out.pairs(); ++p) out.axes.of_pair.push_back(static_cast<std::int32_t>(p % 2));
  return out;
}

// NoPE: a causal mask still tells order (order.cpp); without one nothing does.
std::vector<Entry> no_positions() {
  return {{{"nope", Stage::rotate, "no position at all"},
           [](const Size& size, Tables&) { return Specimen{.layer = plain_layer(size)}; }}};
}

std::vector<Entry> entries_of(Kind<Rope>) {
  return {of_rope("rope", "base 10000, all channels, half pairing", plain_rope),
          of_rope("rope-interleaved", "interleaved pairing",
                  [](const Size& size) {
                    Rope out = plain_rope(size);
                    out.pairing = Pairing::interleaved;
                    return out;
                  }),
          of_rope("rope-partial", "half of the channels",
                  [](const Size& size) {
                    Rope out = plain_rope({.head_dim = size.head_dim / 2, .on_square = size.on_square});
                    out.head_dim = size.head_dim;
                    return out;
                  }),
          of_rope("m-rope", "pairs by time, row and column", m_rope)};
}

std::vector<Entry> entries_of(Kind<XPos>) {
  return {{{"xpos", Stage::rotate, "scale base 512"}, [](const Size& size, Tables&) {
             Specimen out{.layer = rotated(size, plain_rope(size))};
             out.layer.rotate.front().scheme = XPos{.rope = plain_rope(size)};
             return out;
           }}};
}

std::vector<Entry> entries_of(Kind<LinearScaling>) {
  return {of_rule("linear", formatted("factor {}", kFactor), LinearScaling{.factor = kFactor})};
}
std::vector<Entry> entries_of(Kind<NtkScaling>) {
  return {of_rule("ntk", formatted("alpha {}", kFactor), NtkScaling{.alpha = kFactor})};
}
std::vector<Entry> entries_of(Kind<DynamicScaling>) {
  return {of_rule("dynamic", beyond_trained(),
                  DynamicScaling{.factor = kFactor, .max_position_embeddings = kTrainedPlaces})};
}
std::vector<Entry> entries_of(Kind<QwenNtkScaling>) {
  return {
      of_rule("qwen-ntk", formatted("beyond {} tokens", kTrainedPlaces), QwenNtkScaling{.seq_length = kTrainedPlaces})};
}
std::vector<Entry> entries_of(Kind<YarnScaling>) {
  return {of_rule("yarn", beyond_trained(),
                  YarnScaling{.factor = kFactor, .original_max_position_embeddings = kTrainedPlaces})};
}
std::vector<Entry> entries_of(Kind<LongRopeScaling>) {
  return {of_rule("longrope", beyond_trained(), [](const Size& size) {
    const std::vector<double> longer = ascending_factors(size);
    return LongRopeScaling{.short_factor = std::vector<double>(longer.size(), 1.0),
                           .long_factor = longer,
                           .original_max_position_embeddings = kTrainedPlaces,
                           .factor = kFactor};
  })};
}
std::vector<Entry> entries_of(Kind<Llama3Scaling>) {
  return {of_rule("llama3", beyond_trained(),
                  Llama3Scaling{.factor = kFactor, .original_max_position_embeddings = kTrainedPlaces})};
}
// Trained with it.
std::vector<Entry> entries_of(Kind<ProportionalScaling>) {
  return {of_rope("rope-proportional", "half of the pairs rotate", [](const Size& size) {
    Rope out = plain_rope(size);
    out.scaling = ProportionalScaling{.partial_rotary_factor = 0.5};
    return out;
  })};
}
std::vector<Entry> entries_of(Kind<FactorListScaling>) {
  return {of_rule("factors", formatted("a divisor for each pair, from 1 to {}", kFactor),
                  [](const Size& size) { return FactorListScaling{.factors = ascending_factors(size)}; })};
}

// Regions that keep kFactor times kTrainedPlaces tokens within the trained distances.
// The farthest of 256 tokens is 255 back and counts as 255 / 8 + 16 - 16 / 8 = 45 in SelfExtend, as 32 in ReRoPE
// (leaky: 32 + 223 / 16 = 45.9), and as 63 at most in dual chunk attention.
std::vector<Entry> entries_of(Kind<SelfExtend>) {
  return {of_regions("self-extend", "groups of 8 beyond a window of 16", SelfExtend{.group = 8, .window = 16})};
}
std::vector<Entry> entries_of(Kind<ReRope>) {
  return {of_regions("rerope", "window 32", ReRope{.window = 32}),
          of_regions("rerope-leaky", "window 32, steps of 1/16 beyond", ReRope{.window = 32, .step = 16.0})};
}
std::vector<Entry> entries_of(Kind<DualChunk>) {
  return {of_regions("dual-chunk", "chunks of 48", DualChunk{.chunk = 48, .local = 16, .trained = kTrainedPlaces})};
}

}  // namespace posenc::properties
