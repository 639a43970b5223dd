// posenc compare A B.
// What differs between two models, and what follows for whoever mixes them; the text or the JSON of compare.h.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// 0: the same in substance; 1: not, even if only the pairing differs; 3 or 4: one of the two cannot be had, or the
// output cannot be written (3).
int run_compare(const CompareArguments& arguments);

}  // namespace posenc::tool
