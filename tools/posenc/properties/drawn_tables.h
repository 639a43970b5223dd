// Learned tables of a layer where nobody has them: drawn at random, for what is timed. And what a call is given with
// them: gates, segments.
#pragma once

#include <cstdint>

#include "attend/attend_tables.h"
#include "posenc/plan.h"

namespace posenc::tool {

// Small numbers of either sign, the same each time; sizes that a plan leaves open are as papers have them.
LayerTables draw_tables(const LayerPlan& layer);

// What each call of so many tokens needs besides, of one sequence.
void draw_inputs(const LayerPlan& layer, std::int64_t queries, std::int64_t keys, LayerTables& to);

}  // namespace posenc::tool
