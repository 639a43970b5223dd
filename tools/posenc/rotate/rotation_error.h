// How far rotated rows are from the float64 reference, reference::rotate, and from the bound that docs/rotation.md
// states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/reference.h"
#include "posenc/rope.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

// What is done to every row. `length`: of the sequences, in tokens.
struct RotationAsked {
  Rope rope;
  Direction direction = Direction::forward;
  std::optional<std::int64_t> length{};  // for rules that depend on it
  Angles angles = Angles::exact;
};

struct RotationError {
  // The largest error, in units in the last place of the dtype at the length of the rotated pair: where its two
  // products cancel, a channel's own ulp is as small as one likes and measures nothing.
  double ulp = 0.0;
  // The largest error over its bound. At most 1: as promised. Infinite where a channel outside RoPE has changed.
  double over_bound = 0.0;
  Row row{};  // where that was
  std::int64_t head = 0;
  std::int64_t channel = 0;
  std::int64_t values = 0;      // judged
  std::int64_t not_finite = 0;  // pairs with NaN or Inf, which are not
};

// At most `most` rows of a tensor, evenly, the first and the last among them.
std::vector<Row> spread_rows(std::int64_t batch, std::int64_t tokens, std::int64_t most);

// Rows of a tensor as they were before RoPE.
class RowSample {
 public:
  // x: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim].
  RowSample(const ConstTensorView& x, std::vector<Row> rows);

  const std::vector<Row>& rows() const { return rows_; }
  // `rotated`: the tensor of the same shape with these rows rotated. `positions`: of the rows, and whether all are
  // whole.
  // Only those rows are read from `rotated`.
  RotationError judge(const ConstTensorView& rotated, const RotationAsked& rotation,
                      const RowPositions& positions) const;

 private:
  std::vector<Row> rows_;
  DType dtype_;
  std::int64_t heads_;
  std::int64_t head_dim_;
  std::vector<std::byte> bytes_;  // [rows, heads, head_dim]
};

}  // namespace posenc::tool
