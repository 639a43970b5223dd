#include "fuzz/calls/slots.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <utility>

#include "fuzz/calls/elements.h"
#include "rotate/cache_tensors.h"
#include "support/guarded_memory.h"

namespace posenc::fuzz {
namespace {

using test::Edge;
using test::GuardedMemory;

constexpr std::byte kNobodys{0xFF};
// More elements than a slot holds: a view of strides 0 has as many as it likes, and calls take as long.
constexpr std::int64_t kMostElements = kSlotBytes / 2;

std::deque<GuardedMemory>& slots() {
  static std::deque<GuardedMemory> all;
  while (all.size() < kSlots) all.emplace_back(kSlotBytes, Edge::begin, 0);
  return all;
}

struct Reach {
  std::int64_t low = 0;   // bytes from data to the lowest element
  std::int64_t high = 0;  // and to the end of the highest
};

// False for a view that no slot can hold.
bool reach_of(const ConstTensorView& view, Reach& out) {
  if (view.rank < 0 || view.rank > kMaxRank) return false;
  const std::int64_t bytes = bytes_of(view.dtype);
  double elements = view.rank == 0 ? 0.0 : 1.0;
  double low = 0.0;
  double high = 1.0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) {
    const auto size = static_cast<double>(view.shape[axis]);
    elements *= std::max(size, 0.0);
    if (size > 1) {
      const double step = (size - 1) * static_cast<double>(view.strides[axis]);
      (step < 0 ? low : high) += step;
    }
  }
  if (elements == 0.0) return true;
  if (elements > kMostElements || high - low > kSlotBytes) return false;
  out = {static_cast<std::int64_t>(low) * bytes, static_cast<std::int64_t>(high) * bytes};
  return true;
}

// The slot in which all of the view lies, or none.
GuardedMemory* slot_of(const ConstTensorView& view) {
  Reach reach;
  if (!reach_of(view, reach)) return nullptr;
  const auto* const data = static_cast<const std::byte*>(view.data);
  for (GuardedMemory& slot : slots()) {
    if (data < slot.begin() || data > slot.end()) continue;
    const std::int64_t place = data - slot.begin();
    return place + reach.low >= 0 && place + reach.high <= kSlotBytes ? &slot : nullptr;
  }
  return nullptr;
}

void set_element(const TensorView& view, std::int64_t offset, double x) {
  if (view.dtype != DType::f64) return test::set(view, offset, x);
  std::memcpy(static_cast<double*>(view.data) + offset, &x, sizeof x);
}

// Of f32, f16 and bf16: NaN, infinities, the largest, the smallest, a zero below zero.
std::uint32_t odd_bits(DType dtype, std::uint64_t drawn) {
  constexpr std::array<std::uint32_t, 8> kOf32{0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF,
                                               0xFF7FFFFF, 0x00000001, 0x80000000, 0x00800000};
  constexpr std::array<std::uint32_t, 8> kOf16{0x7E00, 0x7C00, 0xFC00, 0x7BFF, 0xFBFF, 0x0001, 0x8000, 0x0400};
  if (dtype == DType::f16) return kOf16[drawn % 8];
  return dtype == DType::bf16 ? kOf32[drawn % 8] >> 16U : kOf32[drawn % 8];
}

void fill(const TensorView& view, std::uint64_t seed, bool wild) {
  std::mt19937_64 random(seed);
  for_offsets(view, [&](std::int64_t offset) {
    const std::uint64_t drawn = random();
    if (wild && drawn % 8 == 0) {
      const std::uint32_t bits = odd_bits(view.dtype, drawn >> 8U);
      std::memcpy(static_cast<std::byte*>(view.data) + offset * bytes_of(view.dtype), &bits,
                  static_cast<std::size_t>(std::min<std::int64_t>(bytes_of(view.dtype), 4)));
    } else {
      set_element(view, offset, static_cast<double>(drawn >> 11U) * 0x1p-50 - 4.0);
    }
  });
}

}  // namespace

Slots::Slots() {
  for (GuardedMemory& slot : slots()) std::fill_n(slot.begin(), kSlotBytes, kNobodys);
}

TensorView Slots::take(Arguments& arguments, DType dtype, std::span<const std::int64_t> shape) {
  const std::uint8_t layout = arguments.byte();
  const std::uint8_t values = arguments.byte();
  TensorView view{.data = nullptr, .dtype = dtype, .rank = static_cast<int>(shape.size()), .shape = {}, .strides = {}};
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  // Axes from the innermost: the last, then the others as the layout has them.
  std::array<std::size_t, kMaxRank> order{};
  const std::size_t rank = shape.size();
  for (std::size_t n = 0; n < rank; ++n) order[n] = rank - 1 - n;
  if (rank > 2 && (layout & 1U) != 0) std::swap(order[1], order[2]);
  if (rank > 3 && (layout & 2U) != 0) std::swap(order[1], order[3]);
  const std::int64_t gap = (layout & 4U) != 0 ? 3 : 0;
  std::int64_t stride = 1;
  for (std::size_t n = 0; n < rank; ++n) {
    view.strides[order[n]] = stride;
    stride = stride * std::max<std::int64_t>(shape[order[n]], 1) + (n + 1 < rank ? gap : 0);
  }
  for (std::size_t axis = 0; axis + 1 < rank && axis < 2; ++axis) {
    if ((layout & (8U << axis)) != 0) view.strides[axis] = -view.strides[axis];
  }
  Reach reach;
  if (used_ == kSlots || !reach_of(view, reach)) return view;  // too large for a slot: without memory
  GuardedMemory& slot = slots()[used_++];
  const std::int64_t aside = (layout & 64U) != 0 ? bytes_of(dtype) : 0;
  if (reach.high - reach.low + aside > kSlotBytes) return view;
  view.data = (layout & 32U) != 0 ? slot.begin() - reach.low + aside : slot.end() - reach.high - aside;
  const bool wild = values >= 0xE0;
  calm_ = calm_ && !wild;
  fill(view, values, wild);
  return view;
}

void Slots::spoil(Arguments& arguments, TensorView& view, const TensorView& other) const {
  const auto axis = static_cast<std::size_t>(arguments.byte() % kMaxRank);
  const auto number = [&] { return arguments.chance(128) ? arguments.odd_whole() : arguments.whole(0, 24); };
  switch (arguments.byte() % 10) {
    case 0: view.data = nullptr; break;
    case 1: view.data = static_cast<std::byte*>(view.data) + (view.data == nullptr ? 0 : 1); break;
    case 2: view.dtype = static_cast<DType>(arguments.byte() % 6); break;
    case 3: view.rank = static_cast<int>(arguments.whole(-1, 6)); break;
    case 4: view.shape[axis] = number(); break;
    case 5: view.strides[axis] = number(); break;
    case 6: {
      const auto with = static_cast<std::size_t>(arguments.byte() % kMaxRank);
      std::swap(view.shape[axis], view.shape[with]);
      std::swap(view.strides[axis], view.strides[with]);
      break;
    }
    case 7:
      view.data =
          static_cast<std::byte*>(other.data) + (other.data == nullptr ? 0 : arguments.byte() * bytes_of(view.dtype));
      break;
    case 8: view = other; break;
    case 9: view.rank = 0; break;
  }
  if (slot_of(view) == nullptr) view.data = nullptr;
}

void Slots::remember() {
  remembered_.resize(used_ * kSlotBytes);
  for (std::size_t n = 0; n < used_; ++n) {
    std::memcpy(remembered_.data() + n * kSlotBytes, slots()[n].begin(), kSlotBytes);
  }
}

void Slots::restore() const {
  for (std::size_t n = 0; n < used_; ++n) {
    std::memcpy(slots()[n].begin(), remembered_.data() + n * kSlotBytes, kSlotBytes);
  }
}

ConstTensorView Slots::remembered(const ConstTensorView& view) const {
  ConstTensorView out = view;
  const auto* const data = static_cast<const std::byte*>(view.data);
  for (std::size_t n = 0; n < used_; ++n) {
    std::byte* const begin = slots()[n].begin();
    if (data >= begin && data <= begin + kSlotBytes) out.data = remembered_.data() + n * kSlotBytes + (data - begin);
  }
  return out;
}

bool Slots::are_untouched_but(std::span<const TensorView> written) const {
  std::vector<std::byte> wanted = remembered_;
  for (const TensorView& view : written) {
    const std::byte* const place = static_cast<const std::byte*>(remembered(view).data);
    if (count_of(view) == 0 || place == view.data) continue;
    std::byte* const to = wanted.data() + (place - remembered_.data());
    for_offsets(view, [&](std::int64_t offset) {
      const std::int64_t bytes = bytes_of(view.dtype);
      std::memcpy(to + offset * bytes, at(view, offset), static_cast<std::size_t>(bytes));
    });
  }
  for (std::size_t n = 0; n < used_; ++n) {
    if (std::memcmp(wanted.data() + n * kSlotBytes, slots()[n].begin(), kSlotBytes) != 0) return false;
  }
  return true;
}

bool Slots::share(const ConstTensorView& a, const ConstTensorView& b) {
  if (count_of(a) <= 0 || count_of(b) <= 0) return false;
  GuardedMemory* const slot = slot_of(a);
  if (slot == nullptr || slot != slot_of(b)) return false;
  std::vector<bool> of_a(kSlotBytes);
  const auto for_bytes = [&](const ConstTensorView& view, const auto& visit) {
    for_offsets(view, [&](std::int64_t offset) {
      const std::int64_t first = at(view, offset) - slot->begin();
      for (std::int64_t n = first; n < first + bytes_of(view.dtype); ++n) visit(static_cast<std::size_t>(n));
    });
  };
  for_bytes(a, [&](std::size_t n) { of_a[n] = true; });
  bool shared = false;
  for_bytes(b, [&](std::size_t n) { shared = shared || of_a[n]; });
  return shared;
}

}  // namespace posenc::fuzz
