// --expect: a port's output of the same call, held to the float64 reference by the bound of its dtype, as posenc check
// holds it to golden vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/plan.h"
#include "posenc/tensor_file.h"
#include "posenc/vectors.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

// What was called; views as rotate and attend take them, [tokens, heads, channels] or [batch, heads, tokens, channels].
struct ExpectedCall {
  const Plan& plan;
  VectorOptions layer{};  // stack, layer, length
  ConstTensorView q{};
  ConstTensorView k{};
  ConstTensorView v{};                      // or nothing: the rotation alone
  const RowPositions* positions = nullptr;  // null: by their order
  std::int64_t offset = 0;                  // of the layer's rotation, that `positions` have in them
  std::vector<NamedTensor> tables{};
};

// A result that is asked of the file.
struct ExpectedName {
  std::string result;  // "q_rotated"
  std::string other;   // "q", as posenc rotate writes it
};

struct ExpectedPort {
  PortCheck check;
  std::int64_t sequences = 0;
  std::int64_t sequence = 0;  // that `check` is of: the first that fails, or the one that is nearest to its bound
};

// `file`: FILE or FILE:TENSOR. Throws Failure for what cannot be read or compared, with --expect.
ExpectedPort check_expected(const ExpectedCall& call, const std::string& file, bool bf16,
                            std::span<const ExpectedName> names);

// "port.npy passes: largest error 1.2e-07, at most 0.31 of its bound"
std::string expected_line(const std::string& file, const ExpectedPort& port);
// What is wrong with it, for the end of a report; nothing where it passes.
std::string expected_diagnosis(const ExpectedPort& port);
// {"file", "passes", "sequence", "check": as posenc check --json}; null without --expect.
std::string expected_json(const std::optional<std::string>& file, const std::optional<ExpectedPort>& port);

}  // namespace posenc::tool
