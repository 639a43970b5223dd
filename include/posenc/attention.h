// What one attention sub-layer is given besides its plan: learned tables (weights), and what changes per call (inputs).
//
// attend (attend.h) and its float64 reference, reference::attend (reference_attend.h), compute from these. i is a
// query, j a key, h a head.
//
// Tensors are views that somebody else owns, of any dtype and any strides. Tables of the relative schemes are stored by
// the distance i - j, ascending; checkpoints of the Shaw family store by j - i, so their rows are reversed on load.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "posenc/rotate.h"
#include "posenc/schemes.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// ---- weights of score terms ----

// y = W x + b: weight [outputs, inputs], bias [outputs] or nothing.
struct Linear {
  ConstTensorView weight{};
  ConstTensorView bias{};
  bool operator==(const Linear&) const = default;
};

struct T5Weights {
  ConstTensorView table{};  // [buckets, heads]
};

struct ClippedBiasWeights {
  ConstTensorView table{};  // [past + future + 1, heads], from the distance -future to past
};

struct GridBiasWeights {
  ConstTensorView table{};  // [(2 rows - 1) (2 columns - 1), heads]
};

// Both above 0 (a checkpoint stores numbers that become so by clamping); one below 0 is refused.
struct KerpleWeights {
  ConstTensorView r1{};  // [heads]
  ConstTensorView r2{};  // [heads]
};

struct FireWeights {
  double c = 1.0;          // of log(c x + 1); above 0
  double threshold = 1.0;  // L; above 0
  Linear hidden{};         // [width, 1], with a bias
  Linear out{};            // [heads, width], with a bias
};

// The layers of a perceptron of one number; SiLU between them, nothing after the last.
struct MlpBiasWeights {
  std::vector<Linear> layers{};  // the first has 1 input, the last `heads` outputs
};

// Without a table, rows are sinusoids of the distance (ShawKeys::sinusoidal, ShawValues::sinusoidal).
struct ShawWeights {
  ConstTensorView
      table{};  // [right + left + 1, head_dim], or [heads, right + left + 1, head_dim]; distance -right first
};

// r is a sinusoid, or a row of `table`, which has one for each distance of the scheme: `distances`, low first, or
// -clamp_length to clamp_length. A table is refused where the scheme says neither.
struct TransformerXlWeights {
  ConstTensorView projection{};     // W_(k,R): [heads * head_dim, channels of r]
  ConstTensorView content_bias{};   // u: [heads, head_dim], where the scheme has it
  ConstTensorView position_bias{};  // v: [heads, head_dim]
  ConstTensorView table{};          // R: [distances, channels]; omitted: sinusoids
};

struct XlNetWeights {
  TransformerXlWeights positions{};  // r_w_bias is content_bias, r_r_bias position_bias
  ConstTensorView segment_bias{};    // r_s_bias: [heads, head_dim]; both omitted: no segments
  ConstTensorView segments{};        // seg_embed: [2, heads, head_dim], same segment first
};

// Rows of relative embeddings by bucket, and the projections that make keys and queries of them: of a layer with
// shared_projection its own q and k projections, with their biases.
struct DebertaWeights {
  ConstTensorView table{};  // [2 span, channels]
  Linear keys{};            // [heads * head_dim, channels]: for content to position, and position to position
  Linear queries{};         // for position to content, and position to position
};

struct CopeWeights {
  ConstTensorView table{};  // [positions, head_dim]
};

struct DecomposedHwWeights {
  ConstTensorView rows{};     // [rows, head_dim], by the difference of the first coordinate
  ConstTensorView columns{};  // [rows, head_dim], of the second
};

using ScoreWeights = std::variant<std::monostate, T5Weights, ClippedBiasWeights, GridBiasWeights, KerpleWeights,
                                  FireWeights, MlpBiasWeights, ShawWeights, TransformerXlWeights, XlNetWeights,
                                  DebertaWeights, CopeWeights, DecomposedHwWeights>;

// ---- weights and inputs of a layer ----

struct LayerWeights {
  std::vector<ScoreWeights> score{};  // one for each LayerPlan::score; omitted where no term has any
  ShawWeights value{};                // of ShawValues
  ConstTensorView sinks{};            // [heads], where LayerPlan::sinks
};

// The order of a row without a token, as in blocks of which a sequence has only some rows (cache/view.h).
inline constexpr std::int64_t kNoToken = std::int64_t{1} << 53U;

// All of them may be omitted but where a scheme or a mask needs them. A prefix, segments, log_forget and row_gate are
// refused where no scheme or mask of the layer reads them.
struct LayerInputs {
  // Coordinates of the tokens, [axes, rows] as for rotate (rows are tokens, or batch * tokens). Omitted: the order.
  std::optional<Positions> q_positions{};
  std::optional<Positions> k_positions{};
  // Where a token stands in its sequence, for masks. Omitted: keys are counted from 0, and the last query stands with
  // the last key. A row of k that holds no token has kNoToken (causal layers: no query stands so late). [rows]
  std::span<const std::int64_t> q_order{};
  std::span<const std::int64_t> k_order{};
  // Packed sequences, rank 3 only: queries and keys of one sequence see one another. [sequences + 1]
  std::span<const std::int32_t> cu_seqlens_q{};
  std::span<const std::int32_t> cu_seqlens_k{};

  std::int64_t prefix = 0;      // MaskKind::prefix: tokens at the front of each sequence that all may see
  ConstTensorView attn_mask{};  // not 0: visible, besides the plan's mask; [queries, keys] up to rank 4
  ConstTensorView bias{};       // added to the scores as any other bias, likewise
  std::span<const std::int32_t> q_segments{};  // XLNet: [rows]
  std::span<const std::int32_t> k_segments{};
  ConstTensorView log_forget{};          // FoX: ln of the forget gate, at most 0: [key rows, heads]
  ConstTensorView row_gate{};            // T5Bias::gated: [query rows, heads]
  std::optional<std::int64_t> length{};  // of the sequences, for rules that depend on it
  bool q_rotated = false;                // RoPE is already applied to q
  bool k_rotated = false;
};

}  // namespace posenc::inline v0_2
