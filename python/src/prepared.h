// A prepared layer, as attend is given one.
// bind_prepared_layer.cpp has the class behind it; attend (bind_attend.cpp) needs to know no more than this.
#pragma once

#include <nanobind/nanobind.h>

#include "posenc/prepared_layer.h"

namespace posenc::python {

// What prepare_layer gave, or null where `layer` is something else. It lives as long as `layer`.
const PreparedLayer* prepared_layer(nanobind::handle layer);

}  // namespace posenc::python
