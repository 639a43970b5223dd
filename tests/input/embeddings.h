// Embeddings for tests: [tokens, channels] and [batch, tokens, channels] of any dtype, in several layouts, of random
// numbers, in guarded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "posenc/tensor.h"
#include "rotate/heads.h"
#include "support/guarded_memory.h"

namespace posenc::test {

inline constexpr DType kInputDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64};

// Of rank 2: rows (one behind the other), gaps (between them), reversed (the last first). Of rank 3: batch (members
// one behind the other), tokens_first (the tokens of all members side by side, with gaps).
enum class RowLayout : std::uint8_t { rows, gaps, reversed, batch, tokens_first };
inline constexpr RowLayout kRowLayouts[] = {RowLayout::rows, RowLayout::gaps, RowLayout::reversed, RowLayout::batch,
                                            RowLayout::tokens_first};

inline const char* name(RowLayout layout) {
  constexpr const char* kNames[] = {"rows", "gaps", "reversed", "batch", "tokens_first"};
  return kNames[static_cast<std::size_t>(layout)];
}

// A view without memory.
inline TensorView rows_laid_out(RowLayout layout, DType dtype, std::int64_t batch, std::int64_t tokens,
                                std::int64_t channels) {
  const std::int64_t gap = channels + 3;
  switch (layout) {
    case RowLayout::rows: return {nullptr, dtype, 2, {tokens, channels}, {channels, 1}};
    case RowLayout::gaps: return {nullptr, dtype, 2, {tokens, channels}, {gap, 1}};
    case RowLayout::reversed: return {nullptr, dtype, 2, {tokens, channels}, {-gap, 1}};
    case RowLayout::batch: return {nullptr, dtype, 3, {batch, tokens, channels}, {tokens * channels, channels, 1}};
    case RowLayout::tokens_first: break;
  }
  return {nullptr, dtype, 3, {batch, tokens, channels}, {gap, batch * gap + 1, 1}};
}

// As Heads (rotate/heads.h), of f64 too.
class Embeddings {
 public:
  Embeddings(const TensorView& laid_out, std::mt19937_64& random, Edge edge = Edge::end)
      : view_(laid_out), memory_(span_of(laid_out).elements * bytes_of(laid_out.dtype), edge, 0) {
    view_.data = memory_.data() + span_of(laid_out).first * bytes_of(laid_out.dtype);
    for (std::byte* p = memory_.begin(); p < memory_.end(); p += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(p, &word, sizeof word);
    }
    for_elements(view_, [&](std::int64_t offset, std::size_t) {
      if (view_.dtype == DType::f64) {
        static_cast<double*>(view_.data)[offset] = static_cast<double>(random() >> 11U) * 0x1p-50 - 4.0;
      } else {
        set_bits(view_, offset, random_bits(view_.dtype, random));
      }
    });
  }

  const TensorView& view() const noexcept { return view_; }
  std::vector<std::byte> memory() const { return memory_.copy(); }
  void restore(const std::vector<std::byte>& memory) { std::ranges::copy(memory, memory_.begin()); }

  // Whether, but for elements, every byte is what it was.
  bool has_kept_the_rest(std::vector<std::byte> before) {
    std::vector<std::byte> now = memory();
    const std::int64_t bytes = bytes_of(view_.dtype);
    const std::int64_t first = static_cast<const std::byte*>(view_.data) - memory_.begin();
    for_elements(view_, [&](std::int64_t offset, std::size_t) {
      for (std::vector<std::byte>* all : {&now, &before}) {
        std::memset(all->data() + first + offset * bytes, 0, static_cast<std::size_t>(bytes));
      }
    });
    return now == before;
  }

 private:
  TensorView view_;
  GuardedMemory memory_;
};

}  // namespace posenc::test
