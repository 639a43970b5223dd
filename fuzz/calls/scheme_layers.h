// Layers with weights out of the bytes of an input: one of every scheme's (tests/support/all_schemes.h), with numbers
// of its plan changed.
#pragma once

#include "attend/scheme_call.h"
#include "fuzz/calls/arguments.h"

namespace posenc::fuzz {

test::SchemeCase scheme_of(Arguments& arguments);
// Sizes, mask and sequences of a call: one of those of tests/attend/scheme_call.h, or any.
test::Arrangement arrangement_of(Arguments& arguments);
// Changes one number of the layer: most are right with any scheme, some with none.
void change_layer(Arguments& arguments, LayerPlan& layer);

}  // namespace posenc::fuzz
