#include "convert/padding.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/formatted.h"

namespace posenc::conversion {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // bytes that are looked at at once

// Of types that have it, the one bit that a zero may have set: its sign.
bool has_plain_zero(ElementType type) { return dtype_of(type).has_value(); }

// Whether all elements are 0 or -0.
bool are_zeros(std::span<const std::byte> bytes, std::int64_t width, bool big_endian) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % width;
    const bool highest = place == (big_endian ? 0 : width - 1);
    const std::byte rest = highest ? bytes[i] & std::byte{0x7F} : bytes[i];
    if (rest != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

std::optional<FileError> check_padding(const io::OpenTensorFile& file, const RowMoves& moves,
                                       std::optional<std::int64_t> padded) {
  if (!padded) return {};
  std::vector<std::byte> block;
  for (const TensorMove& move : moves.moves) {
    const TensorEntry& entry = file.list.tensors[move.entry];
    const HeadRows& heads = move.heads.front();
    const std::int64_t rows = *padded - heads.channels;
    if (move.use != RowUse::adds || rows <= 0) continue;
    if (!has_plain_zero(entry.type)) {
      return file.error(ErrorKind::bad_type, entry, "padding of f64, f32, f16 or bf16", entry.type_name,
                        "whether its padding is zeros is not known here");
    }
    const std::int64_t width = bits_of(entry.type) / 8;
    for (const std::int64_t start : heads.starts) {
      const std::int64_t begin = entry.offset + (start + heads.channels) * move.row_bytes;
      const std::int64_t end = begin + rows * move.row_bytes;
      for (std::int64_t at = begin; at < end; at += std::ssize(block)) {
        block.resize(static_cast<std::size_t>(std::min(kBlock, end - at)));
        if (auto error = file.source_of(entry).read(static_cast<std::uint64_t>(at), block, entry.name)) return error;
        if (are_zeros(block, width, entry.big_endian)) continue;
        return file.error(ErrorKind::bad_tensor, entry,
                          formatted("zeros in rows {} to {}, the padding of a head", start + heads.channels,
                                    start + heads.channels + rows - 1),
                          "other numbers", "heads may be wider in another way: each half by itself, for one");
      }
    }
  }
  return {};
}

}  // namespace posenc::conversion
