// Position schemes other than the rotation (rope.h), by the stage at which they act: input, score, value; and the
// scales that depend on position. Here are the numbers a config gives; learned tables are weights and come separately.
//
// i is the query's position, j the key's, i - j their distance (positive: the key is in the past).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace posenc::inline v0_2 {

// ---- input: x_i -> m * x_i + p_i, or m * x_i * p_i ----

// How a row meets the embedding. All models that read_plan knows add.
enum class InputCombine : std::uint8_t { add, multiply };

// A learned table of `positions` rows; token i takes row i + offset (BERT, GPT-2: 0; OPT, BART: 2).
struct LearnedInput {
  std::int64_t positions = 0;  // rows; 0: not known
  std::int64_t offset = 0;
  // Rows of a second table, by segment (BERT). Absent: there are no segments, or they are rows of the word table (GPT).
  std::optional<std::int64_t> token_types{};
  double embedding_multiplier = 1.0;  // m
  InputCombine combine = InputCombine::add;
  std::string tokens{};  // which have a row: "patches" (ViLT), counted among themselves; empty: all of the stack's
  bool operator==(const LearnedInput&) const = default;
};

// A fixed table of sines. The conventions in use differ.
enum class SinusoidConvention : std::uint8_t { paper, tensor2tensor, musicgen, marian, whisper, xlnet };
struct SinusoidalInput {
  SinusoidConvention convention = SinusoidConvention::paper;
  std::int64_t offset = 0;
  std::optional<std::int64_t> positions{};  // rows of the table (Whisper); absent: it grows
  std::string axis{};                       // the coordinate that counts (Kimi K2.5: "t"); empty: order in the sequence
  double embedding_multiplier = 1.0;        // m (M2M-100: sqrt(d_model))
  bool learned_scale = false;               // p_i times one learned number (SpeechT5; arXiv 1809.08895, 3.2)
  InputCombine combine = InputCombine::add;
  bool operator==(const SinusoidalInput&) const = default;
};

// A learned table per axis: their rows are added (Gemma 4's patches) or put side by side (Reformer).
enum class AxialCombine : std::uint8_t { add, concatenate };
struct AxialInput {
  std::vector<std::int64_t> shape{};  // rows, an axis each
  AxialCombine combine = AxialCombine::add;
  std::vector<std::int64_t> dims{};  // concatenate: channels, an axis each
  std::string tokens{};              // as LearnedInput has it
  bool operator==(const AxialInput&) const = default;
};

// Mllama: learned, gated, by the aspect ratio of an image cut into tiles; positions 0: one row a tile.
struct TileInput {
  std::int64_t rows = 0;       // aspect ratios, and one for none
  std::int64_t tiles = 0;      // at most, of an image
  std::int64_t positions = 0;  // patches of a tile, the class token included
  bool operator==(const TileInput&) const = default;
};

// wav2vec 2.0, arXiv 2006.11477: p = f(conv(x)), a grouped convolution along the sequence. Positions are told by the
// neighbours that are there, so there is no table and no longest input. Of an even kernel k a position sees k/2 before
// it and k/2 - 1 after it.
struct ConvolutionInput {
  std::int64_t kernel = 1;
  std::int64_t groups = 1;
  std::int64_t layers = 1;  // one after the other (data2vec)
  std::int64_t stride = 1;  // x is averaged over as many positions (SEW)
  bool operator==(const ConvolutionInput&) const = default;
};

// The place itself, in every channel: p_i = i + offset, or (i + offset) / length.
struct IntegerInput {
  bool normalised = false;
  std::int64_t offset = 0;  // 1: counted from 1
  double embedding_multiplier = 1.0;
  InputCombine combine = InputCombine::add;
  bool operator==(const IntegerInput&) const = default;
};

// The place in binary, a bit a channel, the highest first: d channels tell 0 to 2^d - 1 apart.
struct BinaryInput {
  std::int64_t offset = 0;
  double embedding_multiplier = 1.0;
  InputCombine combine = InputCombine::add;
  bool operator==(const BinaryInput&) const = default;
};

// Whose place it is: of a cell of the image's grid; of a box that the layers before made of content; of a point or a
// corner that the user gives; of a token in its text, or in the phrase that it is of (Grounding DINO).
enum class PlaceOf : std::uint8_t { grid, boxes, points, text };

// Sines of each coordinate side by side: d channels and n coordinates make d/n each, of angles v base^(-2k/(d/n)).
// DETR, arXiv 2005.12872: v = scale (c + offset) / (length + 1e-6), c counted from 0 along an axis of `length` cells.
// Of text the one coordinate is "t", the place of a token.
struct AxisSinesInput {
  std::vector<std::string> axes{"h", "w"};  // in the order of their channels; of boxes also "width", "height"
  bool interleaved = true;                  // sine and cosine of one angle are neighbours; else sines, then cosines
  double base = 10000.0;
  bool normalised = true;  // else v = scale (c + offset)
  double scale = 1.0;      // DETR: 2 pi
  double offset = 0.0;     // DETR: 1
  PlaceOf of = PlaceOf::grid;
  bool learned_map = false;  // a learned perceptron of them is added, and not they themselves (DAB-DETR)
  bool operator==(const AxisSinesInput&) const = default;
};

// Random Fourier features, arXiv 2006.10739, as in SAM: sin(2 pi v G), then cos(2 pi v G), of v = 2 c - 1, c the
// place across and down over the image's size. G [2, d/2] is drawn from a Gaussian once, and stored with the weights.
struct FourierInput {
  PlaceOf of = PlaceOf::grid;
  std::optional<std::int64_t> kinds{};  // of points: a learned row is added by the kind of each, of so many
  bool operator==(const FourierInput&) const = default;
};

// A learned perceptron of the coordinates themselves (RT-DETR: across, down, width, height of a box).
struct PerceptronInput {
  std::int64_t coordinates = 4;
  PlaceOf of = PlaceOf::boxes;
  bool operator==(const PerceptronInput&) const = default;
};

using InputScheme = std::variant<LearnedInput, SinusoidalInput, AxialInput, TileInput, ConvolutionInput, IntegerInput,
                                 BinaryInput, AxisSinesInput, FourierInput, PerceptronInput>;

// ---- score: s_ij -> s_ij + b_ij ----

// ALiBi, arXiv 2108.12409: -slope_h (i - j).
enum class AlibiForm : std::uint8_t {
  relative,         // -slope_h (i - j)
  column,           // slope_h j: the same to the softmax (BLOOM)
  column_bfloat16,  // the same, slope, j and their product rounded to bfloat16 whatever the model's dtype (Falcon)
};
struct Alibi {
  std::int64_t heads = 0;
  double max_bias = 8.0;
  bool symmetric = false;  // -slope_h |i - j| (encoders)
  bool scaled = false;     // multiplied by the softmax scale too (Falcon)
  AlibiForm form = AlibiForm::relative;
  bool geometric_slopes = false;  // slopes 2^(-max_bias k / heads) for any number of heads (OLMo)
  bool operator==(const Alibi&) const = default;
};

// T5, arXiv 1910.10683: a learned number per head and bucket of i - j.
struct T5Bias {
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  bool bidirectional = false;
  bool table_per_layer = false;  // UMT5; T5 shares the first layer's table
  bool gated = false;            // times a number that each head makes of the query's hidden state (WavLM)
  std::int64_t axis = 0;         // the coordinate whose distance counts (LayoutLMv2, UDOP: text, across, down)
  bool scaled = false;           // multiplied by the softmax scale too (LayoutLMv3)
  bool operator==(const T5Bias&) const = default;
};

// A learned number per head and distance, clipped to [-future, past].
struct ClippedBias {
  std::int64_t past = 0;
  std::int64_t future = 0;
  bool operator==(const ClippedBias&) const = default;
};

// Swin, arXiv 2103.14030; BEiT: a learned number per head and difference of both coordinates in a window of rows x
// columns.
struct GridBias {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  bool operator==(const GridBias&) const = default;
};

// KERPLE, arXiv 2205.09921: -r1 ln(1 + r2 |i - j|), or -r1 |i - j|^r2; r1, r2 learned per head.
struct Kerple {
  enum class Form : std::uint8_t { logarithmic, power };
  Form form = Form::logarithmic;
  bool operator==(const Kerple&) const = default;
};

// FIRE, arXiv 2310.04418: MLP(psi(i - j) / psi(max(L, i))), psi(x) = ln(c x + 1); the perceptron, c and L are learned.
struct Fire {
  bool operator==(const Fire&) const = default;
};

// Sandwich, arXiv 2212.10356: what the product of two sinusoids leaves of a distance, once per head compressed.
struct Sandwich {
  std::int64_t heads = 0;
  std::int64_t channels = 128;  // of the sinusoids
  bool operator==(const Sandwich&) const = default;
};

// A learned perceptron of the distance, or of sign(d) ln(|d| + 1).
struct MlpBias {
  bool logarithmic = false;
  bool operator==(const MlpBias&) const = default;
};

// Shaw et al., arXiv 1803.02155: q_i . E[clip(j - i, -left, right)]; by_keys: (q_i + k_j) . E[..].
struct ShawKeys {
  std::int64_t left = 0;
  std::int64_t right = 0;
  bool sinusoidal = false;  // E is a table of sines of the distance, and not learned (NEZHA)
  bool by_keys = false;     // keys ask too, for the same row (BERT's relative_key_query)
  bool operator==(const ShawKeys&) const = default;
};

// Transformer-XL, arXiv 1901.02860: (q_i + v) . W r(i - j) + u . k_j.
struct Distances {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Distances&) const = default;
};
struct TransformerXl {
  std::int64_t clamp_length = -1;                           // -1: distances are not clamped
  bool content_bias = true;                                 // u
  bool position_bias = true;                                // v
  SinusoidConvention sinusoid = SinusoidConvention::xlnet;  // of r
  std::optional<Distances> distances{};                     // i - j for which there is a row (Gemma 4's audio)
  bool operator==(const TransformerXl&) const = default;
};

// XLNet, arXiv 1906.08237: Transformer-XL's terms, both directions, and one for the segment.
struct XlNet {
  std::int64_t clamp_length = -1;
  bool bidirectional_data = false;
  bool operator==(const XlNet&) const = default;
};

// DeBERTa, arXiv 2006.03654 (v1: buckets 0) and 2111.09543 (v2, v3: logarithmic buckets).
struct Deberta {
  std::int64_t buckets = 0;
  std::int64_t max_distance = 0;
  bool content_to_position = true;
  bool position_to_content = true;
  bool position_to_position = false;
  bool shared_projection = false;
  bool operator==(const Deberta&) const = default;
};

// MViT, SAM: q_i . Eh[h_i - h_j] + q_i . Ew[w_i - w_j], q without the softmax scale; arXiv 2112.01526.
struct DecomposedHw {
  std::int64_t rows = 0;  // of each table: 2 * side - 1
  bool operator==(const DecomposedHw&) const = default;
};

// Contextual position encoding, arXiv 2405.18719: positions are counted by gates sigmoid(x_il) from key j up to the
// query; q_i . E[p_ij] between whole p by interpolation. Not the clipped rotation of arXiv 2602.05258, also called
// CoPE.
struct ContextualPosition {
  std::int64_t positions = 0;  // rows of E; beyond the last, the last
  bool operator==(const ContextualPosition&) const = default;
};

// FoX, arXiv 2503.02130: the sum of ln f_l over j < l <= i; f_l is made of token l.
struct ForgetGate {
  bool operator==(const ForgetGate&) const = default;
};

// Inkling: r_i . E[i - j] for distances from 0 to extent - 1, else 0. r_i is of a head, a third projection of the query
// token beside q and k, and takes part in its query scale; E is learned, and all heads share it. A call brings the sums
// as its `bias`: they are made of hidden states, which attention does not see.
struct DistanceLogits {
  std::int64_t extent = 1;
  std::int64_t channels = 1;  // of r_i
  bool operator==(const DistanceLogits&) const = default;
};

using ScoreTerm =
    std::variant<Alibi, T5Bias, ClippedBias, GridBias, Kerple, Fire, Sandwich, MlpBias, ShawKeys, TransformerXl, XlNet,
                 Deberta, DecomposedHw, ContextualPosition, ForgetGate, DistanceLogits>;

// ---- regions: the rotation's positions depend on how far the key is ----

// SelfExtend, arXiv 2401.01325: distances below `window` as they are; else query floor(i / group) + window -
// floor(window / group) and key floor(j / group).
struct SelfExtend {
  std::int64_t group = 1;
  std::int64_t window = 0;
  bool operator==(const SelfExtend&) const = default;
};

// ReRoPE (kexue.fm/archives/9708): distances beyond `window` count as `window`; leaky: as window + (d - window) / step.
struct ReRope {
  std::int64_t window = 0;
  std::optional<double> step{};  // leaky
  bool operator==(const ReRope&) const = default;
};

// Dual chunk attention, arXiv 2402.17463: keys stand at j mod chunk; queries at i mod chunk for keys of their own
// chunk, further on for the chunk before (the first `local` of them as they are) and at `trained` - 1 for all others.
// vLLM and the paper's own code go on to their chunk_size, the paper's c, and not to c - 1: `trained` is c + 1 for
// them.
struct DualChunk {
  std::int64_t chunk = 1;
  std::int64_t local = 0;    // trained - chunk
  std::int64_t trained = 0;  // the trained length
  bool operator==(const DualChunk&) const = default;
};

using Regions = std::variant<std::monostate, SelfExtend, ReRope, DualChunk>;

// ---- value: o_i -> o_i + sum_j a_ij r(i, j) ----

struct ShawValues {
  std::int64_t left = 0;
  std::int64_t right = 0;
  bool sinusoidal = false;  // as ShawKeys has it
  bool operator==(const ShawValues&) const = default;
};

// Values are rotated like keys; `inverse_on_output` rotates the output back (DeepSeek V4).
struct RotatedValues {
  bool inverse_on_output = false;
  bool operator==(const RotatedValues&) const = default;
};

using ValueScheme = std::variant<std::monostate, ShawValues, RotatedValues>;

// ---- query scale: q_i -> tau_i q_i (attention temperature tuning) ----

// Llama 4: ln(1 + floor((i + 1) / floor_scale)) * attn_scale + 1.
struct Llama4Temperature {
  double attn_scale = 0.1;
  double floor_scale = 8192.0;
  bool operator==(const Llama4Temperature&) const = default;
};

// Ministral 3: 1 + beta * ln(1 + floor(i / original_max_position_embeddings)).
struct MinistralTemperature {
  double beta = 0.1;
  std::int64_t original_max_position_embeddings = 0;
  bool operator==(const MinistralTemperature&) const = default;
};

// Qwen 1: max(1, ln(i + 1) / ln(seq_length)).
struct LogNScale {
  std::int64_t seq_length = 0;
  bool operator==(const LogNScale&) const = default;
};

// Beam: (1 + (i + 1) / length)^exponent, on layers that do not rotate.
struct BeamTemperature {
  double exponent = 0.1;
  double length = 2048.0;
  bool operator==(const BeamTemperature&) const = default;
};

// Inkling: 1 + alpha * ln(max(1, (i + 1) / floor)).
struct InklingTemperature {
  double alpha = 0.1;
  double floor = 1.0;
  bool operator==(const InklingTemperature&) const = default;
};

using QueryScale = std::variant<std::monostate, Llama4Temperature, MinistralTemperature, LogNScale, BeamTemperature,
                                InklingTemperature>;

}  // namespace posenc::inline v0_2
