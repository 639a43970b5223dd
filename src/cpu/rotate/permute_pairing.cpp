// permute_pairing() of posenc/pairing.h: rows of q and k projections from half-split (NeoX, rotate_half) to interleaved
// (GPT-J, Meta's) order and back, in place, tile by tile; what llama.cpp's converter does to Llama's weights.
//
//   interleaved channel 2p is half channel p, interleaved 2p + 1 is half p + dim/2      p = 0 .. dim/2 - 1
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "cpu/angles/check_table.h"
#include "cpu/call/tensor_memory.h"
#include "math/rope/rotation.h"
#include "posenc/error.h"
#include "posenc/pairing.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kTileBytes = 16 * 1024;  // half of a small L1: what is read next to what is written

void check_pairing(const char* where, Pairing to) {
  if (to == Pairing::half || to == Pairing::interleaved) return;
  throw Error(where, {"to", "be half or interleaved", formatted("{}", static_cast<int>(to))});
}

// All but pointers and strides, which a tensor without elements need not have.
void check(const char* where, const PermuteArgs& args) {
  const TensorView& x = args.x;
  const auto refuse = [where](std::string field, std::string must, std::string is) {
    throw Error(where, {std::move(field), std::move(must), std::move(is)});
  };
  cpu::check_layout(where, args.layout);
  check_pairing(where, args.to);
  if (x.rank < 1 || x.rank > kMaxRank)
    refuse("x.rank", formatted("be from 1 to {}", kMaxRank), formatted("{}", x.rank));
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(x.rank); ++axis) {
    if (x.shape[axis] < 0) refuse(formatted("x.shape[{}]", axis), "be at least 0", formatted("{}", x.shape[axis]));
  }
  if (x.shape[0] % args.layout.head_dim != 0) {
    refuse("x.shape[0]", formatted("be a multiple of head_dim, {},", args.layout.head_dim),
           formatted("{}", x.shape[0]));
  }
}

// A tensor without elements may have a null pointer.
bool has_elements(const TensorView& x) {
  const auto end = x.shape.begin() + x.rank;
  return std::find(x.shape.begin(), end, 0) == end;
}

void check_data(const char* where, const TensorView& x) {
  if (x.data == nullptr) throw Error(where, {"x.data", "point to the elements", "null"});
  const auto bytes = static_cast<std::uintptr_t>(bytes_of(x.dtype));
  if (reinterpret_cast<std::uintptr_t>(x.data) % bytes != 0) {
    throw Error(where, {"x.data", formatted("be aligned to its elements, {} bytes,", bytes), "between two"});
  }
  cpu::check_places(where, "x", cpu::memory_of(where, "x", x));
}

// The rotated channels of one head: `channels` of them, `stride` apart, each of `count` elements that are `step` apart.
template <typename T>
struct Head {
  T* x;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t step;
};

// order: where each channel comes from, counted from the first that rotates. tile: [channels, as many as fit].
template <typename T>
void permute_head(const Head<T>& head, const std::vector<std::int64_t>& order, std::vector<T>& tile) {
  const auto channels = std::ssize(order);
  const std::int64_t width = std::ssize(tile) / channels;
  for (std::int64_t first = 0; first < head.count; first += width) {
    const std::int64_t columns = std::min(width, head.count - first);
    T* const x = head.x + first * head.step;
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* const from = x + order[static_cast<std::size_t>(c)] * head.stride;
      T* const to = tile.data() + c * width;
      for (std::int64_t i = 0; i < columns; ++i) to[i] = from[i * head.step];
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      T* const to = x + c * head.stride;
      const T* const from = tile.data() + c * width;
      for (std::int64_t i = 0; i < columns; ++i) to[i * head.step] = from[i];
    }
  }
}

// T is an unsigned word or a float of the dtype's size: bits are moved, and no number is looked at.
template <typename T>
void permute(const TensorView& x, const RotaryLayout& layout, const std::vector<std::int64_t>& order) {
  const std::int64_t fit = std::max<std::int64_t>(1, kTileBytes / (layout.dim * static_cast<std::int64_t>(sizeof(T))));
  std::vector<T> tile(static_cast<std::size_t>(layout.dim * fit));
  // Axes 1 to 3, the missing ones of one element; the last that the tensor has is the one along which a head is read.
  std::array<std::int64_t, kMaxRank> size{1, 1, 1, 1};
  std::copy(x.shape.begin(), x.shape.begin() + x.rank, size.begin());
  const auto last = static_cast<std::size_t>(x.rank - 1);
  const std::int64_t count = x.rank > 1 ? std::exchange(size[last], 1) : 1;
  const std::int64_t step = x.rank > 1 ? x.strides[last] : 0;
  T* const data = static_cast<T*>(x.data);
  for (std::int64_t first = layout.first_channel; first < x.shape[0]; first += layout.head_dim) {
    for (std::int64_t i = 0; i < size[1]; ++i) {
      for (std::int64_t j = 0; j < size[2]; ++j) {
        // Of rank 4, axis 3 is the last.
        T* const head = data + first * x.strides[0] + i * x.strides[1] + j * x.strides[2];
        permute_head<T>({head, x.strides[0], count, step}, order, tile);
      }
    }
  }
}

}  // namespace

// order[c] is the channel that is to stand at c; channels that do not rotate stay.
std::vector<std::int64_t> pairing_order(const RotaryLayout& layout, Pairing to) {
  constexpr const char* kWhere = "pairing_order";
  cpu::check_layout(kWhere, layout);
  check_pairing(kWhere, to);
  std::vector<std::int64_t> order(static_cast<std::size_t>(layout.head_dim));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t p = 0; p < layout.pairs(); ++p) {
    const auto from = math::channels_of_pair(layout.pairing, layout.first_channel, layout.dim, p);
    const auto into = math::channels_of_pair(to, layout.first_channel, layout.dim, p);
    order[static_cast<std::size_t>(into.a)] = from.a;
    order[static_cast<std::size_t>(into.b)] = from.b;
  }
  return order;
}

// Axis 0 is the projection's outputs, [heads * head_dim]; of a vector, there is no other. The order is that of the
// rotated channels alone, counted from 0, and permute() adds first_channel.
void permute_pairing(const PermuteArgs& args) {
  constexpr const char* kWhere = "permute_pairing";
  check(kWhere, args);
  if (!has_elements(args.x)) return;
  check_data(kWhere, args.x);
  if (args.layout.pairing == args.to) return;
  RotaryLayout rotated{.pairing = args.layout.pairing, .head_dim = args.layout.dim, .dim = args.layout.dim};
  const std::vector<std::int64_t> order = pairing_order(rotated, args.to);
  switch (bytes_of(args.x.dtype)) {
    case 2: return permute<std::uint16_t>(args.x, args.layout, order);
    case 4: return permute<float>(args.x, args.layout, order);
    case 8: return permute<double>(args.x, args.layout, order);
  }
}

}  // namespace posenc::inline v0_2
