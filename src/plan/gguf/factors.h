// The tensors of a GGUF file that are divisors of frequencies, and what else of the tensor table bears on positions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "io/gguf/gguf.h"
#include "posenc/error.h"

namespace posenc::plan {

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

}  // namespace posenc::plan
