// Plans at random: valid, over every alternative of every variant and every enumerator.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plan/json/plan_names.h"
#include "posenc/plan.h"

namespace posenc::test {

class RandomPlan {
 public:
  explicit RandomPlan(std::uint32_t seed) : random_(seed) {}

  Plan plan() {
    Plan out;
    out.known = chance();
    out.model_type = text();
    out.family = text();
    out.source = {any<SourceKind>(), text()};
    if (chance()) out.trained_length = whole(1, 1 << 20);
    if (chance()) out.length = whole(1, 1 << 20);
    length_ = out.length;
    known_ = out.known;
    repeat(3, [&] { out.stacks.push_back(stack()); });
    repeat(4, [&] { out.sources.push_back({"/stacks/" + std::to_string(out.sources.size()) + text(), text()}); });
    repeat(3, [&] { out.absent_keys.push_back(text()); });
    repeat(3, [&] { out.ignored_keys.push_back(text()); });
    repeat(3, [&] { out.warnings.push_back({text(), text(), {text(), text()}}); });
    return out;
  }

  Rope rope() {
    for (;;) {
      const std::int64_t axes = whole(1, 3);
      const std::int64_t pairs = axes * whole(2, 6);
      Rope out{.pairing = any<Pairing>(), .scaling = {}, .axes = {}};
      out.dim = 2 * pairs;
      out.first_channel = chance() ? 0 : whole(1, 8);
      out.head_dim = out.first_channel + out.dim + (chance() ? 0 : whole(1, 8));
      out.base = number(2, 1e6);
      if (chance()) out.axes = axial_axes(std::vector<std::string>(static_cast<std::size_t>(axes), text()), pairs);
      if (axes > 1 && !out.axes.of_pair.empty()) out.axis_frequencies = any<AxisFrequencies>();
      out.rotation_direction = any<RotationDirection>();
      out.scaling = scaling(pairs);
      if (!check(out, length_)) return out;
    }
  }

  Scaling scaling(std::int64_t pairs) {
    switch (whole(0, std::variant_size_v<Scaling> - 1)) {
      case 1: return LinearScaling{factor()};
      case 2: return NtkScaling{factor()};
      case 3: return DynamicScaling{factor(), whole(2, 9999)};
      case 4: return QwenNtkScaling{whole(1, 9999)};
      case 5:
        return YarnScaling{
            factor(),        whole(2, 9999),  maybe(factor()), maybe(number(16, 64)), maybe(number(0.5, 2)),
            maybe(factor()), maybe(factor()), chance()};
      case 6: return longrope(pairs);
      case 7: return Llama3Scaling{factor(), number(0.5, 2), number(3, 8), whole(2, 9999)};
      case 8: return ProportionalScaling{number(0.3, 1), factor()};
      case 9: return FactorListScaling{factors(pairs)};
      default: return std::monostate{};
    }
  }

 private:
  Stack stack() {
    Stack out;
    out.name = text();
    out.fed_by = any<FedBy>();
    if (out.known = chance(); !out.known) out.unknown = {text()};
    repeat(2, [&] { out.input.push_back(input()); });
    repeat(5, [&] { out.layers.push_back(layer()); });
    return out;
  }

  InputScheme input() {
    switch (whole(0, std::variant_size_v<InputScheme> - 1)) {
      case 0:
        return LearnedInput{whole(1, 99), whole(-2, 2),        maybe(whole(1, 2)),
                            factor(),     any<InputCombine>(), chance() ? text() : std::string()};
      case 1:
        return SinusoidalInput{any<SinusoidConvention>(), whole(-2, 2), maybe(whole(1, 99)), text(), factor(), chance(),
                               any<InputCombine>()};
      case 2:
        return AxialInput{{whole(1, 99), whole(1, 99)},
                          any<AxialCombine>(),
                          {whole(1, 64), whole(1, 64)},
                          chance() ? text() : std::string()};
      case 3: return TileInput{whole(1, 9), whole(1, 4), whole(0, 99)};
      case 4: return ConvolutionInput{whole(1, 128), whole(1, 16), whole(1, 5), whole(1, 2)};
      case 5: return IntegerInput{chance(), whole(0, 1), factor(), any<InputCombine>()};
      case 6: return BinaryInput{whole(0, 1), factor(), any<InputCombine>()};
      case 7:
        return AxisSinesInput{{text(), text()}, chance(), factor(),       chance(),
                              factor(),         factor(), any<PlaceOf>(), chance()};
      case 8: return FourierInput{any<PlaceOf>(), maybe(whole(1, 9))};
      default: return PerceptronInput{whole(1, 4), any<PlaceOf>()};
    }
  }

  LayerPlan layer() {
    LayerPlan out;
    out.index = whole(0, 99);
    out.kind = any<LayerKind>();
    const bool is_bare_linear = out.kind == LayerKind::linear_attention && chance();
    out.begins_apart = out.kind >= LayerKind::linear_attention && chance();
    if (is_bare_linear || out.kind > LayerKind::linear_attention) return out;
    out.heads = whole(known_ ? 1 : 0, 128);
    out.kv_heads = whole(1, 128);
    out.head_dim = whole(1, 256);
    out.value_dim = whole(1, 256);
    out.kv_from = maybe(whole(0, 99));
    out.compression = maybe(whole(1, 128));
    if (chance()) out.mixing = {maybe(whole(0, 9)), chance(), maybe(any<LayerKind>())};
    out.softmax_scale = number(0.01, 2);
    out.channel_scale = chance();
    if (chance()) out.soft_cap = SoftCap{factor(), any<SoftCap::Order>()};
    out.sinks = chance();
    if (chance())
      out.qk_norm =
          QkNorm{any<QkNorm::Kind>(), any<QkNorm::Order>(), chance(), any<QkNorm::Over>(), any<QkNorm::Of>(), chance()};
    out.mask.kind = any<MaskKind>();
    if (chance()) out.mask.window = Window{whole(0, 4096), whole(0, 4096)};
    out.mask.chunk = maybe(whole(1, 8192));
    if (chance()) out.mask.detail = text();
    out.mask.beyond_window = chance();
    out.mask.by_blocks = chance();
    out.mask.by_indexer = chance();
    repeat(2, [&] { out.added.push_back({any<AddedTo>(), any<AddedHow>(), chance(), input()}); });
    repeat(2, [&] { out.rotate.push_back(rotate()); });
    out.regions = regions();
    repeat(2, [&] { out.score.push_back(score()); });
    out.value = value();
    out.query_scale = query_scale();
    return out;
  }

  Rotate rotate() {
    if (chance()) return {any<RotateRole>(), whole(0, 128), rope(), whole(0, 1)};
    return {any<RotateRole>(), whole(0, 128), XPos{rope(), number(1, 1024)}, whole(0, 1)};
  }

  ScoreTerm score() {
    switch (whole(0, std::variant_size_v<ScoreTerm> - 1)) {
      case 0: return Alibi{whole(1, 128), number(1, 16), chance(), chance(), any<AlibiForm>(), chance()};
      case 1: return T5Bias{whole(1, 64), whole(1, 999), chance(), chance(), chance(), whole(0, 3), chance()};
      case 2: return ShawKeys{whole(0, 99), whole(0, 99), chance(), chance()};
      case 3: return transformer_xl();
      case 4: return XlNet{whole(-1, 99), chance()};
      case 5: return DecomposedHw{whole(1, 127)};
      case 6: return ClippedBias{whole(0, 99), whole(0, 99)};
      case 7: return GridBias{whole(1, 32), whole(1, 32)};
      case 8: return Kerple{any<Kerple::Form>()};
      case 9: return Fire{};
      case 10: return Sandwich{whole(1, 128), 2 * whole(1, 64)};
      case 11: return MlpBias{chance()};
      case 12: return ContextualPosition{whole(1, 99)};
      case 13: return ForgetGate{};
      case 14: return DistanceLogits{whole(1, 999), whole(1, 99)};
      default: return Deberta{whole(0, 256), whole(1, 512), chance(), chance(), chance(), chance()};
    }
  }

  Regions regions() {
    switch (whole(0, std::variant_size_v<Regions> - 1)) {
      case 1: return SelfExtend{whole(1, 16), whole(0, 999)};
      case 2: return ReRope{whole(0, 999), maybe(factor())};
      case 3: return DualChunk{whole(1, 999), whole(0, 99), whole(1, 1099)};
      default: return std::monostate{};
    }
  }

  TransformerXl transformer_xl() {
    TransformerXl out{whole(-1, 99), chance(), chance(), any<SinusoidConvention>()};
    if (chance()) out.distances = Distances{whole(-9, 0), whole(0, 9)};
    return out;
  }

  ValueScheme value() {
    switch (whole(0, 2)) {
      case 0: return ShawValues{whole(0, 99), whole(0, 99), chance()};
      case 1: return RotatedValues{chance()};
      default: return std::monostate{};
    }
  }

  QueryScale query_scale() {
    switch (whole(0, 5)) {
      case 0: return Llama4Temperature{number(-1, 1), number(1, 9999)};
      case 1: return MinistralTemperature{number(-1, 1), whole(1, 9999)};
      case 2: return LogNScale{whole(2, 9999)};
      case 3: return BeamTemperature{number(-1, 1), number(1, 9999)};
      case 4: return InklingTemperature{number(-1, 1), number(1, 9999)};
      default: return std::monostate{};
    }
  }

  LongRopeScaling longrope(std::int64_t pairs) {
    LongRopeScaling out;
    out.short_factor = factors(pairs);
    out.long_factor = factors(pairs);
    out.original_max_position_embeddings = whole(2, 9999);
    out.factor = factor();
    out.attention_factor = maybe(factor());
    if (chance()) std::tie(out.short_mscale, out.long_mscale) = std::pair(factor(), factor());
    return out;
  }

  std::vector<double> factors(std::int64_t pairs) {
    std::vector<double> out;
    for (std::int64_t p = 0; p < pairs; ++p) out.push_back(factor());
    return out;
  }

  // Texts that JSON must escape, and texts beyond ASCII.
  std::string text() {
    static const std::vector<std::string> kTexts{"",
                                                 "a",
                                                 "layers/0-31",
                                                 "\"quoted\"\\",
                                                 "tab\tline\n",
                                                 "\x1b[31m",
                                                 "\xc3\xa9\xe2\x82\xac",
                                                 "~0~1",
                                                 "\xf0\x9f\xa4\x96"};
    return kTexts[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(kTexts.size()) - 1))];
  }

  template <typename E>
  E any() {
    return static_cast<E>(whole(0, static_cast<std::int64_t>(plan::kEnumNames<E>.size()) - 1));
  }
  template <typename T>
  std::optional<T> maybe(T value) {
    return chance() ? std::optional<T>(value) : std::nullopt;
  }
  template <typename F>
  void repeat(std::int64_t most, F&& what) {
    for (std::int64_t i = whole(0, most); i > 0; --i) what();
  }
  double factor() { return number(1, 64); }
  bool chance() { return whole(0, 1) == 1; }
  double number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  std::mt19937 random_;
  std::optional<std::int64_t> length_;
  bool known_ = false;
};

// As many as make every alternative appear; the tests check that they do.
inline constexpr std::uint32_t kRandomPlans = 200;

}  // namespace posenc::test
