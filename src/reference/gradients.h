// Gradients while they are summed, in double, in memory of their own: nothing of the caller's is written before all of
// it is known, and what is written may be what was read.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/reference_backward.h"
#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// The gradient of one tensor. Where nobody asks for it, nothing is kept and add() does nothing.
class GradientSum {
 public:
  explicit GradientSum(const TensorView& written);
  // Element [indices] of the tensor; they are in it.
  void add(std::initializer_list<std::int64_t> indices, double x);
  void write() const;

 private:
  TensorView written_;
  std::vector<double> sums_;
};

// The gradients of one term, or of the whole layer for an empty prefix, by their names without it.
class NamedSums {
 public:
  NamedSums(std::span<const NamedGradient> asked, std::deque<GradientSum>& sums, const std::string& prefix);
  void add(std::string_view name, std::initializer_list<std::int64_t> indices, double x);

 private:
  struct Named {
    std::string_view name;
    GradientSum* sum;
  };
  std::vector<Named> named_;
};

// Those of one call.
struct Gradients {
  explicit Gradients(const LayerPlan& layer, const AttendBackwardArgs& args);
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;
  void write() const;

  GradientSum q;
  GradientSum k;
  GradientSum v;
  GradientSum bias;
  GradientSum log_forget;
  GradientSum row_gate;
  std::deque<GradientSum> weights;   // of args.d_weights, in that order
  NamedSums layer;                   // "sinks", "value_table"
  std::vector<NamedSums> terms;      // [score terms]
  std::vector<NamedSums> rotations;  // [LayerPlan::rotate]: "inv_freq"
};

// One row's: of its query and of its scores x, and the call's, which it adds to.
struct RowGradient {
  Gradients& sums;
  std::vector<double> q;  // [head_dim]
  std::vector<double> x;  // [keys]

  // The gradient d of the key or value head of the row's group, at key j; that of the query is added once it is whole.
  void add_key(const Row& row, std::int64_t j, std::span<const double> d);
  void add_value(const Row& row, std::int64_t j, std::span<const double> d);
  void add_query(const Row& row);
};

}  // namespace posenc::inline v0_2::reference
