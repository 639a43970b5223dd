// What rotate and attend do before and behind their work: a layer of a model takes tensors of files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "line/command_line.h"
#include "line/page.h"
#include "posenc/plan.h"
#include "posenc/warning.h"
#include "tensors/head_tensors.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

// ---- before ----

// The model's plan. What would end the command later is told first: an environment that asks for what is not there, an
// output that stands in the way.
Plan begin(const LayerJob& job);

// Without --length, as Hugging Face has it: one more than the largest position. Nothing where no rotation asks.
std::optional<std::int64_t> length_of(const LayerJob& job, std::span<const Rotate> rotations, double last_position);

// ---- behind ----

// Where --check found the largest error over its bound.
struct JudgedPlace {
  Row row{};
  std::int64_t head = 0;
  std::int64_t channel = 0;
};
// Throws Failure (exit code 1) where the error is above its bound: what is wrong is not written. `over_bound`: error
// over bound. `tensor`: "q: ", or nothing of an only one.
void check_bound(double over_bound, const JudgedPlace& place, std::string_view tensor);

using NamedHeads = std::pair<std::string_view, const HeadsTensor*>;  // "q"

// "q [6, 32, 128] f32, k [6, 8, 128] f32"; where no layout was asked for and two fit, which was taken.
std::string tensors_text(std::span<const NamedHeads> tensors);
// About the model and the files.
std::vector<Warning> warnings_of(const Plan& plan, std::span<const NamedHeads> tensors);
// `at`: the column of the messages.
void add_warnings(Page& page, std::int64_t at, std::span<const Warning> warnings);

using JsonMembers = std::vector<std::pair<std::string, std::string>>;

// The first members of the report: schema_version, out, bytes (of the file), model, stack, layer. And of each tensor:
// name, file, tensor (its name in the file, null in a .npy file), dtype, file_dtype, shape, layout, joined_heads
// (--heads) and other_layout (which fits too, where none was asked for).
JsonMembers job_members(const LayerJob& job, const Plan& plan, const Stack& stack, const LayerPlan& layer,
                        std::int64_t bytes_written);
JsonMembers tensor_members(const NamedHeads& tensor);
std::string warnings_json(std::span<const Warning> warnings);

}  // namespace posenc::tool
