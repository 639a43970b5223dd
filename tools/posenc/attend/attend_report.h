// The report of `posenc attend`, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attend/attend_call.h"
#include "attend/attend_error.h"
#include "attend/attend_layer.h"
#include "line/command_line.h"
#include "posenc/attend.h"
#include "tensors/expected_port.h"
#include "tensors/head_tensors.h"

namespace posenc::tool {

struct AttendReport {
  const AttendArguments& arguments;
  const Plan& plan;
  const AttendingLayer& choice;
  const AttendCall& call;  // its layer has the mask that was asked for
  const HeadsTensor& q;
  const HeadsTensor& k;
  const HeadsTensor& v;
  // Of all pieces of the call: tiles of scores that were computed, and skipped.
  AttendWork work{};
  std::optional<AttendError> error{};  // with --check
  std::int64_t bytes_written = 0;
  std::optional<ExpectedPort> expected{};  // with --expect
};

std::string attend_text(const AttendReport& report);
std::string attend_json(const AttendReport& report);

// "largest error 2.4e-07, at most 0.03 of its bound"
std::string error_text(const AttendError& error);

}  // namespace posenc::tool
