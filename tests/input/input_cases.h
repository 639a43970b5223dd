// Input schemes with tables and numbers of their own, and by the float64 formulas what add_input must make of x: each
// number with how far from it a result may be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "input/embeddings.h"
#include "math/input/sinusoid.h"
#include "posenc/add_input.h"
#include "posenc/reference.h"
#include "reference/elements.h"
#include "support/tolerances.h"

namespace posenc::test {

// One rounding to a dtype, relatively, and half the spacing of its subnormal numbers.
inline double rounding_of(DType dtype) {
  return dtype == DType::f64 ? 0x1p-53 : dtype == DType::f32 ? 0x1p-24 : dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
}
inline double smallest_of(DType dtype) {
  return dtype == DType::f64 ? 0x1p-1074 : dtype == DType::f16 ? 0x1p-25 : dtype == DType::f32 ? 0x1p-150 : 0x1p-134;
}

struct InputCase {
  std::string name;
  InputScheme scheme;
  std::int64_t channels = 0;
  // Of LearnedInput.
  std::shared_ptr<Embeddings> table{};
  std::shared_ptr<Embeddings> types{};
  std::optional<double> scale{};
  std::vector<double> lengths{};
  std::optional<std::int64_t> length{};

  std::int64_t axes() const {
    const auto* const of = std::get_if<AxisSinesInput>(&scheme);
    return of == nullptr ? 1 : std::ssize(of->axes);
  }
  InputWeights weights() const {
    if (table) {
      return LearnedInputWeights{.positions = table->view(),
                                 .token_types = types ? ConstTensorView(types->view()) : ConstTensorView{}};
    }
    if (scale) return SinusoidalInputWeights{.scale = scale};
    return {};
  }
  // Positions that it serves: from least to most, for tests to choose among.
  std::int64_t least = 0;
  std::int64_t most = 90;
  bool takes_fractions = false;
};

// A channel of a position's row, and how far from it add_input's may be, in f32 or in f64.
struct RowNumber {
  double p = 0;
  double error = 0;
};

// Of an angle whose sine or cosine the reference makes in double with `roundings` of the angle, and add_input with
// `ours`; each within 1 ulp.
inline double sine_error(double p, double angle, double scale, double roundings, double ours, bool in_double) {
  const double u = kDoubleRounding;
  const double last = in_double ? 3 * u * std::abs(scale) : float_ulp(p);
  return std::abs(scale) * (std::abs(angle) * (roundings + ours) + 2) * u + last;
}

// As exact as double makes it. u: 2^-24 or 2^-53.
inline RowNumber row_number(const InputCase& of, const std::vector<double>& row, std::span<const double> place,
                            std::int64_t c, bool in_double) {
  const double p = row[static_cast<std::size_t>(c)];
  const double u = in_double ? kDoubleRounding : kFloatRounding;
  if (of.table) return {p, !in_double && of.table->view().dtype == DType::f64 ? u * std::abs(p) : 0};
  if (const auto* const scheme = std::get_if<SinusoidalInput>(&of.scheme)) {
    const math::Sinusoid wave = math::sinusoid(scheme->convention, of.channels, c);
    if (wave.wave == math::Sinusoid::Wave::nothing) return {p, 0};
    const double angle = (place[0] + static_cast<double>(scheme->offset)) * wave.inv_freq;
    const double e = -std::log(wave.inv_freq) / std::log(1e4);  // sinusoid_error() in tolerances.h
    return {p, sine_error(p, angle, of.scale.value_or(1.0), e * std::log(1e4) + 3, 2, in_double)};
  }
  if (const auto* const scheme = std::get_if<AxisSinesInput>(&of.scheme)) {
    const std::int64_t width = of.channels / of.axes();
    const std::int64_t axis = c / width;
    const std::int64_t k = scheme->interleaved ? c % width / 2 : c % width % (width / 2);
    const double exponent = -2.0 * static_cast<double>(k) / static_cast<double>(width);
    const double length = scheme->normalised ? of.lengths[static_cast<std::size_t>(axis)] : 1.0;
    const double angle = scheme->scale * (place[static_cast<std::size_t>(axis)] + scheme->offset) / length *
                         std::pow(scheme->base, exponent);
    return {p, sine_error(p, angle, 1.0, std::log(scheme->base) + 8, 6, in_double)};
  }
  return {p, 2 * u * std::abs(p)};
}

inline std::vector<double> exact_row(const InputCase& of, std::span<const double> place) {
  std::vector<double> out;
  if (const auto* const scheme = std::get_if<LearnedInput>(&of.scheme)) {
    const auto row = static_cast<std::int64_t>(place[0]) + scheme->offset;
    for (std::int64_t c = 0; c < of.channels; ++c) out.push_back(reference::element(of.table->view(), {row, c}));
  } else if (const auto* const sinusoid = std::get_if<SinusoidalInput>(&of.scheme)) {
    out = input_row(*sinusoid, of.channels, place[0]);
    for (double& p : out) p *= of.scale.value_or(1.0);
  } else if (const auto* const integer = std::get_if<IntegerInput>(&of.scheme)) {
    out = input_row(*integer, of.channels, place[0], of.length);
  } else if (const auto* const binary = std::get_if<BinaryInput>(&of.scheme)) {
    out = input_row(*binary, of.channels, static_cast<std::int64_t>(place[0]));
  } else {
    out = input_row(std::get<AxisSinesInput>(of.scheme), of.channels, place, of.lengths);
  }
  return out;
}

struct CombineRule {
  double multiplier = 1.0;
  InputCombine combine = InputCombine::add;
};
inline CombineRule combine_of(const InputScheme& scheme) {
  return std::visit(
      [](const auto& of) -> CombineRule {
        if constexpr (requires { of.embedding_multiplier; }) return {of.embedding_multiplier, of.combine};
        return {};
      },
      scheme);
}

// What a result must be near to, and how near: add_input.h's bound, and the last rounding.
struct ExpectedNumber {
  double value = 0;
  double bound = 0;
};

inline ExpectedNumber expected_number(const CombineRule& rule, DType dtype, double x, double type, double type_error,
                                      RowNumber row) {
  const double u = dtype == DType::f64 ? kDoubleRounding : kFloatRounding;
  const double content = rule.multiplier * x + type;
  const double content_error = 2 * u * std::abs(rule.multiplier * x) + u * std::abs(content) + type_error;
  const bool adds = rule.combine == InputCombine::add;
  const double value = adds ? content + row.p : content * row.p;
  const double before =
      adds ? content_error + row.error
           : content_error * std::abs(row.p) + std::abs(content) * row.error + content_error * row.error;
  // Of f64 the reference rounds too, as often.
  const double sides = dtype == DType::f64 ? 2 : 1;
  const double last =
      u * std::abs(value) +
      (dtype == DType::f32 || dtype == DType::f64 ? 0.0 : rounding_of(dtype) * std::abs(value) * (1 + 0x1p-12));
  return {value, sides * (before + last + smallest_of(dtype)) * (1 + 0x1p-20)};
}

// Every scheme in each of its forms, with numbers by which a mistake shows.
inline std::vector<InputCase> input_cases(std::mt19937_64& random) {
  std::vector<InputCase> out;
  const auto table = [&](DType dtype, std::int64_t rows, std::int64_t channels, RowLayout layout) {
    return std::make_shared<Embeddings>(rows_laid_out(layout, dtype, 1, rows, channels), random);
  };
  for (const DType dtype : kInputDTypes) {
    const std::string of = "learned " + std::string(name(dtype));
    out.push_back({.name = of,
                   .scheme = LearnedInput{.positions = 91},
                   .channels = 67,
                   .table = table(dtype, 91, 67, RowLayout::rows)});
    out.push_back(
        {.name = of + ", offset, types, multiplied",
         .scheme =
             LearnedInput{
                 .offset = 2, .token_types = 3, .embedding_multiplier = 1.7, .combine = InputCombine::multiply},
         .channels = 33,
         .table = table(dtype, 93, 33, RowLayout::gaps),
         .types = table(dtype, 3, 33, RowLayout::reversed),
         .least = -2});
    out.push_back({.name = of + ", types of f32",
                   .scheme = LearnedInput{.embedding_multiplier = -0.3},
                   .channels = 40,
                   .table = table(dtype, 91, 40, RowLayout::reversed),
                   .types = table(DType::f32, 5, 40, RowLayout::rows)});
  }
  using C = SinusoidConvention;
  for (const auto& [text, convention] : {std::pair<const char*, C>{"paper", C::paper},
                                         {"tensor2tensor", C::tensor2tensor},
                                         {"musicgen", C::musicgen},
                                         {"marian", C::marian},
                                         {"whisper", C::whisper},
                                         {"xlnet", C::xlnet}}) {
    const bool even_only = convention == C::whisper || convention == C::xlnet;
    for (const std::int64_t channels : {std::int64_t{64}, std::int64_t{even_only ? 34 : 35}}) {
      out.push_back({.name = std::string(text) + " " + std::to_string(channels),
                     .scheme = SinusoidalInput{.convention = convention},
                     .channels = channels,
                     .least = -1000,
                     .most = 5000,
                     .takes_fractions = true});
    }
  }
  out.push_back({.name = "fairseq's, with padding and a multiplier",
                 .scheme = SinusoidalInput{.convention = C::tensor2tensor, .offset = 2, .embedding_multiplier = 8},
                 .channels = 64,
                 .least = -1,
                 .most = 3});
  out.push_back({.name = "SpeechT5's scale, multiplied",
                 .scheme = SinusoidalInput{.learned_scale = true, .combine = InputCombine::multiply},
                 .channels = 48,
                 .scale = -0.37,
                 .most = 100000});
  out.push_back({.name = "Whisper's table",
                 .scheme = SinusoidalInput{.convention = C::whisper, .positions = 1500},
                 .channels = 64,
                 .most = 1499});
  out.push_back({.name = "two channels of tensor2tensor",
                 .scheme = SinusoidalInput{.convention = C::tensor2tensor},
                 .channels = 2});
  out.push_back({.name = "one channel of tensor2tensor",
                 .scheme = SinusoidalInput{.convention = C::tensor2tensor},
                 .channels = 1});
  out.push_back({.name = "integer", .scheme = IntegerInput{.offset = 1}, .channels = 19, .takes_fractions = true});
  out.push_back({.name = "integer, normalised",
                 .scheme = IntegerInput{.normalised = true, .combine = InputCombine::multiply},
                 .channels = 19,
                 .length = 77});
  out.push_back({.name = "binary", .scheme = BinaryInput{.offset = 5}, .channels = 21, .least = -5, .most = 2000000});
  out.push_back({.name = "binary, 70 channels", .scheme = BinaryInput{}, .channels = 70, .most = 1LL << 40});
  out.push_back({.name = "DETR",
                 .scheme = AxisSinesInput{.scale = 6.283185307179586, .offset = 1.0},
                 .channels = 64,
                 .lengths = {25.0, 34.0}});
  out.push_back({.name = "RT-DETR's encoder",
                 .scheme = AxisSinesInput{.interleaved = false, .normalised = false},
                 .channels = 36,
                 .takes_fractions = true});
  out.push_back({.name = "boxes of four axes",
                 .scheme = AxisSinesInput{.axes = {"h", "w", "width", "height"}, .normalised = false, .scale = 6.28},
                 .channels = 40,
                 .takes_fractions = true});
  out.push_back({.name = "five axes",
                 .scheme = AxisSinesInput{.axes = {"a", "b", "c", "d", "e"}, .normalised = false},
                 .channels = 20});
  return out;
}

}  // namespace posenc::test
