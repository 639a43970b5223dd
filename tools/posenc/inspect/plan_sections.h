// The parts of what `posenc inspect` and `posenc demo` print about a plan. Each starts with a blank line if it prints
// anything, except the first, the head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "line/page.h"
#include "posenc/plan.h"

namespace posenc::tool {

// Text of an entry starts here; its label, of at most 8 columns ("by layer"), at 2.
inline constexpr std::int64_t kTextAt = 12;

// What the model is, where the plan comes from, and whether it is complete.
void add_head(Page& page, const Plan& plan);
// One stack: its layers in a table, equal ones merged; the four stages; what wavelengths and tables do at its lengths.
void add_stack(Page& page, const Plan& plan, const Stack& stack);
// What could not be decided of a stack, and that the rest is as it was read; nothing of a stack that is known.
void add_unknown(Page& page, const Stack& stack);
// Everything about the attention sub-layers of block `index`, with all frequencies. False: this stack has no such
// block.
bool add_layer(Page& page, const Plan& plan, const Stack& stack, std::int64_t index);
// Where values came from.
void add_sources(Page& page, const Plan& plan);
// Which keys were not read, and warnings.
void add_remarks(Page& page, const Plan& plan);

// "label     ACD  text": whose statement it is, when not everybody's; wrapped. An empty name continues the one before.
void add_statement(Page& page, std::string_view name, std::string_view who, std::string_view text);

// A rotation, and the letters of the layers that have it; no letters when all have.
struct RopeOf {
  const Rope* rope = nullptr;
  std::string who;
};
// Wavelengths against the trained length.
void add_turns(Page& page, const Plan& plan, const std::vector<RopeOf>& ropes);
// The error of rounded tables at the longest position.
void add_table_errors(Page& page, const Plan& plan, const std::vector<RopeOf>& ropes);

}  // namespace posenc::tool
