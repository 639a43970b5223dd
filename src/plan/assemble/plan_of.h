// From facts to the plan: the only place that makes stacks of a plan and the places that its sources name.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/facts/sourced.h"
#include "plan/facts/stack_facts.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::plan {

// The length that the model was trained for; 0 where nothing says it.
void set_trained_length(const Sourced<std::int64_t>& length, Plan& plan);

// A stack that is not known makes the plan one that is not.
void add_stack(StackFacts facts, Plan& plan);

// How much a plan says of frequencies. A few bytes of a file ask for many: layers times channels, for each rotation.
//
// Pairs of channels that rotate, in all rotations of all layers and stacks. to_json() writes about 30 bytes of each
// (a double of 17 digits, its exponent, its axis): 4 MB. The largest real models have some ten thousand
// (126 layers of 64 pairs, 62 of 128).
inline constexpr std::int64_t kMaxPairs = std::int64_t{1} << 17;

// ErrorKind::limit where there are more; the file is named, no place in it.
std::optional<FileError> beyond_size(const Plan& plan);

}  // namespace posenc::plan
