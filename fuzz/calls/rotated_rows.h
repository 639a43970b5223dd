// The rows of a call of rotate or rerotate, wherever they are, and that each is what it must be.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fuzz/calls/rotations.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::fuzz {

// A token's heads: what they were made of, and what they are.
struct Row {
  ConstTensorView from;
  std::vector<std::int64_t> from_heads;
  ConstTensorView to;
  std::vector<std::int64_t> to_heads;
  std::int64_t sequence = 0;
  TokenPlace at;
};

// All rows of x, which is q or k of a call that was accepted; `from`: its source as it was before.
void for_rows(const RotateArgs& args, const TensorView& x, const ConstTensorView& from,
              const std::function<void(const Row&)>& visit);

// Every channel that rotates within its bound of `wanted`, every other as it was. x: numbers_at(row.from, ...).
void must_be_near(const Row& row, std::span<const double> x, const Rope& rope, const RotatedRow& wanted);

}  // namespace posenc::fuzz
