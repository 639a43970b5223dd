// The schemes of the input, score and value stages, regions and query scales (posenc/schemes.h), as Python sees them.
// Numbers that a config gives. Learned tables are classes of their own (describe_attention.h, describe_input.h). What
// is computed has a page in docs/schemes: the formula, which models have it, what implementations disagree on.
// i: the query's position; j: the key's; i - j above 0: the key is in the past.
#pragma once

#include "describe/described.h"
#include "posenc/schemes.h"

namespace posenc::python {

// ---- input ----

// docs/schemes/learned.md
constexpr auto description(Type<LearnedInput>) {
  using T = LearnedInput;
  return described_as<T>("LearnedInput",
                         "A learned table; token i takes row i + offset (BERT, GPT-2: 0; OPT, BART: 2).",
                         member("positions", &T::positions, "Rows; 0: not known."), member("offset", &T::offset),
                         member("token_types", &T::token_types, "Rows of a second table, by segment (BERT)."),
                         member("embedding_multiplier", &T::embedding_multiplier), member("combine", &T::combine),
                         member("tokens", &T::tokens, "Which have a row: 'patches'; empty: all of the stack's."));
}

// docs/schemes/sinusoidal.md, with the six conventions: which channels are sines, which exponent.
constexpr auto description(Type<SinusoidalInput>) {
  using T = SinusoidalInput;
  return described_as<T>("SinusoidalInput", "A fixed table of sines, arXiv 1706.03762; the conventions in use differ.",
                         member("convention", &T::convention), member("offset", &T::offset),
                         member("positions", &T::positions, "Rows of the table (Whisper); None: it grows."),
                         member("axis", &T::axis, "The coordinate that counts; empty: order in the sequence."),
                         member("embedding_multiplier", &T::embedding_multiplier),
                         member("learned_scale", &T::learned_scale, "Rows times one learned number (SpeechT5)."),
                         member("combine", &T::combine));
}

// These three are read from configs, but input_row and reference.add_input do not compute them.
constexpr auto description(Type<AxialInput>) {
  using T = AxialInput;
  return described_as<T>("AxialInput", "A learned table per axis: rows are added (Gemma 4) or put side by side.",
                         member("shape", &T::shape, "Rows, an axis each."), member("combine", &T::combine),
                         member("dims", &T::dims, "Of 'concatenate': channels, an axis each."),
                         member("tokens", &T::tokens, "Which have a row: 'patches'; empty: all of the stack's."));
}

constexpr auto description(Type<TileInput>) {
  using T = TileInput;
  return described_as<T>(
      "TileInput", "Mllama: learned, times tanh(gate), by the aspect ratio of an image cut into tiles.",
      member("rows", &T::rows, "Aspect ratios, and one for none."), member("tiles", &T::tiles, "At most, of an image."),
      member("positions", &T::positions, "Patches of a tile; 0: one row a tile."));
}

constexpr auto description(Type<ConvolutionInput>) {
  using T = ConvolutionInput;
  return described_as<T>("ConvolutionInput",
                         "wav2vec 2.0, arXiv 2006.11477: what a grouped convolution along the sequence gives is added.",
                         member("kernel", &T::kernel), member("groups", &T::groups), member("layers", &T::layers),
                         member("stride", &T::stride, "Positions that are averaged before (SEW)."));
}

// docs/schemes/integer.md and binary.md: of no model, for comparison.
constexpr auto description(Type<IntegerInput>) {
  using T = IntegerInput;
  return described_as<T>("IntegerInput", "The place itself in every channel: i + offset, or (i + offset) / length.",
                         member("normalised", &T::normalised), member("offset", &T::offset),
                         member("embedding_multiplier", &T::embedding_multiplier), member("combine", &T::combine));
}

constexpr auto description(Type<BinaryInput>) {
  using T = BinaryInput;
  return described_as<T>("BinaryInput", "The place in binary, a bit a channel, the highest first.",
                         member("offset", &T::offset), member("embedding_multiplier", &T::embedding_multiplier),
                         member("combine", &T::combine));
}

// docs/schemes/added.md. input_row computes the sines of a place; what is learned of them is the model's.
constexpr auto description(Type<AxisSinesInput>) {
  using T = AxisSinesInput;
  return described_as<T>(
      "AxisSinesInput", "DETR, arXiv 2005.12872: sines of each coordinate side by side.",
      member("axes", &T::axes, "In the order of their channels: 'h', 'w', of boxes also 'width', 'height'."),
      member("interleaved", &T::interleaved, "Sine and cosine of one angle are neighbours."), member("base", &T::base),
      member("normalised", &T::normalised, "scale (c + offset) / (length + 1e-6); else scale (c + offset)."),
      member("scale", &T::scale), member("offset", &T::offset),
      member("of", &T::of, "Whose place: 'boxes' are made of content by the layers before."),
      member("learned_map", &T::learned_map, "A learned perceptron of the sines is added."));
}

constexpr auto description(Type<FourierInput>) {
  using T = FourierInput;
  return described_as<T>("FourierInput",
                         "SAM, arXiv 2304.02643: sin(2 pi v G), cos(2 pi v G), G a stored Gaussian matrix.",
                         member("of", &T::of, "Whose place."),
                         member("kinds", &T::kinds, "Rows of which one is added by the kind of a point."));
}

constexpr auto description(Type<PerceptronInput>) {
  using T = PerceptronInput;
  return described_as<T>("PerceptronInput",
                         "RT-DETR, arXiv 2304.08069: a learned perceptron of the coordinates themselves.",
                         member("coordinates", &T::coordinates), member("of", &T::of, "Whose place."));
}

// ---- score ----

// docs/schemes/alibi.md. Nothing is learned: alibi_slopes(scheme) has the slopes.
constexpr auto description(Type<Alibi>) {
  using T = Alibi;
  return described_as<T>(
      "Alibi", "ALiBi, arXiv 2108.12409: -slope_h (i - j).", member("heads", &T::heads),
      member("max_bias", &T::max_bias, "Slopes are 2^(-max_bias k / heads)."),
      member("symmetric", &T::symmetric, "-slope_h |i - j| (encoders)."),
      member("scaled", &T::scaled, "Multiplied by the softmax scale too (Falcon)."),
      member("form", &T::form, "How it is computed; 'column' is slope_h j (BLOOM)."),
      member("geometric_slopes", &T::geometric_slopes, "The formula of slopes for any number of heads (OLMo)."));
}

// docs/schemes/t5.md; t5_bucket(scheme, distance) is the row of the table.
constexpr auto description(Type<T5Bias>) {
  using T = T5Bias;
  return described_as<T>("T5Bias", "T5, arXiv 1910.10683: a learned number per head and bucket of i - j.",
                         member("buckets", &T::buckets), member("max_distance", &T::max_distance),
                         member("bidirectional", &T::bidirectional), member("table_per_layer", &T::table_per_layer),
                         member("gated", &T::gated, "Times a number of the query's hidden state (WavLM)."),
                         member("axis", &T::axis, "The coordinate whose distance counts."),
                         member("scaled", &T::scaled, "Multiplied by the softmax scale too (LayoutLMv3)."));
}

constexpr auto description(Type<ClippedBias>) {
  using T = ClippedBias;
  return described_as<T>("ClippedBias", "A learned number per head and distance, clipped to [-future, past].",
                         member("past", &T::past), member("future", &T::future));
}

// Rows and columns are those of the window, not of the table. docs/schemes/grid-bias.md
constexpr auto description(Type<GridBias>) {
  using T = GridBias;
  return described_as<T>("GridBias",
                         "Swin, arXiv 2103.14030: a learned number per head and difference of both coordinates.",
                         member("rows", &T::rows), member("columns", &T::columns));
}

// docs/schemes/kerple.md; r1 and r2 are KerpleWeights.
constexpr auto description(Type<Kerple>) {
  using T = Kerple;
  return described_as<T>("Kerple", "KERPLE, arXiv 2205.09921: -r1 ln(1 + r2 |i - j|), or -r1 |i - j|^r2.",
                         member("form", &T::form));
}

// No members: all of it is learned (FireWeights).
constexpr auto description(Type<Fire>) {
  return described_as<Fire>("Fire", "FIRE, arXiv 2310.04418: MLP(psi(i - j) / psi(max(L, i))), psi(x) = ln(c x + 1).");
}

constexpr auto description(Type<Sandwich>) {
  using T = Sandwich;
  return described_as<T>("Sandwich",
                         "Sandwich, arXiv 2212.10356: the product of two sinusoids, once per head compressed.",
                         member("heads", &T::heads), member("channels", &T::channels, "Of the sinusoids."));
}

constexpr auto description(Type<MlpBias>) {
  using T = MlpBias;
  return described_as<T>("MlpBias", "A learned MLP of the distance, or of sign(d) ln(|d| + 1).",
                         member("logarithmic", &T::logarithmic));
}

// docs/schemes/shaw.md, with the value term, ShawValues.
constexpr auto description(Type<ShawKeys>) {
  using T = ShawKeys;
  return described_as<T>("ShawKeys", "Shaw et al., arXiv 1803.02155: q_i . E[clip(j - i, -left, right)].",
                         member("left", &T::left), member("right", &T::right),
                         member("sinusoidal", &T::sinusoidal, "E is a table of sines of the distance (NEZHA)."),
                         member("by_keys", &T::by_keys, "Keys ask too (BERT's relative_key_query)."));
}

constexpr auto description(Type<Distances>) {
  using T = Distances;
  return described_as<T>("Distances", "A range of i - j.", member("low", &T::low), member("high", &T::high));
}

// docs/schemes/transformer-xl.md. content_bias, position_bias: whether u and v are there at all.
constexpr auto description(Type<TransformerXl>) {
  using T = TransformerXl;
  return described_as<T>("TransformerXl", "Transformer-XL, arXiv 1901.02860: (q_i + v) . W r(i - j) + u . k_j.",
                         member("clamp_length", &T::clamp_length, "-1: distances are not clamped."),
                         member("content_bias", &T::content_bias, "u"), member("position_bias", &T::position_bias, "v"),
                         member("sinusoid", &T::sinusoid, "Of r."),
                         member("distances", &T::distances, "For which there is a row."));
}

constexpr auto description(Type<XlNet>) {
  using T = XlNet;
  return described_as<T>("XlNet", "XLNet, arXiv 1906.08237: Transformer-XL's terms, and one for the segment.",
                         member("clamp_length", &T::clamp_length, "-1: distances are not clamped."),
                         member("bidirectional_data", &T::bidirectional_data));
}

// docs/schemes/deberta.md. With buckets the table has 2 buckets rows, without 2 max_distance: deberta_span().
constexpr auto description(Type<Deberta>) {
  using T = Deberta;
  return described_as<T>(
      "Deberta", "DeBERTa, arXiv 2006.03654 (v1: buckets 0) and 2111.09543 (logarithmic buckets).",
      member("buckets", &T::buckets), member("max_distance", &T::max_distance),
      member("content_to_position", &T::content_to_position), member("position_to_content", &T::position_to_content),
      member("position_to_position", &T::position_to_position), member("shared_projection", &T::shared_projection));
}

constexpr auto description(Type<DecomposedHw>) {
  using T = DecomposedHw;
  return described_as<T>("DecomposedHw", "MViT, SAM, arXiv 2112.01526: q_i . Eh[h_i - h_j] + q_i . Ew[w_i - w_j].",
                         member("rows", &T::rows, "Of each table: 2 * side - 1."));
}

// docs/schemes/contextual-position.md. Not the clipped rotation of arXiv 2602.05258, which is called CoPE, too.
constexpr auto description(Type<ContextualPosition>) {
  using T = ContextualPosition;
  return described_as<T>("ContextualPosition", "CoPE, arXiv 2405.18719: positions are counted by gates.",
                         member("positions", &T::positions, "Rows of the table."));
}

constexpr auto description(Type<ForgetGate>) {
  return described_as<ForgetGate>("ForgetGate", "FoX, arXiv 2503.02130: the sum of ln f_l over j < l <= i.");
}

constexpr auto description(Type<DistanceLogits>) {
  using T = DistanceLogits;
  return described_as<T>("DistanceLogits",
                         "Inkling: r_i . E[i - j] for distances from 0 to extent - 1. A call brings the sums as bias.",
                         member("extent", &T::extent, "Distances that have a row."),
                         member("channels", &T::channels, "Of r_i, which is made of the query token."));
}

// ---- regions ----

// Regions change the positions by which a query and a key are rotated, depending on their distance: standing().
constexpr auto description(Type<SelfExtend>) {
  using T = SelfExtend;
  return described_as<T>("SelfExtend", "SelfExtend, arXiv 2401.01325: distances from `window` on count in groups.",
                         member("group", &T::group), member("window", &T::window));
}

constexpr auto description(Type<ReRope>) {
  using T = ReRope;
  return described_as<T>("ReRope", "ReRoPE: distances beyond `window` count as `window`, or grow by 1 / step.",
                         member("window", &T::window), member("step", &T::step, "Of the leaky form."));
}

// docs/schemes/dual-chunk.md: vLLM and the paper's own code go on to c where the paper stops at c - 1, so `trained` is
// c + 1 for them.
constexpr auto description(Type<DualChunk>) {
  using T = DualChunk;
  return described_as<T>("DualChunk", "Dual chunk attention, arXiv 2402.17463.", member("chunk", &T::chunk),
                         member("local", &T::local, "trained - chunk"),
                         member("trained", &T::trained, "The trained length."));
}

// ---- value ----

constexpr auto description(Type<ShawValues>) {
  using T = ShawValues;
  return described_as<T>("ShawValues", "Shaw et al., arXiv 1803.02155: v_j + E[clip(j - i, -left, right)].",
                         member("left", &T::left), member("right", &T::right),
                         member("sinusoidal", &T::sinusoidal, "E is a table of sines of the distance."));
}

constexpr auto description(Type<RotatedValues>) {
  using T = RotatedValues;
  return described_as<T>(
      "RotatedValues",
      "Values are rotated like keys: R_j v_j is read, and (DeepSeek V4) R_i^-1 rotates the output back.",
      member("inverse_on_output", &T::inverse_on_output, "The output is rotated back."));
}

// ---- query scale ----

// docs/schemes/query-scales.md. i counts from 0; Llama 4 adds 1 to it and Ministral does not.
constexpr auto description(Type<Llama4Temperature>) {
  using T = Llama4Temperature;
  return described_as<T>("Llama4Temperature", "Llama 4: ln(1 + floor((i + 1) / floor_scale)) * attn_scale + 1.",
                         member("attn_scale", &T::attn_scale), member("floor_scale", &T::floor_scale, "Tokens."));
}

constexpr auto description(Type<MinistralTemperature>) {
  using T = MinistralTemperature;
  return described_as<T>("MinistralTemperature",
                         "Ministral 3: 1 + beta * ln(1 + floor(i / original_max_position_embeddings)).",
                         member("beta", &T::beta),
                         member("original_max_position_embeddings", &T::original_max_position_embeddings, "Tokens."));
}

constexpr auto description(Type<LogNScale>) {
  using T = LogNScale;
  return described_as<T>("LogNScale", "Qwen 1: max(1, ln(i + 1) / ln(seq_length)).",
                         member("seq_length", &T::seq_length, "Tokens."));
}

constexpr auto description(Type<BeamTemperature>) {
  using T = BeamTemperature;
  return described_as<T>("BeamTemperature", "Beam: (1 + (i + 1) / length)^exponent.", member("exponent", &T::exponent),
                         member("length", &T::length, "Tokens."));
}

constexpr auto description(Type<InklingTemperature>) {
  using T = InklingTemperature;
  return described_as<T>("InklingTemperature", "Inkling: 1 + alpha * ln(max(1, (i + 1) / floor)).",
                         member("alpha", &T::alpha), member("floor", &T::floor, "Tokens."));
}

}  // namespace posenc::python
