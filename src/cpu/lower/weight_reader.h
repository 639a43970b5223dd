// Learned tables as doubles, whatever their dtype and strides, and what projections make of rows of them. Lowering
// works in double; the kernels' floats are rounded from it once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "posenc/attention.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Element [place] of a view of that many axes.
// Not checked: the shapes of weights have been.
double read(const ConstTensorView& view, std::initializer_list<std::int64_t> place);

// All elements, the last axis fastest. Nothing of an empty view.
std::vector<double> read_all(const ConstTensorView& view);

// [rows, columns] as [columns, rows].
std::vector<double> read_transposed(const ConstTensorView& view);

// W x + b, of many x.
// The weights are read once; of() is called for every distance.
class Projection {
 public:
  explicit Projection(const Linear& linear);
  std::vector<double> of(std::span<const double> x) const;

 private:
  std::int64_t outputs_;
  std::vector<double> columns_;  // [inputs][outputs]
  std::vector<double> bias_;
};

}  // namespace posenc::cpu
