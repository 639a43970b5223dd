// The formats of quantised KV caches, a row each, and their sizes.
#include "cpu/cache/cache_formats.h"

#include <array>
#include <cstdint>
#include <string>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

using kernels::Codes;

// In the order of CacheFormat.
constexpr std::array kFormats{
    FormatFacts{"int8", Codes::int8, 1, 1, ScaleOf::head, false},
    FormatFacts{"int8_asymmetric", Codes::uint8, 1, 1, ScaleOf::head, true},
    FormatFacts{"int4", Codes::int4, 2, 1, ScaleOf::head, false},
    FormatFacts{"int4_asymmetric", Codes::uint4, 2, 1, ScaleOf::head, true},
    FormatFacts{"fp8_e4m3", Codes::e4m3, 1, 1, ScaleOf::head_or_all, false},
    FormatFacts{"fp8_e5m2", Codes::e5m2, 1, 1, ScaleOf::head_or_all, false},
    FormatFacts{"q8_0", Codes::q8_0, kernels::kBlockChannels, kernels::kQ80Bytes, ScaleOf::none, false},
    FormatFacts{"q4_0", Codes::q4_0, kernels::kBlockChannels, kernels::kQ40Bytes, ScaleOf::none, false},
    FormatFacts{"q5_1", Codes::q5_1, kernels::kBlockChannels, kernels::kQ51Bytes, ScaleOf::none, false},
    FormatFacts{"int4_by_channel", Codes::uint4, 2, 1, ScaleOf::channel, true},
};
static_assert(kFormats.size() == static_cast<std::size_t>(CacheFormat::int4_by_channel) + 1);

}  // namespace

bool is_format(CacheFormat format) noexcept { return static_cast<std::size_t>(format) < kFormats.size(); }

const FormatFacts& facts_of(CacheFormat format) noexcept { return kFormats[static_cast<std::size_t>(format)]; }

std::string_view format_names() noexcept {
  return "int8, int8_asymmetric, int4, int4_asymmetric, fp8_e4m3, fp8_e5m2, q8_0, q4_0, q5_1 or int4_by_channel";
}

}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

std::string_view name(CacheFormat format) noexcept {
  return cpu::is_format(format) ? cpu::facts_of(format).name : "unknown";
}

std::optional<CacheFormat> cache_format(std::string_view name) noexcept {
  for (std::size_t n = 0; n < cpu::kFormats.size(); ++n) {
    if (cpu::kFormats[n].name == name) return static_cast<CacheFormat>(n);
  }
  return {};
}

std::int64_t cache_row_bytes(CacheFormat format, std::int64_t channels) {
  constexpr const char* kWhere = "cache_row_bytes";
  if (!cpu::is_format(format)) {
    throw Error(kWhere, {"format", formatted("be {}", cpu::format_names()), formatted("{}", static_cast<int>(format))});
  }
  const cpu::FormatFacts& facts = cpu::facts_of(format);
  if (channels < 0 || channels % facts.unit_channels != 0) {
    throw Error(kWhere, {"channels", formatted("be a multiple of {} for {}", facts.unit_channels, facts.name),
                         formatted("{}", channels)});
  }
  if (channels / facts.unit_channels > INT64_MAX / facts.unit_bytes) {
    throw Error(kWhere, {"channels", "take less than 2^63 bytes", formatted("{}", channels)});
  }
  return facts.row_bytes(channels);
}

std::string rerotation_obstacle(CacheFormat format) {
  return formatted(
      "each rotation would round {} codes again, and the errors add up: store keys unrotated instead "
      "(rotate_into_cache without a table), whose positions attend takes with each call, or keep them in f16 or bf16",
      name(format));
}

}  // namespace posenc::inline v0_2
