// What a format of a quantised KV cache (posenc/cache/quantised.h) consists of, once for all that read and write one.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/codes/codes.h"
#include "posenc/cache/quantised.h"

namespace posenc::cpu {

// What has a scale: each token's head, or all of them where none are given; each channel of a group of tokens.
enum class ScaleOf : std::uint8_t { none, head, head_or_all, channel };

struct FormatFacts {
  std::string_view name;
  kernels::Codes codes;
  std::int64_t unit_channels;  // come together
  std::int64_t unit_bytes;
  ScaleOf scale_of;
  bool has_zeros;

  std::int64_t row_bytes(std::int64_t channels) const { return channels / unit_channels * unit_bytes; }
};

bool is_format(CacheFormat format) noexcept;
// Of a format that is one.
const FormatFacts& facts_of(CacheFormat format) noexcept;
// "int8, int8_asymmetric, ..."
std::string_view format_names() noexcept;

}  // namespace posenc::cpu
