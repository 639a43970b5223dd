// Keys or values of a call of attend as codes of a quantised cache, of any bytes, in memory of exactly their size; what
// says how they lie may be spoilt. What a caller alone can know is kept: a view spans no memory that there is not.
#include <algorithm>

#include "fuzz/calls/attend_call.h"
#include "posenc/cache.h"

namespace posenc::fuzz {
namespace {

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 20U;

// Whether a tensor was left as it was made, and is small.
bool is_whole(const ConstTensorView& x) {
  if (x.data == nullptr || x.rank < 3 || x.rank > 4) return false;
  std::int64_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
    if (size < 1 || size > kMostNumbers) return false;
    count *= size;
    if (count > kMostNumbers) return false;
  }
  return true;
}

// Scales with which most codes are numbers up to 4.
float scale_of(CacheFormat format) {
  switch (format) {
    case CacheFormat::int8: return 0.03F;
    case CacheFormat::int8_asymmetric: return 0.02F;
    case CacheFormat::int4: return 0.5F;
    case CacheFormat::int4_asymmetric:
    case CacheFormat::int4_by_channel: return 0.25F;
    case CacheFormat::fp8_e4m3: return 0.008F;
    case CacheFormat::fp8_e5m2: return 0.00006F;
    case CacheFormat::q8_0:
    case CacheFormat::q4_0:
    case CacheFormat::q5_1: return 1.0F;
  }
  return 1.0F;
}

bool takes(CacheFormat format, std::int64_t channels) {
  switch (format) {
    case CacheFormat::int8:
    case CacheFormat::int8_asymmetric:
    case CacheFormat::fp8_e4m3:
    case CacheFormat::fp8_e5m2: return true;
    case CacheFormat::int4:
    case CacheFormat::int4_asymmetric:
    case CacheFormat::int4_by_channel: return channels % 2 == 0;
    case CacheFormat::q8_0:
    case CacheFormat::q4_0:
    case CacheFormat::q5_1: return channels % 32 == 0;
  }
  return false;
}

void spoil_codes(Arguments& arguments, ConstQuantisedView& x) {
  const auto axis = static_cast<std::size_t>(arguments.byte() % kMaxRank);
  switch (arguments.byte() % 9) {
    case 0: x.format = static_cast<CacheFormat>(arguments.whole(10, 255)); return;  // none; others have other rows
    case 1: x.rank = static_cast<int>(arguments.whole(-1, 6)); return;
    case 2: x.data = nullptr; return;
    case 3: x.scales = {}; return;
    case 4: x.zeros = x.scales; return;
    case 5: x.scales.shape[axis] = arguments.whole(-1, x.scales.shape[axis]); return;
    case 6: x.scales.dtype = arguments.enumerator(DType::f64); return;
    case 7: x.scale = static_cast<float>(arguments.odd_real()); return;
    default: x.group = arguments.odd_whole(); return;
  }
}

}  // namespace

void AttendCall::give_codes(Arguments& arguments, ConstTensorView& plain, ConstQuantisedView& codes) {
  if (!is_whole(plain)) return;
  const auto last = static_cast<std::size_t>(plain.rank - 1);
  const std::int64_t channels = plain.shape[last];
  CacheFormat format = arguments.enumerator(CacheFormat::int4_by_channel);
  if (!takes(format, channels)) format = CacheFormat::int8;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows *= plain.shape[axis];
  const std::int64_t row_bytes = cache_row_bytes(format, channels);
  const std::uint8_t step = arguments.byte();
  std::vector<std::byte>& bytes = codes_.emplace_back(static_cast<std::size_t>(rows * row_bytes));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    bytes[n] = static_cast<std::byte>(n * (2U * step + 1U) + n / 7U + step);
  }
  ConstQuantisedView made{.format = format, .data = bytes.data(), .rank = plain.rank, .shape = plain.shape};
  std::int64_t stride = row_bytes;
  for (std::size_t axis = last; axis-- > 0;) {
    made.strides[axis] = stride;
    stride *= plain.shape[axis];
  }
  const bool by_channel = format == CacheFormat::int4_by_channel;
  if (format < CacheFormat::q8_0 || by_channel) {
    // Of scales by channel a group is all tokens: those of a batch's member, of a block, or all rows.
    const bool is_batch = plain.rank == 4 && args.pages.block_table.empty();
    const std::size_t tokens = plain.rank == 3 ? 0 : is_batch ? 2 : 1;
    ConstTensorView like{.dtype = DType::f32, .rank = by_channel ? plain.rank : plain.rank - 1, .shape = plain.shape};
    if (by_channel) {
      made.group = plain.shape[tokens];
      like.shape[tokens] = 1;
    }
    std::int64_t count = 1;
    for (std::size_t axis = static_cast<std::size_t>(like.rank); axis-- > 0;) {
      like.strides[axis] = count;
      count *= like.shape[axis];
    }
    const auto numbers = [&](float first) {
      std::vector<float>& out = scales_.emplace_back(static_cast<std::size_t>(count));
      for (std::size_t n = 0; n < out.size(); ++n) out[n] = first * (1.0F - 0.01F * static_cast<float>(n % 50));
      ConstTensorView view = like;
      view.data = out.data();
      return view;
    };
    made.scales = numbers(scale_of(format));
    if (by_channel || format == CacheFormat::int8_asymmetric || format == CacheFormat::int4_asymmetric) {
      made.zeros = numbers(-2.0F);
    }
  }
  for (int n = arguments.spoils(); n > 0; --n) spoil_codes(arguments, made);
  codes = made;
  plain = {};
}

}  // namespace posenc::fuzz
