// What attention is given besides its plan (posenc/attention.h), as Python sees it.
// Weights are structs of views in C++, classes that keep the caller's arrays in Python (bind_held in held_type.h, Held
// in kept.h). Tables of distances are by i - j, ascending; checkpoints of the Shaw family have them by j - i. The
// formulas of the terms: src/math/score and src/reference.
#pragma once

#include "describe/described.h"
#include "posenc/attention.h"

namespace posenc::python {

constexpr auto description(Type<Linear>) {
  using T = Linear;
  return described_as<T>("Linear", "y = W x + b.", member("weight", &T::weight, "[outputs, inputs]"),
                         member("bias", &T::bias, "[outputs], or None."));
}

// One class of weights for each term that learns anything; ScoreWeights in C++ is the variant of them.
constexpr auto description(Type<T5Weights>) {
  return described_as<T5Weights>("T5Weights", "Of T5Bias.", member("table", &T5Weights::table, "[buckets, heads]"));
}

// docs/schemes/clipped-bias.md
constexpr auto description(Type<ClippedBiasWeights>) {
  using T = ClippedBiasWeights;
  return described_as<T>("ClippedBiasWeights", "Of ClippedBias.",
                         member("table", &T::table, "[past + future + 1, heads], from the distance -future to past."));
}

// Swin's relative_position_bias_table, a row for each pair of differences: grid_row() says which.
constexpr auto description(Type<GridBiasWeights>) {
  using T = GridBiasWeights;
  return described_as<T>("GridBiasWeights", "Of GridBias.",
                         member("table", &T::table, "[(2 rows - 1) (2 columns - 1), heads]"));
}

// As they enter the formula: a checkpoint's numbers are clamped above 0 before they are given here.
constexpr auto description(Type<KerpleWeights>) {
  using T = KerpleWeights;
  return described_as<T>("KerpleWeights", "Of Kerple; both above 0.", member("r1", &T::r1, "[heads]"),
                         member("r2", &T::r2, "[heads]"));
}

// c and threshold are numbers, not arrays: learned, too, but one of each for all heads.
constexpr auto description(Type<FireWeights>) {
  using T = FireWeights;
  return described_as<T>("FireWeights", "Of Fire.", member("c", &T::c, "Of log(c x + 1); above 0."),
                         member("threshold", &T::threshold, "L; above 0."),
                         member("hidden", &T::hidden, "Linear [width, 1], with a bias."),
                         member("out", &T::out, "Linear [heads, width], with a bias."));
}

// The number of layers and their widths follow from the matrices.
constexpr auto description(Type<MlpBiasWeights>) {
  using T = MlpBiasWeights;
  return described_as<T>("MlpBiasWeights", "Of MlpBias; SiLU between the layers, nothing after the last.",
                         member("layers", &T::layers, "Linear; the first has 1 input, the last `heads` outputs."));
}

// No table where the scheme is sinusoidal (NEZHA): rows are sinusoids of the distance then.
constexpr auto description(Type<ShawWeights>) {
  using T = ShawWeights;
  return described_as<T>("ShawWeights", "Of ShawKeys and ShawValues.",
                         member("table", &T::table,
                                "[right + left + 1, head_dim], or [heads, right + left + 1, head_dim]; distance -right "
                                "first."));
}

// u and v are r_w_bias and r_r_bias of the published code. W of `projection` is that of positions alone.
constexpr auto description(Type<TransformerXlWeights>) {
  using T = TransformerXlWeights;
  return described_as<T>("TransformerXlWeights", "Of TransformerXl.",
                         member("projection", &T::projection, "[heads * head_dim, channels of r]"),
                         member("content_bias", &T::content_bias, "u: [heads, head_dim]"),
                         member("position_bias", &T::position_bias, "v: [heads, head_dim]"),
                         member("table", &T::table,
                                "R: [distances, channels], rows of the scheme's distances, low first, or of "
                                "-clamp_length to clamp_length; None: sinusoids."));
}

constexpr auto description(Type<XlNetWeights>) {
  using T = XlNetWeights;
  return described_as<T>("XlNetWeights", "Of XlNet.", member("positions", &T::positions, "TransformerXlWeights."),
                         member("segment_bias", &T::segment_bias, "r_s_bias: [heads, head_dim]"),
                         member("segments", &T::segments, "seg_embed: [2, heads, head_dim], same segment first."));
}

// Of a layer whose scheme has shared_projection, the two projections are the layer's own for k and q.
constexpr auto description(Type<DebertaWeights>) {
  using T = DebertaWeights;
  return described_as<T>("DebertaWeights", "Of Deberta.", member("table", &T::table, "[2 span, channels]"),
                         member("keys", &T::keys, "Linear [heads * head_dim, channels]."),
                         member("queries", &T::queries, "Linear, for position to content, and position to position."));
}

constexpr auto description(Type<CopeWeights>) {
  using T = CopeWeights;
  return described_as<T>("CopeWeights", "Of ContextualPosition.", member("table", &T::table, "[positions, head_dim]"));
}

constexpr auto description(Type<DecomposedHwWeights>) {
  using T = DecomposedHwWeights;
  return described_as<T>("DecomposedHwWeights", "Of DecomposedHw.",
                         member("rows", &T::rows, "[rows, head_dim], by the difference of the first coordinate."),
                         member("columns", &T::columns, "[rows, head_dim], of the second."));
}

// No class in Python: these names are keyword arguments of attend, attend_linear and reference.attend, documented in
// kInputsDoc (attend_arguments.cpp). So they have no docs here.
constexpr auto description(Type<LayerInputs>) {
  using T = LayerInputs;
  return described_as<T>(
      "LayerInputs", "What changes from call to call.", member("q_positions", &T::q_positions),
      member("k_positions", &T::k_positions), member("q_order", &T::q_order), member("k_order", &T::k_order),
      member("cu_seqlens_q", &T::cu_seqlens_q), member("cu_seqlens_k", &T::cu_seqlens_k), member("prefix", &T::prefix),
      member("attn_mask", &T::attn_mask), member("bias", &T::bias), member("q_segments", &T::q_segments),
      member("k_segments", &T::k_segments), member("log_forget", &T::log_forget), member("row_gate", &T::row_gate),
      member("length", &T::length), member("q_rotated", &T::q_rotated), member("k_rotated", &T::k_rotated));
}

}  // namespace posenc::python
