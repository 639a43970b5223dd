// Reads the tensors that divide frequencies: rope_freqs.weight (Llama 3), rope_factors_long.weight and
// rope_factors_short.weight (LongRoPE). And which keys and tensors of a GGUF header bear on positions and are kept.
#include <algorithm>
#include <utility>

#include "plan/gguf/read_gguf.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kWanted[] = {kRopeFreqs, kLongFactors, kShortFactors, kPositionTable, "token_types.weight"};
constexpr std::string_view kWantedEndings[] = {".attn_q_norm.weight", ".attn_sinks.weight", ".attn_rel_b.weight"};
constexpr std::string_view kWantedKeys[] = {"general.architecture", "split.no", "split.count",
                                            "tokenizer.ggml.token_type_count"};
constexpr std::string_view kUnwantedBeginnings[] = {"general.", "tokenizer.", "split.", "quantize.", "imatrix."};

}  // namespace

bool is_position_tensor(std::string_view name) noexcept {
  if (std::ranges::find(kWanted, name) != std::end(kWanted)) return true;
  return std::ranges::any_of(kWantedEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_position_key(std::string_view key) noexcept {
  return std::ranges::find(kWantedKeys, key) != std::end(kWantedKeys);
}

bool may_be_model_key(std::string_view key) noexcept {
  return std::ranges::none_of(kUnwantedBeginnings, [&](std::string_view head) { return key.starts_with(head); });
}

Result<GgufFactors> read_gguf_factors(io::ByteCursor& cursor, const io::GgufHeader& header) {
  GgufFactors factors;
  const std::pair<std::string_view, std::optional<std::vector<double>>&> wanted[] = {
      {kRopeFreqs, factors.freqs}, {kLongFactors, factors.longs}, {kShortFactors, factors.shorts}};
  for (const auto& [name, numbers] : wanted) {
    const io::GgufTensor* tensor = header.tensor(name);
    if (tensor == nullptr) continue;
    if (!cursor.can_seek()) {
      factors.unread.push_back(name);
      continue;
    }
    Result<std::vector<double>> read = io::read_gguf_tensor(cursor, header, *tensor);
    if (!read) return read.error();
    numbers = std::move(*read);
  }
  return factors;
}

}  // namespace posenc::plan
