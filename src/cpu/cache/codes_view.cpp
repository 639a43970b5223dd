// Checks of quantised views: that the format is one, that shapes fit it, that scales and zeros are there, are of the
// right type and have the right shape. Nothing is read before.
#include "cpu/cache/codes_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// The most that an axis may have: what is multiplied with it stays below 2^63.
constexpr std::int64_t kMostOfAxis = std::int64_t{1} << 40;

class QuantisedCheck {
 public:
  QuantisedCheck(TensorName name, const ConstQuantisedView& x, Axes axes) : name_(name), x_(x), axes_(axes) {}

  CodesView run(CodesMemory& memory) {
    check_shape();
    CodesView out{.facts = &facts_of(x_.format), .channels = last_size(), .fixed_scale = x_.scale};
    const std::size_t tokens = token_axis();
    const std::size_t heads = x_.rank == 3 ? 1 : 3 - tokens;
    out.batch = x_.rank == 4 ? x_.shape[0] : 1;
    out.tokens = x_.shape[tokens];
    out.heads = x_.shape[heads];
    check_group(out);
    check_scale_members(out);
    const bool is_empty = std::find(x_.shape.begin(), x_.shape.begin() + x_.rank, 0) != x_.shape.begin() + x_.rank;
    if (!is_empty && x_.data == nullptr) refuse(".data", "point to the codes", "null");
    out.rows = places(const_cast<void*>(x_.data), 1, x_.strides, x_.shape);
    check_numbers(".scales", x_.scales, out, out.scales);
    check_numbers(".zeros", x_.zeros, out, out.zeros);
    if (!x_.scales.empty()) out.scale_element = element_of(x_.scales.dtype);
    if (!x_.zeros.empty() && x_.zeros.dtype != x_.scales.dtype) {
      refuse(".zeros.dtype", formatted("be that of scales, {},", posenc::name(x_.scales.dtype)),
             std::string(posenc::name(x_.zeros.dtype)));
    }
    if (is_empty) return out;
    memory.of[0] = memory_of_rows(x_.data, x_.strides, x_.shape, 1, out.row_bytes());
    if (!x_.scales.empty()) memory.of[1] = memory_of_numbers(x_.scales, out);
    if (!x_.zeros.empty()) memory.of[2] = memory_of_numbers(x_.zeros, out);
    return out;
  }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string_view member, std::string must, std::string is) const {
    throw Error(name_.where, {formatted("{}{}", name_.name, member), std::move(must), std::move(is)});
  }

  std::int64_t last_size() const { return x_.shape[static_cast<std::size_t>(x_.rank - 1)]; }
  std::size_t token_axis() const { return x_.rank == 3 ? 0 : axes_ == Axes::heads_then_tokens ? 2 : 1; }

  void check_shape() const {
    if (!is_format(x_.format)) {
      refuse(".format", formatted("be {}", format_names()), formatted("{}", static_cast<int>(x_.format)));
    }
    if (x_.rank != 4 && x_.rank != 3) {
      refuse(".rank", "be 3, [rows, heads, channels], or 4", formatted("{}", x_.rank));
    }
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(x_.rank); ++axis) {
      if (x_.shape[axis] >= 0 && x_.shape[axis] <= kMostOfAxis) continue;
      refuse(formatted(".shape[{}]", axis), "be from 0 to 2^40", formatted("{}", x_.shape[axis]));
    }
    const FormatFacts& facts = facts_of(x_.format);
    if (last_size() % facts.unit_channels != 0) {
      refuse(formatted(".shape[{}]", x_.rank - 1),
             formatted("be a multiple of {} channels for {}", facts.unit_channels, facts.name),
             formatted("{}", last_size()));
    }
  }

  void check_group(CodesView& out) const {
    if (!out.by_channel()) {
      if (x_.group != 0) refuse(".group", formatted("be 0 for {}", out.facts->name), formatted("{}", x_.group));
      return;
    }
    if (x_.group < 1) refuse(".group", "be at least 1, the tokens that share scales,", formatted("{}", x_.group));
    if (x_.group > kMostOfAxis) refuse(".group", formatted("be at most {}", kMostOfAxis), formatted("{}", x_.group));
    const bool is_paged = x_.rank == 4 && axes_ == Axes::tokens_then_heads;
    if (is_paged && out.tokens % x_.group != 0) {
      refuse(".group", formatted("divide the block size, {}", out.tokens), formatted("{}", x_.group));
    }
    out.group = x_.group;
  }

  // Which of scales, zeros and scale there are.
  void check_scale_members(const CodesView& out) const {
    const FormatFacts& facts = *out.facts;
    const bool may_scale = facts.scale_of != ScaleOf::none;
    if (!may_scale && !x_.scales.empty()) {
      refuse(".scales", formatted("be omitted, since blocks of {} have their own,", facts.name), "given");
    }
    if (may_scale && facts.scale_of != ScaleOf::head_or_all && x_.scales.empty()) {
      refuse(".scales", formatted("be given for {}", facts.name), "omitted");
    }
    if (facts.has_zeros == x_.zeros.empty()) {
      refuse(".zeros", formatted("be {} for {}", facts.has_zeros ? "given" : "omitted", facts.name),
             facts.has_zeros ? "omitted" : "given");
    }
    const bool is_fixed = facts.scale_of == ScaleOf::head_or_all && x_.scales.empty();
    if (is_fixed ? !(std::isnormal(x_.scale) && x_.scale > 0.0F) : x_.scale != 1.0F) {
      refuse(".scale", is_fixed ? "be a normal number above 0" : "be 1 where the format or `scales` says the scales",
             formatted("{}", x_.scale));
    }
  }

  Places places(void* data, std::int64_t bytes, const std::array<std::int64_t, kMaxRank>& strides,
                const std::array<std::int64_t, kMaxRank>& shape) const {
    const auto stride = [&](std::size_t axis) { return shape[axis] > 1 ? strides[axis] : 0; };
    Places out{.data = static_cast<char*>(data), .bytes = bytes};
    const std::size_t tokens = token_axis();
    if (x_.rank == 4) out.batch_stride = stride(0);
    out.row_stride = stride(tokens);
    out.head_stride = stride(x_.rank == 3 ? 1 : 3 - tokens);
    return out;
  }

  // Scales, or zeros: their shape, type and alignment.
  void check_numbers(const char* member, const ConstTensorView& given, const CodesView& out, Places& to) const {
    if (given.empty()) return;
    const bool may_be_f16 = out.by_channel();
    if (given.dtype != DType::f32 && !(may_be_f16 && given.dtype == DType::f16)) {
      refuse(formatted("{}.dtype", member), may_be_f16 ? "be f32 or f16" : "be f32",
             std::string(posenc::name(given.dtype)));
    }
    const int rank = out.by_channel() ? x_.rank : x_.rank - 1;
    if (given.rank != rank) refuse(formatted("{}.rank", member), formatted("be {}", rank), formatted("{}", given.rank));
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
      const bool is_grouped = out.by_channel() && axis == token_axis();
      const std::int64_t wanted = is_grouped ? (x_.shape[axis] + x_.group - 1) / x_.group : x_.shape[axis];
      if (given.shape[axis] == wanted) continue;
      refuse(formatted("{}.shape[{}]", member, axis),
             is_grouped ? formatted("be {}, the groups of {} tokens,", wanted, x_.group) : formatted("be {}", wanted),
             formatted("{}", given.shape[axis]));
    }
    const auto last = static_cast<std::size_t>(rank - 1);
    if (out.by_channel() && given.shape[last] > 1 && given.strides[last] != 1) {
      refuse(formatted("{}.strides[{}]", member, last), "be 1, since channels are adjacent,",
             formatted("{}", given.strides[last]));
    }
    const auto end = given.shape.begin() + rank;
    if (std::find(given.shape.begin(), end, 0) != end) return;
    if (given.data == nullptr) refuse(formatted("{}.data", member), "point to the numbers", "null");
    if (!is_aligned(given)) refuse(formatted("{}.data", member), "be aligned to its elements", "between two");
    to = places(const_cast<void*>(given.data), bytes_of(given.dtype), given.strides, given.shape);
  }

  // Of rows of `row_bytes`, whose strides count `unit` bytes.
  Memory memory_of_rows(const void* data, std::array<std::int64_t, kMaxRank> strides,
                        std::array<std::int64_t, kMaxRank> shape, std::int64_t unit, std::int64_t row_bytes) const {
    const auto last = static_cast<std::size_t>(x_.rank - 1);
    shape[last] = row_bytes;
    strides[last] = 1;
    for (std::size_t axis = 0; axis < last; ++axis) {
      if (shape[axis] <= 1) continue;
      if (!__builtin_mul_overflow(strides[axis], unit, &strides[axis])) continue;
      refuse(".strides", "reach less than 2^63 bytes", "larger");
    }
    return memory_of(name_.where, name_.name,
                     {.data = data, .dtype = DType::f32, .rank = x_.rank, .shape = shape, .strides = strides}, 1);
  }
  Memory memory_of_numbers(const ConstTensorView& given, const CodesView& out) const {
    const std::int64_t bytes = bytes_of(given.dtype);
    return memory_of_rows(given.data, given.strides, given.shape, bytes,
                          out.by_channel() ? out.channels * bytes : bytes);
  }

  TensorName name_;
  const ConstQuantisedView& x_;
  Axes axes_;
};

}  // namespace

CodesView check_quantised(TensorName name, const ConstQuantisedView& x, Axes axes, CodesMemory& memory) {
  return QuantisedCheck(name, x, axes).run(memory);
}

ConstTensorView shape_of(const ConstQuantisedView& x) {
  return {.data = x.data, .dtype = DType::f32, .rank = x.rank, .shape = x.shape, .strides = x.strides};
}

void read_codes(const kernels::CodeKernels& kernels, const CodesView& x, std::int64_t member, std::int64_t token,
                std::int64_t head, std::int64_t rows, float* to, std::int64_t to_row) {
  if (!x.by_channel()) {
    kernels.decode(
        {.codes = x.facts->codes,
         .rows = rows,
         .count = x.channels,
         .from = x.rows.at(member, token, head),
         .from_row = x.rows.row_stride,
         .to = to,
         .to_row = to_row,
         .scale = x.scales.data == nullptr ? &x.fixed_scale
                                           : reinterpret_cast<const float*>(x.scales.at(member, token, head)),
         .scale_row = x.scales.row_stride,
         .zero = x.zeros.data == nullptr ? nullptr : reinterpret_cast<const float*>(x.zeros.at(member, token, head)),
         .zero_row = x.zeros.row_stride});
    return;
  }
  while (rows > 0) {
    const std::int64_t some = std::min(rows, x.group - token % x.group);
    kernels.decode_channels({.codes = x.facts->codes,
                             .rows = some,
                             .count = x.channels,
                             .from = x.rows.at(member, token, head),
                             .from_row = x.rows.row_stride,
                             .to = to,
                             .to_row = to_row,
                             .element = x.scale_element,
                             .scale = x.scales.at(member, token / x.group, head),
                             .zero = x.zeros.at(member, token / x.group, head)});
    token += some;
    rows -= some;
    to += some * to_row;
  }
}

}  // namespace posenc::cpu

namespace posenc::inline v0_2 {
namespace {

// Axes of codes in a row, of a format that takes the channels.
QuantisedView adjacent(void* data, CacheFormat format, std::initializer_list<std::int64_t> shape) {
  constexpr const char* kWhere = "quantised";
  if (shape.size() != 3 && shape.size() != 4) {
    throw Error(kWhere, {"shape", "have 3 or 4 axes", formatted("{}", shape.size())});
  }
  for (const std::int64_t size : shape) {
    if (size < 0) throw Error(kWhere, {"shape", "have no negative size", formatted("{}", size)});
  }
  QuantisedView out{.format = format, .data = data, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), out.shape.begin());
  std::int64_t step = cache_row_bytes(format, *(shape.end() - 1));
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
    out.strides[axis] = step;
    if (!__builtin_mul_overflow(step, std::max<std::int64_t>(out.shape[axis], 1), &step)) continue;
    throw Error(kWhere, {"shape", "take less than 2^63 bytes", "larger"});
  }
  return out;
}

}  // namespace

QuantisedView quantised(void* data, CacheFormat format, std::initializer_list<std::int64_t> shape) {
  return adjacent(data, format, shape);
}

ConstQuantisedView quantised(const void* data, CacheFormat format, std::initializer_list<std::int64_t> shape) {
  return adjacent(const_cast<void*>(data), format, shape);
}

}  // namespace posenc::inline v0_2
