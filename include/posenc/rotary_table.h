// Tables of cos and sin, and angles without a table.
//
//   cos[t][p] = a * cos(position_t * inv_freq[p])      a: attention factor, multiplied in before the one rounding
//
// Angles::exact is within 1 ulp of that real number (the double inv_freq and a taken as exact) for whole positions with
// |position| <= 2^31, also beside zeros of cos and sin, and within 6e-8 * a up to 2^53; beyond that, or where an angle
// passes 2^53 radians, it is an error. The method, and what holds for positions that are not whole: docs/angles.md.
// Kernel: src/kernels/angles_loop.h, over the instruction set that info.h names. Oracle in tests: MPFR.
//
// Thread safety: a RotaryTable never changes; share it between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/line_allocator.h"
#include "posenc/rope.h"

namespace posenc::cpu {
class AngleRule;
struct TableAccess;
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

enum class Angles : std::uint8_t {
  exact,     // the truth, rounded once
  float32,   // Hugging Face's arithmetic: f32 inv_freq, f32 product, cos and sin of that product within 1 ulp
  bfloat16,  // the float32 table, each value rounded to bfloat16: what bf16 models run with
};

// Which channels a table turns, by which coordinate.
struct RotaryLayout {
  Required<Pairing> pairing;
  std::int64_t head_dim = 0;
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
  AxisMap axes{};

  std::int64_t pairs() const noexcept { return dim / 2; }
  bool operator==(const RotaryLayout&) const = default;
};

POSENC_API RotaryLayout layout(const Rope& rope);

struct TableOptions {
  std::int64_t start = 0;                // first position
  std::int64_t count = 0;                // positions start .. start + count - 1
  std::optional<std::int64_t> length{};  // of the sequence, for rules that depend on it; default: see frequencies()
  Angles angles = Angles::exact;
  std::int64_t max_bytes = 1LL << 30;  // a larger table is refused with Error before anything is allocated
  Isa isa = Isa::automatic;
};

// cos and sin of `count` consecutive positions. A row holds cos of every pair, then sin of every pair.
class POSENC_API RotaryTable {
 public:
  const RotaryLayout& layout() const noexcept { return layout_; }
  double attention_factor() const noexcept { return attention_factor_; }
  std::int64_t start() const noexcept { return start_; }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t pairs() const noexcept { return layout_.pairs(); }

  // [pairs]. Throws Error when start <= position < start + count does not hold.
  std::span<const float> cos(std::int64_t position) const;
  std::span<const float> sin(std::int64_t position) const;
  std::span<const float> rows() const noexcept { return rows_; }  // [count, 2, pairs]
  // Whether it holds no row and makes those of any position when they are asked for: see table_on_demand.
  bool on_demand() const noexcept { return rule_ != nullptr; }

  RotaryTable(const RotaryTable& other);
  RotaryTable& operator=(const RotaryTable& other);
  RotaryTable(RotaryTable&&) noexcept;
  RotaryTable& operator=(RotaryTable&&) noexcept;
  ~RotaryTable();

 private:
  friend struct cpu::TableAccess;
  using Rows = std::vector<float, LineAllocator<float>>;
  RotaryTable(RotaryLayout layout, double attention_factor, std::int64_t start, Rows rows);

  RotaryLayout layout_;
  double attention_factor_ = 1.0;
  std::int64_t start_ = 0;
  std::int64_t count_ = 0;
  Rows rows_;
  std::unique_ptr<const cpu::AngleRule> rule_;
};

// From a scheme. Throws Error for a wrong scheme, a negative count, positions beyond 2^53, or too many bytes.
POSENC_API RotaryTable make_table(const Rope& rope, const TableOptions& options);

// From the caller's own frequencies [pairs]; `options.length` is not used. With Angles::float32 and bfloat16 each
// inv_freq is rounded to float first.
POSENC_API RotaryTable make_table(const RotaryLayout& layout, const Frequencies& frequencies,
                                  const TableOptions& options);

// A table without rows: rotate (rotate.h) makes those it needs, the very bits of make_table, for any position up to
// 2^53, whole or not. For positions far apart, real coordinates, and contexts too long to hold. options.start, count
// and max_bytes are not used. A held table is faster where few heads share a row: docs/performance.md.
POSENC_API RotaryTable table_on_demand(const Rope& rope, const TableOptions& options = {});

// From given values, both [count, pairs], taken as they are. `attention_factor` says what they were multiplied with.
POSENC_API RotaryTable table_from_cos_sin(const RotaryLayout& layout, std::span<const float> cos,
                                          std::span<const float> sin, std::int64_t start = 0,
                                          double attention_factor = 1.0);

// From given angles in radians [count, pairs], |angle| <= 2^53: exact cos and sin, times the factor, rounded once.
POSENC_API RotaryTable table_from_angles(const RotaryLayout& layout, std::span<const double> radians,
                                         std::int64_t start = 0, double attention_factor = 1.0,
                                         Isa isa = Isa::automatic);

// cos and sin, both [n, pairs], of arbitrary positions, without a table. `positions` is [axes, n], in any order,
// negative and repeated ones too; real coordinates as double. Options as for make_table, start and count unused.
struct CosSin {
  std::int64_t pairs = 0;
  std::vector<float> cos;  // [n, pairs]
  std::vector<float> sin;  // [n, pairs]
  bool operator==(const CosSin&) const = default;
};
POSENC_API CosSin cos_sin(const Rope& rope, std::span<const std::int64_t> positions, const TableOptions& options = {});
POSENC_API CosSin cos_sin(const Rope& rope, std::span<const std::int32_t> positions, const TableOptions& options = {});
POSENC_API CosSin cos_sin(const Rope& rope, std::span<const double> positions, const TableOptions& options = {});

// The same into the caller's memory, cos and sin both [n, pairs] and not overlapping; options.max_bytes is not used.
POSENC_API void cos_sin_into(const Rope& rope, std::span<const std::int64_t> positions, std::span<float> cos,
                             std::span<float> sin, const TableOptions& options = {});
POSENC_API void cos_sin_into(const Rope& rope, std::span<const std::int32_t> positions, std::span<float> cos,
                             std::span<float> sin, const TableOptions& options = {});
POSENC_API void cos_sin_into(const Rope& rope, std::span<const double> positions, std::span<float> cos,
                             std::span<float> sin, const TableOptions& options = {});

}  // namespace posenc::inline v0_2
