// The rotation and its scaling rules (posenc/rope.h), as Python sees them.
// Scaling rules carry Hugging Face's names for their members, as the configs do. Each has one formula, in the file of
// its name in src/math/rope, with what implementations in the wild do otherwise.
#pragma once

#include "describe/described.h"
#include "posenc/rope.h"
#include "posenc/rotary_table.h"
#include "posenc/wavelength.h"

namespace posenc::python {

// src/math/rope/linear.cpp
constexpr auto description(Type<LinearScaling>) {
  using T = LinearScaling;
  return described_as<T>("LinearScaling", "Position interpolation, arXiv 2306.15595: inv_freq / factor.",
                         member("factor", &T::factor));
}

// src/math/rope/ntk.cpp. Not vLLM's rule `ntk`, which also divides the frequencies.
constexpr auto description(Type<NtkScaling>) {
  using T = NtkScaling;
  return described_as<T>("NtkScaling", "Static NTK (Hunyuan's alpha): base * alpha^(dim / (dim - 2)).",
                         member("alpha", &T::alpha));
}

// src/math/rope/dynamic_ntk.cpp. Depends on the length: frequencies(rope, length=n) is another for every n beyond max.
constexpr auto description(Type<DynamicScaling>) {
  using T = DynamicScaling;
  return described_as<T>(
      "DynamicScaling",
      "Dynamic NTK: base * (factor * n / max - (factor - 1))^(dim / (dim - 2)), n = max(length, max).",
      member("factor", &T::factor), member("max_position_embeddings", &T::max_position_embeddings, "Tokens."));
}

// src/math/rope/qwen_ntk.cpp. Depends on the length, in steps: alpha is 1, 3, 7, ...
constexpr auto description(Type<QwenNtkScaling>) {
  using T = QwenNtkScaling;
  return described_as<T>("QwenNtkScaling",
                         "Qwen 1: base * alpha^(dim / (dim - 2)), "
                         "alpha = max(2^ceil(log2(length / seq_length) + 1) - 1, 1).",
                         member("seq_length", &T::seq_length, "Tokens."));
}

// src/math/rope/yarn.cpp. softmax_multiplier() has DeepSeek's factor on the softmax scale, which is no part of the
// angles.
constexpr auto description(Type<YarnScaling>) {
  using T = YarnScaling;
  return described_as<T>(
      "YarnScaling",
      "YaRN, arXiv 2309.00071. What is None is the rule's own: beta_fast 32, beta_slow 1; the attention factor from "
      "mscale and mscale_all_dim when both are given and not zero, else 0.1 ln(factor) + 1.",
      member("factor", &T::factor),
      member("original_max_position_embeddings", &T::original_max_position_embeddings, "Tokens."),
      member("attention_factor", &T::attention_factor, "What cos and sin are multiplied by."),
      member("beta_fast", &T::beta_fast, "Turns within the original length."),
      member("beta_slow", &T::beta_slow, "Turns within the original length."), member("mscale", &T::mscale),
      member("mscale_all_dim", &T::mscale_all_dim),
      member("truncate", &T::truncate, "Whether the ramp's ends are whole numbers of pairs."));
}

// src/math/rope/longrope.cpp. Depends on the length: the long list from original_max_position_embeddings + 1 tokens on.
constexpr auto description(Type<LongRopeScaling>) {
  using T = LongRopeScaling;
  return described_as<T>(
      "LongRopeScaling",
      "LongRoPE, arXiv 2402.13753: inv_freq / short_factor up to the original length, / long_factor beyond it.",
      member("short_factor", &T::short_factor, "[dim / 2]"), member("long_factor", &T::long_factor, "[dim / 2]"),
      member("original_max_position_embeddings", &T::original_max_position_embeddings, "Tokens."),
      member("factor", &T::factor, "Extended length over original length."),
      member("attention_factor", &T::attention_factor, "Not used with the two below."),
      member("short_mscale", &T::short_mscale, "The attention factor up to the original length (PhiMoE)."),
      member("long_mscale", &T::long_mscale, "The attention factor beyond it."));
}

// src/math/rope/llama3.cpp
constexpr auto description(Type<Llama3Scaling>) {
  using T = Llama3Scaling;
  return described_as<T>("Llama3Scaling",
                         "Llama 3.1, arXiv 2407.21783: short wavelengths stay, long ones have their inv_freq divided "
                         "by factor, smooth between.",
                         member("factor", &T::factor), member("low_freq_factor", &T::low_freq_factor),
                         member("high_freq_factor", &T::high_freq_factor),
                         member("original_max_position_embeddings", &T::original_max_position_embeddings, "Tokens."));
}

// src/math/rope/proportional.cpp. Not partial rotation, which is Rope.dim: here exponents are those of the whole head.
constexpr auto description(Type<ProportionalScaling>) {
  using T = ProportionalScaling;
  return described_as<T>(
      "ProportionalScaling",
      "p-RoPE, arXiv 2410.06205 (Gemma 4): exponents over the whole head; pairs past the given part are not rotated.",
      member("partial_rotary_factor", &T::partial_rotary_factor), member("factor", &T::factor));
}

// src/math/rope/factor_list.cpp
constexpr auto description(Type<FactorListScaling>) {
  using T = FactorListScaling;
  return described_as<T>("FactorListScaling",
                         "One divisor per pair: inv_freq[p] / factors[p] (GGUF's rope_freqs.weight).",
                         member("factors", &T::factors, "[dim / 2]"));
}

// chunked_axes, interleaved_axes, alternating_axes and axial_axes make those that models have: src/math/rope/axes.cpp.
constexpr auto description(Type<AxisMap>) {
  using T = AxisMap;
  return described_as<T>("AxisMap",
                         "Names of the coordinates, and for each pair the coordinate that rotates it. Empty of_pair: "
                         "the first rotates all.",
                         member("names", &T::names), member("of_pair", &T::of_pair, "[dim / 2], or empty."));
}

constexpr auto description(Type<Rope>) {
  using T = Rope;
  return described_as<T>(
      "Rope",
      "Rotary position embedding, RoFormer, arXiv 2104.09864:\n\n"
      "    inv_freq[p] = base^(-2p / dim), p = 0 .. dim / 2 - 1, radians per position\n"
      "    (a, b) -> (a cos t - b sin t, a sin t + b cos t), t = position * inv_freq[p]\n\n"
      "`pairing` has no default: a wrong one is silent and ruins a model. check(rope) says what is wrong with one.",
      member("pairing", &T::pairing,
             "Which two channels are a pair. 'half' pairs p with p + dim / 2 (rotate_half, NeoX), 'interleaved' 2p "
             "with 2p + 1 (GPT-J, Meta)."),
      member("head_dim", &T::head_dim, "Channels of a head."),
      member("first_channel", &T::first_channel, "The first rotated channel."),
      member("dim", &T::dim, "Rotated channels; even."), member("base", &T::base, "Theta in the papers."),
      member("scaling", &T::scaling, "The scaling rule, or None."),
      member("axes", &T::axes, "Which coordinate rotates which pair."),
      member("axis_frequencies", &T::axis_frequencies, "Which frequencies the pairs of each axis have."),
      member("rotation_direction", &T::rotation_direction,
             "Which way pairs rotate as positions grow; 'clockwise' (nanochat): inv_freq is negative."));
}

// docs/schemes/xpos.md
constexpr auto description(Type<XPos>) {
  using T = XPos;
  return described_as<T>("XPos",
                         "xPos, arXiv 2212.10554: a rotation with decay zeta_p^((i - j) / scale_base). Keys are cached "
                         "without the decay.",
                         member("rope", &T::rope), member("scale_base", &T::scale_base));
}

// A value, as make_table takes frequencies of the caller's own.
constexpr auto description(Type<Frequencies>) {
  using T = Frequencies;
  return described_as<T>("Frequencies", "What RoPE rotates by.",
                         member("inv_freq", &T::inv_freq, "[dim / 2], radians per position; negative: clockwise."),
                         member("attention_factor", &T::attention_factor, "Multiplies cos and sin."));
}

constexpr auto description(Type<Wavelengths>) {
  using T = Wavelengths;
  return described_as<T>(
      "Wavelengths", "2 pi / |inv_freq|, positions per period, against a trained length.",
      member("wavelength", &T::wavelength, "[dim / 2]; infinite for a pair that is not rotated."),
      member("incomplete_pairs", &T::incomplete_pairs, "That do not complete a period within the trained length."),
      member("critical_dim", &T::critical_dim, "2 * the number of pairs that do (arXiv 2310.05209)."));
}

// Of Angles 'float32' or 'bfloat16', against 'exact'.
constexpr auto description(Type<AngleError>) {
  using T = AngleError;
  return described_as<T>("AngleError", "How far a table is off, and where.",
                         member("largest", &T::largest, "Of |difference| of cos or sin."),
                         member("position", &T::position), member("pair", &T::pair));
}

// What is left of a Rope once its frequencies are known: layout(rope).
constexpr auto description(Type<RotaryLayout>) {
  using T = RotaryLayout;
  return described_as<T>("RotaryLayout", "Which channels a table rotates, by which coordinate.",
                         member("pairing", &T::pairing), member("head_dim", &T::head_dim, "Channels of a head."),
                         member("first_channel", &T::first_channel, "The first rotated channel."),
                         member("dim", &T::dim, "Rotated channels; even."), member("axes", &T::axes));
}

}  // namespace posenc::python
