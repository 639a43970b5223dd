// From a GGUF file's header to the plan, and what the files of this folder read on the way, each in a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf/gguf.h"
#include "plan/facts/stack_facts.h"
#include "plan/gguf/scope.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// ---- plan.cpp ----

// Nothing is thrown. Of a stream the header is read and nothing behind it.
Result<Plan> read_gguf(io::ByteCursor& cursor, PlanSource source, const ReadOptions& options);

// ---- factors.cpp ----
// The tensors that are divisors of frequencies, and what else of the tensor table bears on positions.

inline constexpr std::string_view kRopeFreqs = "rope_freqs.weight";
inline constexpr std::string_view kLongFactors = "rope_factors_long.weight";
inline constexpr std::string_view kShortFactors = "rope_factors_short.weight";
inline constexpr std::string_view kPositionTable = "position_embd.weight";

// Whether the table's entry of this tensor is wanted.
bool is_position_tensor(std::string_view name) noexcept;
// Whether a key is, that is not the model's own; and whether it may be the model's own.
bool is_position_key(std::string_view key) noexcept;
bool may_be_model_key(std::string_view key) noexcept;

struct GgufFactors {
  std::optional<std::vector<double>> freqs;  // one divisor per pair, whatever the length
  std::optional<std::vector<double>> longs;  // beyond the original length
  std::optional<std::vector<double>> shorts;
  std::vector<std::string_view> unread;  // there, but from a stream, which cannot go back
};

Result<GgufFactors> read_gguf_factors(io::ByteCursor& cursor, const io::GgufHeader& header);

// ---- stack.cpp: the stacks of a file's model: their facts, as the file and its architecture say them ----

// The main stack first. After an error (scope.failed()) the result is void.
std::vector<StackFacts> read_gguf_stacks(GgufScope& scope, const GgufFactors& factors);

// ---- blocks.cpp: blocks that the tensors' names are of, and block_count ----

std::vector<Warning> judge_blocks(const GgufScope& scope, const Plan& plan);

// ---- layers.cpp: what each layer is, its heads, whether it slides and rotates ----

struct GgufLayer {
  LayerKind kind = LayerKind::attention;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  bool slides = false;
  bool rotates = false;
  std::optional<std::int64_t> kv_from;
};

// Channels of a head; of layers that slide, where the file tells them apart.
struct GgufHead {
  Sourced<std::int64_t> keys;
  Sourced<std::int64_t> values;
};

struct GgufLayers {
  Sourced<std::int64_t> trained_length;
  Sourced<std::int64_t> hidden;
  std::string count_from;
  std::vector<GgufLayer> layers;  // without those that predict further tokens
  GgufHead full;
  GgufHead sliding;
  Setting<std::int64_t> window;  // of the layers that slide; of chunks, their length
  std::string kind_from, heads_from, kv_heads_from, slides_from, rotates_from, shares_from;
};

GgufLayers read_gguf_layers(GgufScope& scope);

// ---- rotation.cpp: the rotation of one kind of layer ----

struct GgufRotationDraft {
  std::optional<Rope> rope;  // none after an error
  std::vector<FieldSource> sources;
};

GgufRotationDraft read_gguf_rotation(GgufScope& scope, const GgufLayers& facts, const GgufFactors& factors,
                                     bool slides);

}  // namespace posenc::plan
