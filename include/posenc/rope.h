// Rotary position embedding: the scheme, and its frequencies.
//
//   inv_freq[p] = base^(-2p/dim)           p = 0 .. dim/2 - 1, radians per position
//   (a, b) -> (a cos t - b sin t, a sin t + b cos t),  t = position * inv_freq[p]     for the p-th pair of channels
//
// RoFormer, arXiv 2104.09864. A scaling rule changes inv_freq, and may multiply cos and sin by an attention factor.
// Each rule's formula stands once, in src/math/; the slow truth of the rotation is reference.h, tables are
// rotary_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/error.h"
#include "posenc/export.h"

namespace posenc::inline v0_2 {

// Which two channels rotate together. `half`, half-split, pairs channel p with p + dim/2; `interleaved` pairs 2p with 2p + 1.
// half:        rotate_half, NeoX, "non-interleaved", ONNX interleaved=0, ggml NEOX, MLX traditional=False
// interleaved: GPT-J, Meta's complex form, rotate_every_two, "adjacent", ONNX interleaved=1, ggml NORM,
//              MLX traditional=True
// (`mrope_interleaved` in a config is about axes, not about pairs.)
enum class Pairing : std::uint8_t { half, interleaved };

// A member without a default: leaving it out of an initialiser does not compile.
template <typename T>
class Required {
 public:
  Required() = delete;
  constexpr Required(T value) : value_(std::move(value)) {}        // NOLINT: stands for its value
  constexpr operator const T&() const noexcept { return value_; }  // NOLINT: stands for its value
  constexpr const T& get() const noexcept { return value_; }
  constexpr bool operator==(const Required&) const = default;
  constexpr bool operator==(const T& value) const { return value_ == value; }  // of both conversions, neither is better

 private:
  T value_;
};

// ---- Scaling rules. Members carry their Hugging Face names. Lengths are in tokens. ----
// (Members written with {} can be left out of a designated initialiser without a warning from -Wextra.)

// Position interpolation, arXiv 2306.15595: inv_freq / factor.
struct LinearScaling {
  double factor = 1.0;
  bool operator==(const LinearScaling&) const = default;
};

// Static NTK (Hunyuan's alpha): base * alpha^(dim/(dim-2)).
struct NtkScaling {
  double alpha = 1.0;
  bool operator==(const NtkScaling&) const = default;
};

// Dynamic NTK: base * (factor * n / max - (factor - 1))^(dim/(dim-2)), n = max(length, max).
struct DynamicScaling {
  double factor = 1.0;
  std::int64_t max_position_embeddings = 0;
  bool operator==(const DynamicScaling&) const = default;
};

// Qwen 1: base * alpha^(dim/(dim-2)), alpha = max(2^ceil(log2(length/seq_length) + 1) - 1, 1).
struct QwenNtkScaling {
  std::int64_t seq_length = 0;
  bool operator==(const QwenNtkScaling&) const = default;
};

// YaRN, arXiv 2309.00071. Absent optional: the rule's own default (beta_fast 32, beta_slow 1; the attention factor
// from mscale and mscale_all_dim when both are given and not zero, else 0.1 ln(factor) + 1).
struct YarnScaling {
  double factor = 1.0;
  std::int64_t original_max_position_embeddings = 0;
  std::optional<double> attention_factor{};
  std::optional<double> beta_fast{};
  std::optional<double> beta_slow{};
  std::optional<double> mscale{};
  std::optional<double> mscale_all_dim{};
  bool truncate = true;
  bool operator==(const YarnScaling&) const = default;
};

// LongRoPE, arXiv 2402.13753: inv_freq / short_factor up to the original length, / long_factor beyond it (strictly).
struct LongRopeScaling {
  std::vector<double> short_factor{};  // [dim/2]
  std::vector<double> long_factor{};   // [dim/2]
  std::int64_t original_max_position_embeddings = 0;
  double factor = 1.0;                       // extended length over original length
  std::optional<double> attention_factor{};  // not used beside the two below
  std::optional<double> short_mscale{};      // PhiMoE: the attention factor up to the original length
  std::optional<double> long_mscale{};       // PhiMoE: and beyond it
  bool operator==(const LongRopeScaling&) const = default;
};

// Llama 3.1: by wavelength, pairs that turn often stay, pairs that turn rarely are divided by factor, smooth between.
struct Llama3Scaling {
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 0;
  bool operator==(const Llama3Scaling&) const = default;
};

// p-RoPE, arXiv 2410.06205 (Gemma 4): exponents over the whole head; pairs past the given part do not turn.
struct ProportionalScaling {
  double partial_rotary_factor = 1.0;
  double factor = 1.0;
  bool operator==(const ProportionalScaling&) const = default;
};

// One divisor per pair: inv_freq[p] / factors[p] (GGUF `rope_freqs.weight`).
struct FactorListScaling {
  std::vector<double> factors{};  // [dim/2]
  bool operator==(const FactorListScaling&) const = default;
};

using Scaling = std::variant<std::monostate, LinearScaling, NtkScaling, DynamicScaling, QwenNtkScaling, YarnScaling,
                             LongRopeScaling, Llama3Scaling, ProportionalScaling, FactorListScaling>;

// ---- Axes: which coordinate of a token turns which pair. ----

// Names of the coordinates, and for each pair the coordinate that turns it. Empty `of_pair`: the first turns all.
struct AxisMap {
  std::vector<std::string> names{"t"};
  std::vector<std::int32_t> of_pair{};  // [dim/2] or empty
  bool operator==(const AxisMap&) const = default;
};

// `sections` counts pairs per axis. Each returns of_pair of that many pairs in all.
// chunked (Qwen2-VL; XD-RoPE with four axes): the first sections[0] pairs take axis 0, and so on.
POSENC_API AxisMap chunked_axes(std::vector<std::string> names, const std::vector<std::int64_t>& sections);
// interleaved (Qwen3-VL): pairs 1::3 below 3*sections[1] take h, pairs 2::3 below 3*sections[2] take w, others t.
POSENC_API AxisMap interleaved_axes(const std::vector<std::int64_t>& sections_thw);
// alternating (Ernie 4.5-VL): h and w in turn over the first pairs, the last sections[2] pairs take t.
POSENC_API AxisMap alternating_axes(const std::vector<std::int64_t>& sections_hwt);
// axial (2-D and 3-D vision): `names.size()` equal blocks of pairs, one per axis.
POSENC_API AxisMap axial_axes(std::vector<std::string> names, std::int64_t pairs);

// Which frequencies the pairs of each axis have, where a token has several coordinates.
enum class AxisFrequencies : std::uint8_t {
  shared,    // pair p has base^(-2p/dim), whichever axis rotates it                    language models, M-RoPE
  per_axis,  // each of A axes has its own: base^(-2i/(dim/A)) for its i-th pair. The axes have a block each (Qwen-VL,
             // SAM, V-JEPA 2) or alternate (Kimi K2.5)
  strided,   // axis a takes every A-th of base^(-2p/dim): its i-th pair, p = i*A + a   Pixtral (freqs[a::A])
};

// Which way pairs rotate as positions grow, t = position * |inv_freq[p]|. Clockwise, inv_freq is negative, and nothing
// else is different: a score sees j - i where others see i - j.
enum class RotationDirection : std::uint8_t {
  counterclockwise,  // (a, b) -> (a cos t - b sin t, b cos t + a sin t)      RoFormer, nearly every model
  clockwise,         // (a, b) -> (a cos t + b sin t, b cos t - a sin t)      nanochat, whose rotate_half is (b, -a)
};

// ---- The scheme. ----

struct Rope {
  Required<Pairing> pairing;
  std::int64_t head_dim = 0;       // channels of a head
  std::int64_t first_channel = 0;  // the first channel that turns
  std::int64_t dim = 0;            // channels that turn; even
  double base = 10000.0;           // theta in the papers
  Scaling scaling{};
  AxisMap axes{};
  AxisFrequencies axis_frequencies = AxisFrequencies::shared;
  RotationDirection rotation_direction = RotationDirection::counterclockwise;

  std::int64_t pairs() const noexcept { return dim / 2; }
  bool operator==(const Rope&) const = default;
};

// xPos, arXiv 2212.10554: a rotation with decay zeta_p^((i-j)/scale_base). Keys are cached without the decay.
struct XPos {
  Rope rope;
  double scale_base = 512.0;
  bool operator==(const XPos&) const = default;
};

// The first rule that `rope` breaks, or nothing; with a length, also what holds up to the trained length only. Every
// function that takes a Rope throws Error for it.
POSENC_API std::optional<Problem> check(const Rope& rope, std::optional<std::int64_t> length = {});

// In which arithmetic frequencies are computed. `float32` rounds each step to float in the order of Hugging Face's
// code (exponent, power, reciprocal, rule): what checkpoints were trained with.
enum class Arithmetic : std::uint8_t { exact, float32 };

struct Frequencies {
  std::vector<double> inv_freq;   // [dim/2], radians per position; negative: clockwise
  double attention_factor = 1.0;  // multiplies cos and sin
  bool operator==(const Frequencies&) const = default;
};

// The frequencies of `rope` for a sequence of `length` tokens (largest position + 1). Without a length, dynamic NTK
// answers for its trained length and LongRoPE with its short list, as Hugging Face does. Throws Error when
// check(rope) finds a problem, when length < 1, and when a frequency overflows or vanishes at that length or in float.
POSENC_API Frequencies frequencies(const Rope& rope, std::optional<std::int64_t> length = {},
                                   Arithmetic arithmetic = Arithmetic::exact);

// DeepSeek: YaRN's g(factor, mscale_all_dim)^2, by which such models multiply the softmax scale; 1 for other rules.
POSENC_API double softmax_multiplier(const Scaling& scaling);

}  // namespace posenc::inline v0_2
