// The report of `posenc rotate`, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/layer_choice.h"
#include "line/command_line.h"
#include "posenc/plan.h"
#include "rotate/rotation_error.h"
#include "tensors/expected_port.h"
#include "tensors/head_tensors.h"
#include "tensors/rotation_record.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

struct RotatedTensor {
  std::string name;  // "q", "k"
  HeadsTensor tensor;
  std::optional<RotationError> error{};  // with --check
};

struct RotateReport {
  // Views of what run_rotate holds until the report is printed.
  const RotateArguments& arguments;
  const Plan& plan;
  const LayerChoice& choice;
  const RotationAsked& rotation;
  const RowPositions& positions;
  const std::vector<RotatedTensor>& tensors;
  std::int64_t bytes_written = 0;
  // Tokens of all sequences, and how many of them --check judged (0 without it).
  std::int64_t rows = 0;
  std::int64_t checked_rows = 0;
  std::optional<ExpectedPort> expected{};  // with --expect
};

std::string rotate_text(const RotateReport& report);
std::string rotate_json(const RotateReport& report);
// What was done, for the file that is written: of each tensor behind what its own file has noted.
Metadata rotate_metadata(const RotateReport& report);

// "largest error 0.93 ulp of f32, 0.88 of its bound"
std::string error_text(const RotationError& error, DType dtype);
std::string error_json(const RotationError& error);

// "exact", "float32", "bfloat16"
std::string name(Angles angles);

}  // namespace posenc::tool
