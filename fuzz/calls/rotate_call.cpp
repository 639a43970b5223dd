#include "fuzz/calls/rotate_call.h"

#include <algorithm>

#include "fuzz/calls/checked_call.h"

namespace posenc::fuzz {
namespace {

constexpr std::array kDTypes{DType::f32, DType::bf16, DType::f16};
constexpr std::array<std::int64_t, 16> kTokens{5, 1, 2, 3, 4, 7, 8, 9, 16, 17, 1, 0, 31, 64, 65, 130};
constexpr std::int64_t kMostBlockSize = 8;

// Some number of a list becomes another, or the list another length.
template <typename T>
void spoil_list(Arguments& arguments, std::vector<T>& list) {
  if (list.empty() || arguments.chance(64)) {
    list.resize(static_cast<std::size_t>(arguments.whole(0, 12)), static_cast<T>(arguments.odd_whole()));
  } else {
    list[arguments.byte() % list.size()] =
        static_cast<T>(arguments.chance(128) ? arguments.odd_whole() : arguments.whole(0, 24));
  }
}

}  // namespace

RotateCall::RotateCall(Arguments& arguments, Slots& slots) {
  const Rope rope = rope_of(arguments);
  const std::int64_t tokens = arguments.choice(kTokens);
  const std::int64_t heads = arguments.whole(1, 4);
  const std::int64_t batch = arguments.chance(64) ? arguments.whole(1, 3) : 0;  // 0: rank 3
  const std::uint8_t given = arguments.byte() % 4;                              // 0, 3: both
  const DType dtype = arguments.choice(kDTypes);
  const std::int64_t d = rope.head_dim;
  const auto take = [&](std::int64_t of_heads) {
    return batch > 0 ? slots.take(arguments, dtype, {batch, of_heads, tokens, d})
                     : slots.take(arguments, dtype, {tokens, of_heads, d});
  };
  if (batch == 0 && arguments.chance(96)) give_sequences(arguments, tokens);
  const bool is_paged = !cu_seqlens_.empty() && arguments.chance(96);
  const auto sequences = cu_seqlens_.empty() ? std::max<std::int64_t>(batch, 1) : std::ssize(cu_seqlens_) - 1;
  const bool has_tables = arguments.chance(32);
  for (std::int64_t s = 0; s < (has_tables ? std::max<std::int64_t>(sequences, 1) : 1); ++s) {
    rotations_.push_back(rotation_of(arguments, rope));
    if (has_tables) tables_.push_back(&rotations_.back().table);
  }
  if (given != 2) args.q = take(heads);
  if (is_paged) {
    give_pages(arguments, slots, dtype, arguments.whole(1, 2));
  } else if (given != 1) {
    args.k = take(arguments.whole(1, 2));
  }
  const std::int64_t axes = rope.axes.names.empty() ? 1 : std::ssize(rope.axes.names);
  const std::int64_t rows = std::max<std::int64_t>(batch, 1) * tokens;
  const bool shared = batch > 0 && arguments.chance(64);
  positions_count_ = axes * (shared ? tokens : rows);
  positions_.emplace(arguments, positions_count_, rotations_.front().options.start);
  args.positions = positions_->view();
  args.table = has_tables ? nullptr : &rotations_.front().table;
  args.tables = tables_;
  args.direction = arguments.enumerator(Direction::transpose);
  args.isa = isa_of(arguments);
  args.parallel = parallel_of(arguments);
  if (arguments.chance(64)) give_sources(arguments, slots);
  for (int n = arguments.spoils(); n > 0; --n) spoil(arguments, slots);
  args.cu_seqlens = cu_seqlens_;
  args.k_pages = {.block_table = block_table_, .first = first_};
}

void RotateCall::give_sequences(Arguments& arguments, std::int64_t tokens) {
  cu_seqlens_.push_back(0);
  while (cu_seqlens_.back() < tokens && cu_seqlens_.size() < 6) {
    const auto longest = std::min<std::int64_t>(tokens - cu_seqlens_.back(), 40);
    cu_seqlens_.push_back(cu_seqlens_.back() + static_cast<std::int32_t>(arguments.whole(0, longest)));
  }
  cu_seqlens_.back() = static_cast<std::int32_t>(tokens);
}

// Blocks in an order of their own, more of them than are used.
void RotateCall::give_pages(Arguments& arguments, Slots& slots, DType dtype, std::int64_t heads) {
  const std::int64_t block_size = arguments.whole(1, kMostBlockSize);
  const std::int64_t sequences = std::ssize(cu_seqlens_) - 1;
  const bool counts_on = arguments.chance(128);
  std::int64_t of_sequence = 1;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t first = counts_on ? arguments.whole(0, 9) : 0;
    if (counts_on) first_.push_back(static_cast<std::int32_t>(first));
    const std::int64_t end = first + cu_seqlens_[at + 1] - cu_seqlens_[at];
    of_sequence = std::max(of_sequence, (end + block_size - 1) / block_size);
  }
  const std::int64_t blocks = sequences * of_sequence;
  const std::int64_t turned = arguments.byte();
  for (std::int64_t n = 0; n < blocks; ++n) {
    block_table_.push_back(static_cast<std::int32_t>((blocks - 1 - n + turned) % blocks));
  }
  args.k = slots.take(arguments, dtype, {blocks, block_size, heads, rotations_.front().rope.head_dim});
}

// Tensors of their own, the very tensors that are written, or of one shape the other's.
void RotateCall::give_sources(Arguments& arguments, Slots& slots) {
  const auto source = [&](const TensorView& of) -> ConstTensorView {
    if (of.rank < 3 || arguments.chance(16)) return of;
    return slots.take(arguments, of.dtype, std::span(of.shape).first(static_cast<std::size_t>(of.rank)));
  };
  args.q_from = source(args.q);
  if (block_table_.empty()) args.k_from = source(args.k);
}

void RotateCall::spoil(Arguments& arguments, const Slots& slots) {
  const auto spoil_view = [&](auto& view) {
    const std::array<TensorView, 2> others{args.q, args.k};
    TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
    slots.spoil(arguments, changed, arguments.choice(others));
    view = changed;
  };
  switch (arguments.byte() % 12) {
    case 0:
    case 1: return spoil_view(args.q);
    case 2:
    case 3: return spoil_view(args.k);
    case 4: return spoil_view(args.q_from);
    case 5: return spoil_view(args.k_from);
    case 6: return spoil_list(arguments, cu_seqlens_);
    case 7: return spoil_list(arguments, block_table_);
    case 8: return spoil_list(arguments, first_);
    case 9: args.table = args.table == nullptr ? &rotations_.front().table : nullptr; return;
    case 10:
      if (tables_.empty()) {
        tables_.push_back(&rotations_.front().table);
      } else {
        tables_[arguments.byte() % tables_.size()] = nullptr;
      }
      args.tables = tables_;
      return;
    default: args.q_from = args.k; return;
  }
}

std::vector<TensorView> RotateCall::written() const {
  std::vector<TensorView> out;
  for (const TensorView& x : {args.q, args.k}) {
    if (!x.empty()) out.push_back(x);
  }
  return out;
}

std::vector<ConstTensorView> RotateCall::read() const {
  std::vector<ConstTensorView> out;
  for (const ConstTensorView& x : {args.q_from, args.k_from}) {
    if (!x.empty()) out.push_back(x);
  }
  return out;
}

}  // namespace posenc::fuzz
