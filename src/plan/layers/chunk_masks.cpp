#include "plan/layers/chunk_masks.h"

#include <string>
#include <string_view>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

constexpr Bounds kChunkLengths{1, kMaxPosition};
constexpr Bounds kChunkCounts{0, kMaxPosition};
constexpr std::size_t kMaxFactors = 8;  // of the number of buckets: each layer carries the text

std::string neighbours(std::int64_t count, std::string_view side) {
  if (count == 0) return {};
  if (count == 1) return formatted(" and the one {}", side);
  return formatted(" and the {} {}", count, side);
}

// 128, or [64, 128] for 64 x 128; null: found from the length when the model runs.
std::string buckets(ConfigScope& scope) {
  const auto place = scope.find(keys::kHashBuckets);
  if (!place) return "LSH buckets by length";
  if (place->value.kind() == io::JsonKind::number) {
    return formatted("{} LSH buckets", scope.reader().integer(*place, kChunkLengths).value_or(1));
  }
  const auto factors = scope.reader().list(*place);
  if (!factors) return {};
  if (factors->empty() || factors->size() > kMaxFactors) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("1 to {} factors", kMaxFactors));
    return {};
  }
  std::string text = "LSH buckets ";
  std::string_view between = "";  // fmt 9 copies from it, and null is no place to copy from
  for (const io::JsonValue& entry : *factors) {
    const std::int64_t count = scope.reader().integer({entry, entry.pointer()}, kChunkLengths).value_or(1);
    text += formatted("{}{}", between, count);
    between = " x ";
  }
  return text;
}

std::string chunks(std::int64_t length, std::int64_t before, std::int64_t after) {
  return formatted("{}{}{}", length, neighbours(before, "before"), neighbours(after, "after"));
}

Sourced<Mask> nearby(ConfigScope& scope, std::string_view kind) {
  const Sourced<std::int64_t> length = scope.required_integer(keys::kLocalChunk, kChunkLengths);
  const std::int64_t before = scope.required_integer(keys::kLocalBefore, kChunkCounts).value;
  const std::int64_t after = scope.required_integer(keys::kLocalAfter, kChunkCounts).value;
  Mask mask{.kind = MaskKind::sparse};
  mask.detail = formatted("{}own chunk of {}", kind, chunks(length.value, before, after));
  return {std::move(mask), length.from};
}

Sourced<Mask> hashed(ConfigScope& scope, std::string_view kind) {
  const Sourced<std::int64_t> length = scope.required_integer(keys::kHashChunk, kChunkLengths);
  const std::int64_t before = scope.required_integer(keys::kHashBefore, kChunkCounts).value;
  const std::int64_t after = scope.required_integer(keys::kHashAfter, kChunkCounts).value;
  const std::int64_t hashes = scope.required_integer(keys::kHashes, kChunkLengths).value;
  Mask mask{.kind = MaskKind::sparse};
  mask.detail = formatted("{}{}, {} {}, chunks of {}, a token sees itself only when alone", kind, buckets(scope),
                          hashes, hashes == 1 ? "hash" : "hashes", chunks(length.value, before, after));
  return {std::move(mask), length.from};
}

}  // namespace

Sourced<Mask> read_chunk_mask(ConfigScope& scope, LayerType type, bool causal) {
  const std::string_view kind = causal ? "causal, " : "";
  return type == LayerType::hashed_chunks ? hashed(scope, kind) : nearby(scope, kind);
}

}  // namespace posenc::plan
